//! A row of a log: values in the form of JSON, by their columns.

use super::columns::{KindColumns, LogColumns};
use super::flow_values::FlowValues;
use super::{ZeekForm, ZeekLog, tsv};
use crate::record::EventKind;
use crate::record::formats::EventFormat;
use crate::record::formats::plan::{FormatPlan, Target};
use crate::record::formats::writer::{FieldOutput, add_fields, add_value};
use crate::{Event, json};

/// The values of one event, or of several of a connection.
#[derive(Debug, Default)]
pub(super) struct Row {
    cells: Vec<Cell>,
    values: Vec<u8>,
    /// The kinds of events that it has, a bit for each.
    kinds: u32,
    order: (u64, u64),
}

/// A value, in the row's buffer.
#[derive(Clone, Copy, Debug)]
struct Cell {
    column: usize,
    start: usize,
    end: usize,
}

impl Row {
    /// The row of an event in a log, in the memory of a `spare` one.
    pub(super) fn new(
        event: &Event,
        file: Option<&str>,
        log: ZeekLog,
        flow: &FlowValues,
        spare: Self,
    ) -> Self {
        let number = EventKind::of(&event.kind).number();
        let plan = FormatPlan::get(EventFormat::Zeek);
        let mut row = Self {
            kinds: u32::try_from(number).map_or(0, |number| 1_u32.checked_shl(number).unwrap_or(0)),
            order: (event.ts.as_nanos(), event.packet_number),
            cells: spare.cells,
            values: spare.values,
        };
        row.cells.clear();
        row.values.clear();
        let (Some(kind), Some(columns)) = (plan.kinds.get(number), LogColumns::get(log).kind(number)) else {
            return row;
        };
        for (value, column) in flow.iter().zip(&columns.flow) {
            row.add(*column, |out| {
                out.extend_from_slice(value);
                true
            });
        }
        for (target, column) in kind.extras.iter().zip(&columns.extras) {
            row.add(*column, |out| (target.form)(event, out));
        }
        let mut fields = RowFields { row: &mut row, columns, value: Vec::new() };
        add_fields(event, kind, file, None, &mut fields);
        row
    }

    /// Adds a value; `add` returns whether it is present.
    pub(super) fn add(&mut self, column: usize, add: impl FnOnce(&mut Vec<u8>) -> bool) {
        let start = self.values.len();
        if add_value(&mut self.values, start, add) {
            self.cells.push(Cell { column, start, end: self.values.len() });
        } else {
            self.values.truncate(start);
        }
    }

    /// Adds a text in a column.
    pub(super) fn add_named(&mut self, log: ZeekLog, column: &str, text: &str) {
        if let Some(column) = LogColumns::get(log).find(column) {
            self.add(column, |out| {
                json::write_text(out, text);
                true
            });
        }
    }

    /// Whether the other row has no kind of event of this one.
    pub(super) fn can_take(&self, other: &Self) -> bool {
        self.kinds & other.kinds == 0
    }

    /// Adds the values of another row in columns that are empty.
    pub(super) fn append(&mut self, other: Self) {
        self.kinds |= other.kinds;
        let before = self.cells.len();
        for cell in &other.cells {
            let is_taken = self.cells.iter().take(before).any(|known| known.column == cell.column);
            if !is_taken && let Some(value) = other.values.get(cell.start..cell.end) {
                self.add(cell.column, |out| {
                    out.extend_from_slice(value);
                    true
                });
            }
        }
    }

    /// Memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let cells = self.cells.capacity().saturating_mul(size_of::<Cell>());
        cells.saturating_add(self.values.capacity()).saturating_add(size_of::<Self>())
    }

    /// The time of the first event, and its packet.
    pub(super) fn order(&self) -> (u64, u64) {
        self.order
    }

    /// Appends the row as a line.
    pub(super) fn write(&mut self, columns: &LogColumns, form: ZeekForm, out: &mut Vec<u8>) {
        self.cells.sort_unstable_by_key(|cell| cell.column);
        let mut cells = self.cells.iter().peekable();
        let start = out.len();
        for (number, column) in columns.all.iter().enumerate() {
            let cell = cells.next_if(|cell| cell.column == number);
            let value = cell.and_then(|cell| self.values.get(cell.start..cell.end));
            match (form, value) {
                (ZeekForm::Json, Some(value)) => {
                    out.extend_from_slice(b",\"");
                    out.extend_from_slice(column.name.as_bytes());
                    out.extend_from_slice(b"\":");
                    out.extend_from_slice(value);
                }
                (ZeekForm::Json, None) => {}
                (ZeekForm::Tsv, value) => {
                    out.push(b'\t');
                    tsv::append(value, column.zeek_type, out);
                }
            }
        }
        if form == ZeekForm::Json {
            out.push(b'}');
        }
        // The separator before the first value.
        match out.get_mut(start) {
            Some(first) if form == ZeekForm::Json => *first = b'{',
            Some(_) => _ = out.remove(start),
            None => {}
        }
        out.push(b'\n');
    }
}

/// Takes the fields of an event.
struct RowFields<'r, 'c> {
    row: &'r mut Row,
    columns: &'c KindColumns,
    value: Vec<u8>,
}

impl FieldOutput for RowFields<'_, '_> {
    fn add_field<T>(&mut self, number: usize, _: &Target<T>, add: impl FnOnce(&mut Vec<u8>) -> bool) {
        if let Some(Some(column)) = self.columns.fields.get(number) {
            self.row.add(*column, add);
        }
    }

    fn value_buffer(&mut self) -> &mut Vec<u8> {
        &mut self.value
    }
}
