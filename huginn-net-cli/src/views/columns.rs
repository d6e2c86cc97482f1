//! Tables on standard output.

use std::env;
use std::io::{self, IsTerminal, Write};

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table as ComfyTable, TableComponent, presets,
};

/// A table with a heading, and without rules between rows.
///
/// On a terminal, cells are wrapped to its width; columns that are read as one word, such as addresses, keep theirs. A
/// pipe gets the natural width, unless `COLUMNS` is set.
pub(crate) struct Table {
    table: ComfyTable,
    is_used: Vec<bool>,
}

/// Places of columns with a special layout, counted from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout<'a> {
    /// Columns that are never wrapped.
    pub(crate) whole: &'a [usize],
    /// Columns of numbers, aligned to the right.
    pub(crate) numbers: &'a [usize],
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut table = ComfyTable::new();
        table.load_preset(presets::NOTHING).set_header(headings);
        table.set_style(TableComponent::HeaderLines, '─');
        table.set_style(TableComponent::MiddleHeaderIntersections, '─');
        Self { table, is_used: vec![false; headings.len()] }
    }

    pub(crate) fn add_row(&mut self, cells: Vec<String>) {
        for (is_used, cell) in self.is_used.iter_mut().zip(&cells) {
            *is_used |= !cell.is_empty();
        }
        self.table.add_row(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Writes the table without its empty columns.
    pub(crate) fn write(
        mut self,
        out: &mut impl Write,
        layout: Layout<'_>,
        width: Option<u16>,
    ) -> io::Result<()> {
        match width {
            Some(width) => {
                self.table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            }
            None => {
                self.table.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        for (place, is_used) in self.is_used.iter().enumerate() {
            let Some(column) = self.table.column_mut(place) else { continue };
            if place == 0 {
                column.set_padding((0, 1));
            }
            if !is_used {
                column.set_constraint(ColumnConstraint::Hidden);
            } else if layout.whole.contains(&place) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if layout.numbers.contains(&place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in self.table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Writes how many rows a table leaves out.
pub(crate) fn write_more(out: &mut impl Write, more: u64, what: &str) -> io::Result<()> {
    if more > 0 { writeln!(out, "and {more} more{what}") } else { Ok(()) }
}

/// Columns of the output: those of `COLUMNS`, otherwise those of the terminal; `None` without a limit.
pub(crate) fn width(on_terminal: bool) -> Option<u16> {
    let chosen =
        env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let terminal = || {
        let size = terminal_size::terminal_size().filter(|_| on_terminal);
        size.map(|(terminal_size::Width(columns), _)| columns)
    };
    chosen.or_else(terminal)
}

/// [`width`] of standard output.
pub(crate) fn stdout_width() -> Option<u16> {
    width(io::stdout().is_terminal())
}

/// Breaks a line at spaces, so that its parts have at most this many characters, unless a word is longer.
pub(crate) fn wrapped(line: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![line.to_owned()] };
    let mut parts = Vec::new();
    let (mut part, mut length) = (String::new(), 0_usize);
    for word in line.split_inclusive(' ') {
        let characters = word.chars().count();
        if length > 0 && length.saturating_add(word.trim_end().chars().count()) > width {
            parts.push(std::mem::take(&mut part).trim_end().to_owned());
            length = 0;
        }
        part.push_str(word);
        length = length.saturating_add(characters);
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_line_is_broken_at_spaces() {
        assert_eq!(wrapped("aa bb, cc dddddd", Some(5)), ["aa", "bb,", "cc", "dddddd"]);
        assert_eq!(wrapped("aa bb, cc", Some(6)), ["aa bb,", "cc"]);
        assert_eq!(wrapped("aa bb, cc", None), ["aa bb, cc"]);
    }
}
