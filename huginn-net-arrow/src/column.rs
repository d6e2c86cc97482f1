//! Columns that are built.

use std::any::Any;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    StructBuilder, TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field, Fields};

/// Time zone of times.
pub(crate) const UTC: &str = "UTC";

/// The builder of a column, or of the elements of lists. Rows without a value are filled in when a later row has one.
#[derive(Debug)]
pub(crate) enum Column {
    Text(StringBuilder),
    Int(Int32Builder),
    Long(Int64Builder),
    Double(Float64Builder),
    Bool(BooleanBuilder),
    /// Microseconds since the Unix epoch.
    Time(TimestampMicrosecondBuilder),
    List(Box<ListBuilder<Column>>),
    /// An object, whose fields are columns.
    Struct(StructBuilder),
}

/// Evaluates an expression with the builder of a column.
macro_rules! with_builder {
    ($column:expr, $builder:ident => $result:expr) => {
        match $column {
            Column::Text($builder) => $result,
            Column::Int($builder) => $result,
            Column::Long($builder) => $result,
            Column::Double($builder) => $result,
            Column::Bool($builder) => $result,
            Column::Time($builder) => $result,
            Column::List($builder) => $result,
            Column::Struct($builder) => $result,
        }
    };
}

impl Column {
    /// Creates an empty column. Types that no column of the schema has become text.
    pub(crate) fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int32 => Self::Int(Int32Builder::new()),
            DataType::Int64 => Self::Long(Int64Builder::new()),
            DataType::Float64 => Self::Double(Float64Builder::new()),
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Timestamp(..) => Self::Time(TimestampMicrosecondBuilder::new().with_timezone(UTC)),
            DataType::List(element) => {
                let builder = ListBuilder::new(Self::new(element.data_type()));
                Self::List(Box::new(builder.with_field(Arc::<Field>::clone(element))))
            }
            DataType::Struct(fields) => {
                let column =
                    |field: &Arc<Field>| Box::new(Self::new(field.data_type())) as Box<dyn ArrayBuilder>;
                Self::Struct(StructBuilder::new(Fields::clone(fields), fields.iter().map(column).collect()))
            }
            _ => Self::Text(StringBuilder::new()),
        }
    }

    /// Appends rows without a value up to a row. Returns whether that row is still without one.
    #[inline]
    pub(crate) fn fill(&mut self, row: usize) -> bool {
        let missing = row.checked_sub(self.len());
        if let Some(missing @ 1..) = missing {
            self.append_nulls(missing);
        }
        missing.is_some()
    }

    pub(crate) fn append_nulls(&mut self, rows: usize) {
        if let Self::Struct(object) = self {
            for field in 0..object.num_fields() {
                if let Some(column) = object.field_builder::<Self>(field) {
                    column.append_nulls(rows);
                }
            }
        }
        with_builder!(self, builder => builder.append_nulls(rows));
    }
}

impl ArrayBuilder for Column {
    #[inline]
    fn len(&self) -> usize {
        with_builder!(self, builder => builder.len())
    }

    fn finish(&mut self) -> ArrayRef {
        with_builder!(self, builder => Arc::new(builder.finish()))
    }

    fn finish_cloned(&self) -> ArrayRef {
        with_builder!(self, builder => Arc::new(builder.finish_cloned()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_box_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
