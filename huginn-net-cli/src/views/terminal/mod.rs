//! A view of a running analysis on the terminal.

mod feed;
mod kept;
mod screen;
mod view;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use std::time::Instant;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{
    self, Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};

use self::feed::Shown;
pub(crate) use self::feed::{Counts, Feed};
use self::screen::Rates;
use self::view::{Panel, Target, View};
use crate::output::Zone;

/// Interval between two screens of the terminal view.
const SCREEN_INTERVAL: Duration = Duration::from_millis(500);

/// A terminal with the view on it. The terminal is restored when the view ends, and on a panic.
pub(crate) struct TerminalView {
    terminal: DefaultTerminal,
    zone: Zone,
}

/// Error of taking the terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ViewError {
    /// Standard output is not a terminal.
    #[error("the terminal view needs a terminal as standard output")]
    NoTerminal,
    /// The terminal or a thread could not be started.
    #[error("cannot start the terminal view: {0}")]
    Start(io::Error),
}

/// Whether the view goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    GoesOn,
    Quit,
}

impl TerminalView {
    /// Takes the terminal.
    pub(crate) fn open(zone: Zone) -> Result<Self, ViewError> {
        if !io::stdout().is_terminal() {
            return Err(ViewError::NoTerminal);
        }
        Ok(Self { terminal: ratatui::try_init().map_err(ViewError::Start)?, zone })
    }

    /// Shows what the feed has, until the user quits or `is_stopped` is set, and restores the terminal.
    pub(crate) fn run(mut self, feed: &Feed, is_stopped: &AtomicBool) -> io::Result<()> {
        let mut view = View::default();
        let mut rates = Rates::new(Instant::now());
        let mut shown = Shown::default();
        let mut due = Instant::now();
        // Whether the user asked for other contents, which a pause does not delay.
        let mut is_stale = false;
        while !is_stopped.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= due && !view.is_paused || std::mem::take(&mut is_stale) {
                let rows = usize::from(self.terminal.size()?.height);
                shown = feed.show(&view, rows);
                rates.update(shown.counts.packets, shown.events, now);
                due = now.checked_add(SCREEN_INTERVAL).unwrap_or(now);
            }
            self.terminal.draw(|frame| screen::draw(frame, &shown, &mut view, &rates, &self.zone))?;
            let wait = if due > now { due.saturating_duration_since(now) } else { SCREEN_INTERVAL };
            if event::poll(wait)? {
                let (filter, details) = (view.filter.clone(), view.details);
                let outcome = match event::read()? {
                    TerminalEvent::Key(key) if key.kind != KeyEventKind::Release => {
                        on_key(&mut view, &shown, key)
                    }
                    _ => Outcome::GoesOn,
                };
                if outcome == Outcome::Quit {
                    break;
                }
                is_stale = view.filter != filter || view.details != details;
                due = due.min(Instant::now());
            }
        }
        Ok(())
    }
}

impl Drop for TerminalView {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Starts a thread that reads counters for the feed as often as the screen shows them, until `is_stopped` is set.
/// `counts` returns `None` while there are none.
pub(crate) fn sample_counts(
    feed: Arc<Feed>,
    is_stopped: Arc<AtomicBool>,
    counts: impl Fn() -> Option<Counts> + Send + 'static,
) -> Result<(), ViewError> {
    let sample = move || {
        while !is_stopped.load(Ordering::Relaxed) {
            if let Some(counts) = counts() {
                feed.set_counts(counts);
            }
            thread::sleep(SCREEN_INTERVAL);
        }
    };
    let thread = thread::Builder::new().name("huginn-counters".to_owned()).spawn(sample);
    thread.map(drop).map_err(ViewError::Start)
}

fn on_key(view: &mut View, shown: &Shown, key: KeyEvent) -> Outcome {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return Outcome::Quit;
    }
    if std::mem::take(&mut view.has_help) {
        return Outcome::GoesOn;
    }
    if view.is_typing {
        match key.code {
            KeyCode::Enter => view.is_typing = false,
            KeyCode::Backspace => view.erase_character(),
            KeyCode::Char(character) => view.type_character(character),
            KeyCode::Esc => _ = view.close(),
            _ => {}
        }
        return Outcome::GoesOn;
    }
    match key.code {
        KeyCode::Char('q') => return Outcome::Quit,
        KeyCode::Esc => return if view.close() { Outcome::GoesOn } else { Outcome::Quit },
        KeyCode::Char('?' | 'h') => view.has_help = true,
        KeyCode::Char('p' | ' ') => view.is_paused = !view.is_paused,
        KeyCode::Char('s') => view.change_order(),
        KeyCode::Char('z') => view.is_zoomed = !view.is_zoomed,
        KeyCode::Char('/') => view.is_typing = true,
        KeyCode::Enter if view.details.is_some() => view.open_details(None),
        KeyCode::Enter => view.open_details(target(view, shown)),
        KeyCode::Tab => view.focus_next(),
        KeyCode::Up | KeyCode::Char('k') => view.move_by(-1),
        KeyCode::Down | KeyCode::Char('j') => view.move_by(1),
        KeyCode::PageUp => view.move_by(-10),
        KeyCode::PageDown => view.move_by(10),
        KeyCode::Home => view.move_by(isize::MIN),
        _ => {}
    }
    Outcome::GoesOn
}

/// What the selected row is about.
fn target(view: &View, shown: &Shown) -> Option<Target> {
    let index = view.selected(view.focus);
    match view.focus {
        Panel::Hosts => shown.hosts.get(index).map(|(ip, _)| Target::Host(*ip)),
        Panel::Findings => shown.findings.get(index).map(|row| Target::Host(row.host)),
        Panel::Rare => shown.rare.get(index).map(|value| Target::Host(value.client)),
        Panel::Events => {
            let line = shown.newest.get(index)?;
            Some(Target::Connection { client: line.client, server: line.server })
        }
    }
}
