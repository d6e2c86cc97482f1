//! Builders of single columns.

use std::fmt::{Display, Write};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field, TimeUnit};

/// Time zone of times.
const UTC: &str = "UTC";

/// Name of the elements of a list, as Parquet has it.
const ELEMENT: &str = "element";

/// The type of a column.
pub(crate) trait Column: Default {
    /// The type in the schema.
    fn data_type() -> DataType;

    /// Number of rows.
    fn len(&self) -> usize;

    /// Appends rows without a value.
    fn append_nulls(&mut self, rows: usize);

    /// Takes the rows. A column with `rows` rows starts again empty.
    fn finish(&mut self) -> ArrayRef;

    /// Appends nulls up to a row.
    fn fill(&mut self, row: usize) -> &mut Self {
        let missing = row.saturating_sub(self.len());
        if missing > 0 {
            self.append_nulls(missing);
        }
        self
    }
}

/// Texts in UTF-8.
#[derive(Debug, Default)]
pub(crate) struct Text(StringBuilder);

impl Text {
    pub(crate) fn set(&mut self, row: usize, value: &str) {
        self.fill(row).0.append_value(value);
    }

    pub(crate) fn set_some(&mut self, row: usize, value: Option<&str>) {
        if let Some(value) = value {
            self.set(row, value);
        }
    }

    /// Appends the [`Display`] text of a value.
    pub(crate) fn set_display(&mut self, row: usize, value: impl Display) {
        let Self(builder) = self.fill(row);
        // Writing to memory does not fail.
        let _ = write!(builder, "{value}");
        builder.append_value("");
    }

    pub(crate) fn set_some_display(&mut self, row: usize, value: Option<impl Display>) {
        if let Some(value) = value {
            self.set_display(row, value);
        }
    }
}

/// Lists of texts.
#[derive(Debug)]
pub(crate) struct Texts(ListBuilder<StringBuilder>);

impl Default for Texts {
    fn default() -> Self {
        let element = Field::new(ELEMENT, DataType::Utf8, true);
        Self(ListBuilder::new(StringBuilder::new()).with_field(element))
    }
}

impl Texts {
    pub(crate) fn set(&mut self, row: usize, values: impl IntoIterator<Item = impl Display>) {
        let Self(builder) = self.fill(row);
        for value in values {
            // Writing to memory does not fail.
            let _ = write!(builder.values(), "{value}");
            builder.values().append_value("");
        }
        builder.append(true);
    }
}

/// Lists of numbers.
#[derive(Debug)]
pub(crate) struct Numbers(ListBuilder<Int32Builder>);

impl Default for Numbers {
    fn default() -> Self {
        let element = Field::new(ELEMENT, DataType::Int32, true);
        Self(ListBuilder::new(Int32Builder::new()).with_field(element))
    }
}

impl Numbers {
    pub(crate) fn set(&mut self, row: usize, values: impl IntoIterator<Item = i32>) {
        let Self(builder) = self.fill(row);
        values.into_iter().for_each(|value| builder.values().append_value(value));
        builder.append(true);
    }
}

/// Lists of truth values.
#[derive(Debug)]
pub(crate) struct Flags(ListBuilder<BooleanBuilder>);

impl Default for Flags {
    fn default() -> Self {
        let element = Field::new(ELEMENT, DataType::Boolean, true);
        Self(ListBuilder::new(BooleanBuilder::new()).with_field(element))
    }
}

impl Flags {
    pub(crate) fn set(&mut self, row: usize, values: impl IntoIterator<Item = bool>) {
        let Self(builder) = self.fill(row);
        values.into_iter().for_each(|value| builder.values().append_value(value));
        builder.append(true);
    }
}

/// Numbers of up to 32 bits with their sign.
#[derive(Debug, Default)]
pub(crate) struct Int(Int32Builder);

/// Numbers of up to 64 bits with their sign.
#[derive(Debug, Default)]
pub(crate) struct Long(Int64Builder);

/// Numbers with a fraction.
#[derive(Debug, Default)]
pub(crate) struct Double(Float64Builder);

/// Truth values.
#[derive(Debug, Default)]
pub(crate) struct Flag(BooleanBuilder);

/// Times in microseconds since the Unix epoch, UTC.
#[derive(Debug)]
pub(crate) struct Time(TimestampMicrosecondBuilder);

impl Default for Time {
    fn default() -> Self {
        Self(TimestampMicrosecondBuilder::new().with_timezone(UTC))
    }
}

/// Implements `set`, which appends a value as a row.
macro_rules! impl_set {
    ($($column:ty: $value:ty,)+) => {$(
        impl $column {
            pub(crate) fn set(&mut self, row: usize, value: $value) {
                self.fill(row).0.append_value(value);
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

/// Implements [`Column`] for wrappers of builders.
macro_rules! impl_column {
    ($($column:ty: $type:expr,)+) => {$(
        impl Column for $column {
            fn data_type() -> DataType {
                $type
            }

            fn len(&self) -> usize {
                self.0.len()
            }

            fn append_nulls(&mut self, rows: usize) {
                self.0.append_nulls(rows);
            }

            fn finish(&mut self) -> ArrayRef {
                Arc::new(self.0.finish())
            }
        }
    )+};
}

impl_column! {
    Text: DataType::Utf8,
    Texts: DataType::List(Arc::new(Field::new(ELEMENT, DataType::Utf8, true))),
    Numbers: DataType::List(Arc::new(Field::new(ELEMENT, DataType::Int32, true))),
    Flags: DataType::List(Arc::new(Field::new(ELEMENT, DataType::Boolean, true))),
    Int: DataType::Int32,
    Long: DataType::Int64,
    Double: DataType::Float64,
    Flag: DataType::Boolean,
    Time: DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
}
