//! Events as rows.

use std::fmt::{Display, Write};
use std::ops::Range;

use arrow_array::builder::{ListBuilder, StringBuilder};
use huginn_net::Timestamp;
use huginn_net::record::ValueVisitor;

use crate::column::Column;

/// The columns of a value, by their places; `None` for those that are not built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) column: Option<usize>,
    /// The column of the nanoseconds of a time.
    pub(crate) nanos: Option<usize>,
    /// The place of the value in each object, if the column has lists of objects.
    pub(crate) field: Option<usize>,
}

/// Sets the values of an event in a row.
pub(crate) struct Row<'a> {
    columns: &'a mut [Column],
    row: usize,
    /// The columns of the values, in the order in which they come.
    targets: &'a [Target],
    /// The place of the next value.
    next: usize,
    /// The places of the values of each element, within a list.
    list: Option<Range<usize>>,
    /// The place of the values, within a list of an element.
    inner: Option<Range<usize>>,
    /// Bytes of the texts that are set.
    text_len: usize,
}

impl<'a> Row<'a> {
    pub(crate) fn new(columns: &'a mut [Column], row: usize, targets: &'a [Target]) -> Self {
        Self { columns, row, targets, next: 0, list: None, inner: None, text_len: 0 }
    }

    /// Bytes of the texts that are set.
    pub(crate) fn text_len(&self) -> usize {
        self.text_len
    }

    fn column(&mut self, place: usize) -> Option<&mut Column> {
        self.columns.get_mut(self.targets.get(place)?.column?)
    }

    /// The column of the lists at a place.
    fn lists(&mut self, place: usize) -> Option<&mut ListBuilder<Column>> {
        match self.column(place)? {
            Column::List(lists) => Some(lists),
            _ => None,
        }
    }

    /// The column of a value of each element.
    fn element(&mut self, place: usize) -> Option<&mut Column> {
        let field = self.targets.get(place)?.field;
        match (self.lists(place)?.values(), field) {
            (Column::Struct(object), Some(field)) => object.field_builder(field),
            (values, _) => Some(values),
        }
    }

    /// Appends the next value, unless the row has one.
    #[inline]
    fn append(&mut self, append: impl FnOnce(&mut Column)) {
        let place = self.next;
        self.next = place.saturating_add(1);
        if self.list.is_none() {
            let row = self.row;
            if let Some(column) = self.column(place)
                && column.fill(row)
            {
                append(column);
            }
            return;
        }
        let is_inner = self.inner.is_some();
        match self.element(place) {
            Some(Column::List(values)) if is_inner => append(values.values()),
            Some(column) => append(column),
            None => {}
        }
    }

    #[inline]
    fn append_text(&mut self, append: impl FnOnce(&mut StringBuilder)) {
        let mut text_len = 0;
        self.append(|column| {
            if let Column::Text(builder) = column {
                let before = builder.values_slice().len();
                append(builder);
                text_len = builder.values_slice().len().saturating_sub(before);
            }
        });
        self.text_len = self.text_len.saturating_add(text_len);
    }
}

