//! Conditions on the fields of events, which select events before they are written.
//!
//! ```
//! use huginn_net::{CaptureReader, Event, HuginnNet, select::Selection};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
//! let selection: Selection = "event == 'tcp_syn' and client.ip in 127.0.0.0/8".parse()?;
//! let mut selected = 0;
//! HuginnNet::builder().build().analyze(CaptureReader::open(path)?, &mut |event: Event| {
//!     selected += u32::from(selection.selects(&event, None, None));
//! })?;
//! # let _ = selected;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Conditions
//! A condition compares a field of the JSON with a value; a path with points names a field of an object:
//!
//! | condition | selects events |
//! |---|---|
//! | `sni == 'example.org'`, `!=` | whose field is equal, or is not |
//! | `client.port < 1024`, `<=`, `>`, `>=` | whose field is less or greater; texts by their bytes |
//! | `ts >= '2022-03-17 08:38'` | at that time (UTC) or later |
//! | `server.ip in 10.0.0.0/8` | whose address is in the network |
//! | `event in ('tls_client', 'ssh_client')` | whose field is one of the values or in one of the networks |
//! | `sni ~ '*.ru'`, `user_agent ~ 'curl'` | whose text matches the pattern, where `*` is any text, or without `*` contains it; upper and lower case are equal |
//! | `software.library == null` | without a value |
//! | `not C`, `C and D`, `C or D`, `(C)` | combined; `!`, `&&` and `\|\|` are the same |
//!
//! `event` and `finding` have few values: another one is an error.
//!
//! Texts are in single or double quotes. A list fulfils a condition if one of its elements does. Without a value, a condition is false, and
//! `!=` and `not` are true.

mod check;
mod error;
mod fields;
mod parse;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use std::str::FromStr;

pub(crate) use self::check::Pattern;
pub use self::check::time as parse_time;
pub use self::error::{SelectionError, SelectionErrorKind};

use self::fields::{Places, Tester};
use self::parse::Condition;
use crate::Event;
use crate::record::{FlowRecord, visit_event};

/// A condition on the fields of events.
#[derive(Clone, Debug)]
pub struct Selection {
    condition: Condition,
    places: Places,
}

impl Selection {
    /// Whether the condition holds for an event, which is written with the capture file and the interface if there are several.
    pub fn selects(&self, event: &Event, file: Option<&str>, interface: Option<&str>) -> bool {
        let placed = self.places.of_kind(&event.kind);
        let mut tester = Tester::new(placed);
        if !placed.is_empty() {
            visit_event(event, &FlowRecord::from(&event.flow), file, interface, &mut tester);
        }
        self.condition.holds(tester.results())
    }

    /// For each comparison that is not negated, the kinds of events in which it can hold: if none of them occurs, it selects nothing. A
    /// comparison of `event` counts once for each kind that it names.
    ///
    /// ```
    /// use huginn_net::select::Selection;
    ///
    /// let selection: Selection = "finding == 'scan' and not event == 'match'".parse()?;
    /// assert_eq!(selection.wanted_kinds(), [["finding"]]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn wanted_kinds(&self) -> Vec<Vec<&'static str>> {
        let mut numbers = Vec::new();
        self.condition.add_wanted(false, &mut numbers);
        self.places.kinds_of(&numbers)
    }

    /// The kinds of events in which the condition can hold: those that have the fields that it needs.
    ///
    /// ```
    /// use huginn_net::select::Selection;
    ///
    /// let selection: Selection = "user_agent ~ 'curl' and not event == 'match'".parse()?;
    /// assert_eq!(selection.possible_kinds(), ["finding", "http_request"]);
    /// let selection: Selection = "user_agent ~ 'curl' and alpn == 'h2'".parse()?;
    /// assert!(selection.possible_kinds().is_empty());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn possible_kinds(&self) -> Vec<&'static str> {
        self.places
            .kinds()
            .filter(|(_, kind)| self.condition.outcomes(kind).can_hold)
            .map(|(name, _)| name)
            .collect()
    }
}

/// Parses a condition.
impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let (condition, tests) = parse::condition(text)?;
        Ok(Self { condition, places: Places::new(tests)? })
    }
}
