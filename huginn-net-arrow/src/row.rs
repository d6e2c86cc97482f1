//! Events as rows.

use std::fmt::{Display, Write};
use std::ops::Range;

use arrow_array::builder::StringBuilder;
use huginn_net::Timestamp;
use huginn_net::record::ValueVisitor;

use crate::column::Column;

/// The columns of a value, by their places; `None` for those that are not built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) column: Option<usize>,
    /// The column of the nanoseconds of a time.
    pub(crate) nanos: Option<usize>,
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

    /// Appends the next value, unless the row has one. A single value in a column of lists is a list of one.
    #[inline]
    fn append(&mut self, append: impl FnOnce(&mut Column)) {
        let place = self.next;
        self.next = place.saturating_add(1);
        let (row, is_element, is_inner) = (self.row, self.list.is_some(), self.inner.is_some());
        let Some(column) = self.column(place) else { return };
        if !is_element && !column.fill(row) {
            return;
        }
        let Column::List(lists) = column else { return append(column) };
        match lists.values() {
            Column::List(values) if is_inner => append(values.values()),
            values => append(values),
        }
        if !is_element {
            lists.append(true);
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

    fn absent(&mut self, columns: usize) {
        let end = self.next.saturating_add(columns);
        if self.list.is_some() {
            for place in self.next..end {
                if let Some(Column::List(lists)) = self.column(place) {
                    lists.values().append_nulls(1);
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
        for place in places.clone() {
            if let Some(column) = self.column(place) {
                column.fill(row);
            }
        }
        self.list = Some(places);
    }

    fn begin_element(&mut self) {
        if let Some(places) = self.inner.as_ref().or(self.list.as_ref()) {
            self.next = places.start;
        }
    }

    fn end_list(&mut self) {
        if let Some(places) = self.inner.take() {
            self.next = places.end;
            for place in places {
                if let Some(Column::List(lists)) = self.column(place)
                    && let Column::List(values) = lists.values()
                {
                    values.append(true);
                }
            }
            return;
        }
        let Some(places) = self.list.take() else { return };
        self.next = places.end;
        for place in places {
            if let Some(Column::List(lists)) = self.column(place) {
                lists.append(true);
            }
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
    fn elements_of_a_list_have_lists_of_their_own() {
        let mut columns = [list_of(DataType::Utf8), list_of(list_of(DataType::Utf8)), DataType::Boolean]
            .map(|data_type| Column::new(&data_type));
        let targets = [0, 1, 2].map(|place| Target { column: Some(place), nanos: None });
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
        let [texts, lists, flags] = columns.each_mut().map(ArrayBuilder::finish);
        let lens =
            |lists: &arrow_array::ListArray| lists.iter().map(|list| list.unwrap().len()).collect::<Vec<_>>();
        assert_eq!(lens(texts.as_list()), [2, 0, 1]);
        assert_eq!(lens(lists.as_list()), [2, 0, 1]);
        let inner = lists.as_list::<i32>().values();
        assert_eq!(lens(inner.as_list()), [2, 0, 1]);
        let inner = inner.as_list::<i32>().values();
        assert_eq!(inner.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["b", "c", "f"]);
        assert_eq!(flags.as_boolean().true_count(), 3);
    }
}