impl ValueVisitor for Row<'_> {
    fn text(&mut self, text: &str) {
        self.append_text(|builder| builder.append_value(text));
    }

    fn display(&mut self, value: impl Display) {
        self.append_text(|builder| {
            // Writing to memory does not fail.
            let _ = write!(builder, "{value}");
            builder.append_value("");
        });
    }

    fn bool(&mut self, value: bool) {
        self.append(|column| {
            if let Column::Bool(builder) = column {
                builder.append_value(value);
            }
        });
    }

    fn integer(&mut self, value: u64) {
        self.append(|column| match column {
            Column::Int(builder) => builder.append_value(i32::try_from(value).unwrap_or(i32::MAX)),
            Column::Long(builder) => builder.append_value(i64::try_from(value).unwrap_or(i64::MAX)),
            _ => {}
        });
    }

    fn float(&mut self, value: f64) {
        self.append(|column| {
            if let Column::Double(builder) = column {
                builder.append_value(value);
            }
        });
    }

    /// Sets the microseconds, and the nanoseconds within the microsecond.
    fn time(&mut self, time: Timestamp) {
        let (micros, nanos) = split_time(time);
        let place = self.targets.get(self.next).and_then(|target| target.nanos);
        if let Some(column) = place.and_then(|place| self.columns.get_mut(place))
            && column.fill(self.row)
            && let Column::Int(builder) = column
        {
            builder.append_value(nanos);
        }
        self.append(|column| {
            if let Column::Time(builder) = column {
                builder.append_value(micros);
            }
        });
    }

    /// Sets the time, which has no nanoseconds.
    fn seconds(&mut self, seconds: i64) {
        self.append(|column| {
            if let Column::Time(builder) = column {
                builder.append_value(seconds.saturating_mul(1_000_000));
            }
        });
    }

    fn absent(&mut self, columns: usize) {
        let end = self.next.saturating_add(columns);
        if self.list.is_some() {
            for place in self.next..end {
                if let Some(column) = self.element(place) {
                    column.append_nulls(1);
                }
            }
        }
        self.next = end;
    }

    fn begin_list(&mut self, columns: usize) {
        let places = self.next..self.next.saturating_add(columns);
        if self.list.is_some() {
            self.inner = Some(places);
            return;
        }
        let row = self.row;
        if let Some(column) = self.column(places.start) {
            column.fill(row);
        }
        self.list = Some(places);
    }

    fn begin_element(&mut self) {
        if let Some(places) = &self.inner {
            self.next = places.start;
        } else if let Some(place) = self.list.as_ref().map(|places| places.start) {
            self.next = place;
            if let Some(Column::Struct(object)) = self.lists(place).map(ListBuilder::values) {
                object.append(true);
            }
        }
    }

    fn end_list(&mut self) {
        if let Some(places) = self.inner.take() {
            self.next = places.end;
            if let Some(Column::List(lists)) = self.element(places.start) {
                lists.append(true);
            }
            return;
        }
        let Some(places) = self.list.take() else { return };
        self.next = places.end;
        if let Some(lists) = self.lists(places.start) {
            lists.append(true);
        }
    }
}

/// A time in microseconds, and the nanoseconds within the microsecond.
pub(crate) fn split_time(time: Timestamp) -> (i64, i32) {
    let total = time.as_nanos();
    // 64-bit nanoseconds are 51-bit microseconds.
    (i64::try_from(total / 1000).unwrap_or(i64::MAX), i32::try_from(total % 1000).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::ArrayBuilder;
    use arrow_array::cast::AsArray;
    use arrow_schema::{DataType, Field};

    use super::*;

    fn list_of(element: DataType) -> DataType {
        DataType::List(std::sync::Arc::new(Field::new("element", element, true)))
    }

    #[test]
    fn objects_of_a_list_have_lists_of_their_own() {
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        let object = vec![field("text", DataType::Utf8), field("texts", list_of(DataType::Utf8))];
        let mut columns = [list_of(DataType::Struct(object.into())), DataType::Boolean]
            .map(|data_type| Column::new(&data_type));
        let targets = [(0, Some(0)), (0, Some(1)), (1, None)].map(|(column, field)| Target {
            column: Some(column),
            nanos: None,
            field,
        });
        for (number, elements) in
            [&[("a", &["b", "c"][..]), ("d", &[])][..], &[], &[("e", &["f"])]].iter().enumerate()
        {
            let mut row = Row::new(&mut columns, number, &targets);
            row.begin_list(2);
            for (text, inner) in *elements {
                row.begin_element();
                row.text(text);
                row.begin_list(1);
                for text in *inner {
                    row.begin_element();
                    row.text(text);
                }
                row.end_list();
            }
            row.end_list();
            row.bool(true);
        }
        let [objects, flags] = columns.each_mut().map(ArrayBuilder::finish);
        let lens =
            |lists: &arrow_array::ListArray| lists.iter().map(|list| list.unwrap().len()).collect::<Vec<_>>();
        let texts = |array: &dyn arrow_array::Array| {
            array.as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lens(objects.as_list()), [2, 0, 1]);
        let objects = objects.as_list::<i32>().values().as_struct();
        assert_eq!(texts(objects.column(0)), ["a", "d", "e"]);
        let inner = objects.column(1).as_list();
        assert_eq!(lens(inner), [2, 0, 1]);
        assert_eq!(texts(inner.values()), ["b", "c", "f"]);
        assert_eq!(flags.as_boolean().true_count(), 3);
    }
}
