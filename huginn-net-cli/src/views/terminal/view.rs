//! What the user chose: panel, selected row, order, filter, details.

use std::net::{IpAddr, SocketAddr};

/// Maximum length of a filter in the terminal view, in bytes: more than a line of a terminal shows.
const MAX_VIEW_FILTER: usize = 200;

/// A part of the screen with rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Panel {
    #[default]
    Hosts,
    Findings,
    Rare,
    Events,
}

impl Panel {
    fn next(self) -> Self {
        match self {
            Self::Hosts => Self::Findings,
            Self::Findings => Self::Rare,
            Self::Rare => Self::Events,
            Self::Events => Self::Hosts,
        }
    }
}

/// How hosts are sorted, after those with tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HostOrder {
    #[default]
    MostEvents,
    Latest,
}

/// What the details are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Host(IpAddr),
    Connection { client: SocketAddr, server: SocketAddr },
}

/// The rows of a panel that are visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    selected: usize,
    /// The first row that is visible.
    top: usize,
}

/// The choices of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) focus: Panel,
    /// By panel.
    pub(super) rows: [Rows; 4],
    pub(super) order: HostOrder,
    pub(super) is_paused: bool,
    pub(super) has_help: bool,
    /// Whether the panel with the focus fills the screen.
    pub(super) is_zoomed: bool,
    /// Words that a row must have, separated by spaces.
    pub(super) filter: String,
    /// Whether keys are added to the filter.
    pub(super) is_typing: bool,
    pub(super) details: Option<Target>,
    /// Lines of the details above the first visible one.
    pub(super) details_top: u16,
}

impl View {
    /// The row that is selected.
    pub(super) fn selected(&self, panel: Panel) -> usize {
        self.rows.get(panel as usize).map_or(0, |rows| rows.selected)
    }

    /// The first visible row of a panel with this number of rows, of which `visible` fit: the selected row is among them.
    pub(super) fn fit(&mut self, panel: Panel, len: usize, visible: usize) -> usize {
        let Some(rows) = self.rows.get_mut(panel as usize) else { return 0 };
        rows.selected = rows.selected.min(len.saturating_sub(1));
        let lowest = rows.selected.saturating_add(1).saturating_sub(visible.max(1));
        rows.top = rows.top.clamp(lowest, rows.selected.max(lowest));
        rows.top
    }

    pub(super) fn focus_next(&mut self) {
        self.focus = self.focus.next();
    }

    /// Selects another row of the panel that has the focus, or scrolls the details; backwards if `rows` is negative.
    pub(super) fn move_by(&mut self, rows: isize) {
        if self.details.is_some() {
            let rows = i16::try_from(rows).unwrap_or(if rows < 0 { i16::MIN } else { i16::MAX });
            self.details_top = self.details_top.saturating_add_signed(rows);
        } else if let Some(place) = self.rows.get_mut(self.focus as usize) {
            place.selected = place.selected.saturating_add_signed(rows);
        }
    }

    pub(super) fn change_order(&mut self) {
        self.order = match self.order {
            HostOrder::MostEvents => HostOrder::Latest,
            HostOrder::Latest => HostOrder::MostEvents,
        };
    }

    pub(super) fn open_details(&mut self, target: Option<Target>) {
        (self.details, self.details_top) = (target, 0);
    }

    /// Adds a character to the filter.
    pub(super) fn type_character(&mut self, character: char) {
        if self.filter.len() < MAX_VIEW_FILTER && !character.is_control() {
            self.filter.push(character);
        }
    }

    pub(super) fn erase_character(&mut self) {
        self.filter.pop();
    }

    /// Closes the innermost of filter input, details, filter and zoom. Returns whether there was one.
    pub(super) fn close(&mut self) -> bool {
        if std::mem::take(&mut self.is_typing) {
            self.filter.clear();
            return true;
        }
        if self.details.take().is_some() {
            return true;
        }
        if !self.filter.is_empty() {
            self.filter.clear();
            return true;
        }
        std::mem::take(&mut self.is_zoomed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_row_is_visible() {
        let mut view = View::default();
        assert_eq!(view.fit(Panel::Hosts, 100, 10), 0);
        view.move_by(12);
        assert_eq!(view.fit(Panel::Hosts, 100, 10), 3);
        view.move_by(-5);
        assert_eq!(view.fit(Panel::Hosts, 100, 10), 3, "row 7 is visible");
        view.move_by(-5);
        assert_eq!(view.fit(Panel::Hosts, 100, 10), 2);
        view.move_by(isize::MAX);
        assert_eq!(view.fit(Panel::Hosts, 100, 10), 90);
        assert_eq!(view.selected(Panel::Hosts), 99);
        assert_eq!(view.fit(Panel::Hosts, 0, 0), 0);
        assert_eq!(view.selected(Panel::Events), 0);
    }

    #[test]
    fn escape_closes_innermost() {
        let mut view = View { is_zoomed: true, is_typing: true, ..View::default() };
        view.type_character('a');
        view.open_details(Some(Target::Host([192, 0, 2, 1].into())));
        assert!(view.close() && view.filter.is_empty() && !view.is_typing && view.details.is_some());
        view.type_character('a');
        assert!(view.close() && view.details.is_none() && view.filter == "a");
        assert!(view.close() && view.filter.is_empty() && view.is_zoomed);
        assert!(view.close() && !view.is_zoomed);
        assert!(!view.close());
    }

    #[test]
    fn filter_is_bounded() {
        let mut view = View::default();
        (0..1000).for_each(|_| view.type_character('ä'));
        assert!(view.filter.len() <= MAX_VIEW_FILTER + 1);
        view.type_character('\u{1b}');
        assert!(!view.filter.contains('\u{1b}'));
    }
}
