//! Builders of single columns.

use std::fmt::{Display, Write};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field, TimeUnit};
use huginn_net::finding::TextLimit;

/// Time zone of times.
const UTC: &str = "UTC";

/// Name of the elements of a list, as Parquet has it.
const ELEMENT: &str = "element";

/// A column that is built. Rows without a value are filled in when a later row has one.
#[derive(Debug)]
pub(crate) struct Column<B> {
    builder: B,
    /// Whether values are ignored: the column is not selected.
    is_skipped: bool,
}

/// Texts in UTF-8.
pub(crate) type Text = Column<StringBuilder>;
/// Numbers of up to 32 bits with their sign.
pub(crate) type Int = Column<Int32Builder>;
/// Numbers of up to 64 bits with their sign.
pub(crate) type Long = Column<Int64Builder>;
/// Numbers with a fraction.
pub(crate) type Double = Column<Float64Builder>;
/// Truth values.
pub(crate) type Flag = Column<BooleanBuilder>;
/// Times in microseconds since the Unix epoch, UTC.
pub(crate) type Time = Column<TimestampMicrosecondBuilder>;
/// Lists of texts.
pub(crate) type Texts = Column<ListBuilder<StringBuilder>>;
/// Lists of numbers.
pub(crate) type Numbers = Column<ListBuilder<Int32Builder>>;
/// Lists of truth values.
pub(crate) type Flags = Column<ListBuilder<BooleanBuilder>>;

/// A builder of Arrow's that a column may have.
pub(crate) trait Build: ArrayBuilder + Sized {
    /// Creates an empty builder.
    fn create() -> Self;

    /// The type in the schema.
    fn data_type() -> DataType;

    /// Appends rows without a value.
    fn append_nulls(&mut self, rows: usize);

    /// Bytes of the texts.
    fn text_len(&self) -> usize {
        0
    }
}

impl<B: Build> Default for Column<B> {
    fn default() -> Self {
        Self { builder: B::create(), is_skipped: false }
    }
}

impl<B: Build> Column<B> {
    /// The type in the schema.
    pub(crate) fn data_type() -> DataType {
        B::data_type()
    }

    /// Ignores all values.
    pub(crate) fn skip(&mut self) {
        self.is_skipped = true;
    }

    /// Takes this number of rows; `None` if values are ignored.
    pub(crate) fn finish(&mut self, rows: usize) -> Option<ArrayRef> {
        self.fill(rows).map(ArrayBuilder::finish)
    }

    /// Bytes of the texts so far.
    pub(crate) fn text_len(&self) -> usize {
        self.builder.text_len()
    }

    /// Appends nulls up to a row, and returns the builder unless values are ignored.
    fn fill(&mut self, row: usize) -> Option<&mut B> {
        if self.is_skipped {
            return None;
        }
        let missing = row.saturating_sub(self.builder.len());
        if missing > 0 {
            self.builder.append_nulls(missing);
        }
        Some(&mut self.builder)
    }
}

impl Text {
    pub(crate) fn set(&mut self, row: usize, value: &str) {
        if let Some(builder) = self.fill(row) {
            builder.append_value(value);
        }
    }

    pub(crate) fn set_some(&mut self, row: usize, value: Option<&str>) {
        if let Some(value) = value {
            self.set(row, value);
        }
    }

    /// Appends the [`Display`] text of a value.
    pub(crate) fn set_display(&mut self, row: usize, value: impl Display) {
        if let Some(builder) = self.fill(row) {
            append_display(builder, value);
        }
    }

    /// Appends a [`Display`] text up to a limit. Returns whether it was longer, also if values are ignored.
    pub(crate) fn set_limited(&mut self, row: usize, value: impl Display, limit: TextLimit) -> bool {
        let Some(builder) = self.fill(row) else { return limit.is_exceeded_by(value) };
        // Writing to memory does not fail.
        let is_cut = limit.write(builder, value).unwrap_or(false);
        builder.append_value("");
        is_cut
    }

    pub(crate) fn set_some_display(&mut self, row: usize, value: Option<impl Display>) {
        if let Some(value) = value {
            self.set_display(row, value);
        }
    }
}

fn append_display(builder: &mut StringBuilder, value: impl Display) {
    // Writing to memory does not fail.
    let _ = write!(builder, "{value}");
    builder.append_value("");
}

impl Texts {
    pub(crate) fn set(&mut self, row: usize, values: impl IntoIterator<Item = impl Display>) {
        let Some(builder) = self.fill(row) else { return };
        values.into_iter().for_each(|value| append_display(builder.values(), value));
        builder.append(true);
    }
}

impl Numbers {
    pub(crate) fn set(&mut self, row: usize, values: impl IntoIterator<Item = i32>) {
        let Some(builder) = self.fill(row) else { return };
        values.into_iter().for_each(|value| builder.values().append_value(value));
        builder.append(true);
    }
}

impl Flags {
    pub(crate) fn set(&mut self, row: usize, values: impl IntoIterator<Item = bool>) {
        let Some(builder) = self.fill(row) else { return };
        values.into_iter().for_each(|value| builder.values().append_value(value));
        builder.append(true);
    }
}

/// Implements `set` for columns of one value a row.
macro_rules! impl_set {
    ($($column:ty: $value:ty,)+) => {$(
        impl $column {
            pub(crate) fn set(&mut self, row: usize, value: $value) {
                if let Some(builder) = self.fill(row) {
                    builder.append_value(value);
                }
            }
        }
    )+};
}

impl_set! {
    Int: i32,
    Long: i64,
    Double: f64,
    Flag: bool,
    Time: i64,
}

/// Implements [`Build`].
macro_rules! impl_build {
    ($($builder:ty: $type:expr, $create:expr $(, $texts:expr)?;)+) => {$(
        impl Build for $builder {
            fn create() -> Self {
                $create
            }

            fn data_type() -> DataType {
                $type
            }

            fn append_nulls(&mut self, rows: usize) {
                Self::append_nulls(self, rows);
            }

            $(fn text_len(&self) -> usize {
                let texts: fn(&Self) -> &StringBuilder = $texts;
                texts(self).values_slice().len()
            })?
        }
    )+};
}

/// The element of a list.
fn element(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new(ELEMENT, data_type, true))
}

impl_build! {
    StringBuilder: DataType::Utf8, Self::new(), |texts| texts;
    Int32Builder: DataType::Int32, Self::new();
    Int64Builder: DataType::Int64, Self::new();
    Float64Builder: DataType::Float64, Self::new();
    BooleanBuilder: DataType::Boolean, Self::new();
    TimestampMicrosecondBuilder:
        DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())), Self::new().with_timezone(UTC);
    ListBuilder<StringBuilder>:
        DataType::List(element(DataType::Utf8)),
        Self::new(StringBuilder::new()).with_field(element(DataType::Utf8)),
        ListBuilder::values_ref;
    ListBuilder<Int32Builder>:
        DataType::List(element(DataType::Int32)), Self::new(Int32Builder::new()).with_field(element(DataType::Int32));
    ListBuilder<BooleanBuilder>:
        DataType::List(element(DataType::Boolean)),
        Self::new(BooleanBuilder::new()).with_field(element(DataType::Boolean));
}
