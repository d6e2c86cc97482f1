//! Conditions on the fields of events, which select events before they are written.
//!
//! ```
//! use huginn_net::{CaptureReader, HuginnNet, select::Selection};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
//! let selection: Selection = "event == 'tcp_syn' and client.ip in 127.0.0.0/8".parse()?;
//! let mut selected = 0;
//! HuginnNet::builder().build().analyze(CaptureReader::open(path)?, |event| {
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
//! | `ip == 192.0.2.7`, `port == 443` | whose client or server has the address or the port; with any operator |
//! | `event in ('tls_client', 'ssh_client')` | whose field is one of the values or in one of the networks; `not in` is the opposite |
//! | `sni ~ '*.ru'`, `user_agent ~ 'curl'` | whose text matches the pattern, where `*` is any text, or without `*` contains it; upper and lower case are equal |
//! | `user_agent contains 'curl'` | whose text contains this one, `*` too; upper and lower case are equal |
//! | `software.library == null`, `is null`, `is not null` | without a value, or with one |
//! | `not C`, `C and D`, `C or D`, `(C)` | combined; `!`, `&&` and `\|\|` are the same |
//!
//! A value that a field cannot have is an error: `tls_version == '1.2'`, because the field is `12`.
//!
//! Texts are in single or double quotes. A list fulfils a condition if one of its elements does. Without a value, a condition is false, and
//! `!=` and `not` are true.

mod check;
mod error;
mod fields;
mod parse;
mod selected;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;
mod values;

use std::str::FromStr;

pub(crate) use self::check::Pattern;
pub use self::error::{SelectionError, SelectionErrorKind};
pub use self::selected::Selected;
#[doc(hidden)]
pub use crate::parse_time::parse_time;

use self::fields::{Places, Tester};
use self::parse::{Condition, Test};
use crate::Event;
use crate::record::{EventNames, FlowRecord, visit_event};

/// A condition on the fields of events.
#[derive(Clone, Debug)]
pub struct Selection {
    condition: Condition,
    places: Places,
    /// The fields of the tests, and the texts that each may be equal to.
    fields: Vec<(String, Vec<String>)>,
    /// Whether a test is of the identifier of the connection.
    connection_id: bool,
}

impl Selection {
    /// Whether the condition holds for an event, which is written with the capture file and the interface if there are several.
    pub fn selects(&self, event: &Event, file: Option<&str>, interface: Option<&str>) -> bool {
        let placed = self.places.of_kind(&event.kind);
        let mut tester = Tester::new(placed);
        if !placed.is_empty() {
            let names = EventNames { file, interface, connection_id: self.connection_id };
            visit_event(event, &FlowRecord::from(&event.flow), names, &mut tester);
        }
        self.condition.holds(tester.results)
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

    /// Whether a comparison that is not negated names this kind of events, or a field that it shares with few others: an analysis reports
    /// the kinds `connection` and `finding` on request.
    ///
    /// ```
    /// use huginn_net::select::Selection;
    ///
    /// let selection: Selection = "finding == 'scan'".parse()?;
    /// assert!(selection.requests("finding") && !selection.requests("connection"));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn requests(&self, kind: &str) -> bool {
        self.wanted_kinds().iter().any(|kinds| {
            let is_rare = kinds.iter().all(|kind| ["connection", "finding", "match", "tool"].contains(kind));
            // Without connections, the condition is about tools.
            is_rare && (kinds.contains(&"connection") || !kinds.contains(&"tool")) && kinds.contains(&kind)
        })
    }

    /// The fields of comparisons that are not negated, each with the texts that it may be equal to.
    ///
    /// ```
    /// use huginn_net::select::Selection;
    ///
    /// let selection: Selection = "finding in ('scan', 'beacon') and port > 1023".parse()?;
    /// let fields: Vec<_> = selection.wanted_fields().map(|(field, texts)| (field, texts.len())).collect();
    /// assert_eq!(fields, [("finding", 2), ("client.port", 0), ("server.port", 0)]);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn wanted_fields(&self) -> impl Iterator<Item = (&str, &[String])> {
        let mut numbers = Vec::new();
        self.condition.add_wanted(false, &mut numbers);
        let fields = numbers.into_iter().filter_map(|number| self.fields.get(number));
        fields.map(|(field, texts)| (field.as_str(), texts.as_slice()))
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
        let texts = |test: &Test| test.check.texts().map(str::to_owned).collect();
        let fields = tests.iter().map(|test| (test.path.clone(), texts(test))).collect();
        let connection_id = tests.iter().any(|test| test.path == "connection_id");
        Ok(Self { condition, places: Places::new(tests)?, fields, connection_id })
    }
}
