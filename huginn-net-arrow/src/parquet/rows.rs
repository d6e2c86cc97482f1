//! Rows that wait for the end of their row group.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use arrow_select::interleave::interleave;

use super::layout::TIME_COLUMNS;

/// A batch without memory for absent values: most rows have few of the columns.
#[derive(Clone)]
pub(super) struct Rows {
    /// `None` for a column without a value.
    columns: Vec<Option<ArrayRef>>,
    pub(super) len: usize,
}

impl From<RecordBatch> for Rows {
    fn from(batch: RecordBatch) -> Self {
        let (_, columns, len) = batch.into_parts();
        let columns = columns.into_iter().map(|mut column| {
            column.shrink_to_fit();
            Some(column).filter(|column| column.null_count() < column.len())
        });
        Self { columns: columns.collect(), len }
    }
}

impl Rows {
    pub(super) fn slice(&self, offset: usize, len: usize) -> Self {
        let columns = self.columns.iter();
        Self { columns: columns.map(|column| Some(column.as_ref()?.slice(offset, len))).collect(), len }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().flatten().map(|column| column.get_array_memory_size()).sum()
    }

    /// Whether the column at this place has no value.
    pub(super) fn is_absent(&self, column: usize) -> bool {
        self.columns.get(column).is_none_or(Option::is_none)
    }

    /// The rows with all columns.
    pub(super) fn into_batch(self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let types = schema.fields().iter().map(|field| field.data_type());
        let columns = self.columns.into_iter().zip(types);
        let columns = columns.map(|(column, kind)| column.unwrap_or_else(|| new_null_array(kind, self.len)));
        batch(schema, columns.collect(), self.len)
    }

    /// The times of the rows; none if the table has no times.
    fn times(&self, schema: &SchemaRef) -> Vec<(i64, i32)> {
        let [micros, nanos] = TIME_COLUMNS.map(|name| {
            let place = schema.index_of(name).ok()?;
            self.columns.get(place)?.as_ref()
        });
        let Some(micros) = micros.and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>())
        else {
            return Vec::new();
        };
        let nanos = nanos.and_then(|column| column.as_primitive_opt::<Int32Type>());
        let nanos = |row| nanos.map_or(0, |nanos| nanos.values().get(row).copied().unwrap_or_default());
        micros.values().iter().enumerate().map(|(row, micros)| (*micros, nanos(row))).collect()
    }
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, len: usize) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(len));
    RecordBatch::try_new_with_options(SchemaRef::clone(schema), columns, &options)
}

/// Passes rows by their time, in batches of at most `most` rows; those with equal times keep their order.
pub(super) fn for_each_sorted<E: From<ArrowError>>(
    group: Vec<Rows>,
    schema: &SchemaRef,
    most: usize,
    mut take: impl FnMut(&RecordBatch) -> Result<(), E>,
) -> Result<(), E> {
    let times: Vec<(i64, i32)> = group.iter().flat_map(|rows| rows.times(schema)).collect();
    if times.is_sorted() {
        return group.into_iter().try_for_each(|rows| take(&rows.into_batch(schema)?));
    }
    let places =
        group.iter().enumerate().flat_map(|(place, rows)| (0..rows.len).map(move |row| (place, row)));
    let mut order: Vec<_> = times.into_iter().zip(places).collect();
    order.sort_by_key(|(time, _)| *time);
    let longest = group.iter().map(|rows| rows.len).max().unwrap_or_default();
    // Batches without a value share an array, if others have one.
    let absent = |(column, field): (usize, &FieldRef)| {
        let lacking = group.iter().filter(|rows| rows.is_absent(column)).count();
        let is_shared = lacking > 0 && lacking < group.len();
        new_null_array(field.data_type(), if is_shared { longest } else { 0 })
    };
    let absent: Vec<ArrayRef> = schema.fields().iter().enumerate().map(absent).collect();
    for part in order.chunks(most) {
        let places: Vec<(usize, usize)> = part.iter().map(|(_, place)| *place).collect();
        let columns = absent.iter().enumerate().map(|(column, absent)| {
            if group.iter().all(|rows| rows.is_absent(column)) {
                return Ok(new_null_array(absent.data_type(), places.len()));
            }
            let arrays: Vec<&dyn Array> = group
                .iter()
                .map(|rows| rows.columns.get(column).and_then(Option::as_ref).unwrap_or(absent).as_ref())
                .collect();
            interleave(&arrays, &places)
        });
        take(&batch(schema, columns.collect::<Result<_, ArrowError>>()?, places.len())?)?;
    }
    Ok(())
}
