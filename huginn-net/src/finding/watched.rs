//! What an event has that a list watches.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_core::Escaped;
use huginn_net_db::ClientMatch;
use huginn_net_tls::Ja4;

use super::IndicatorType;
use crate::event_limits::TextLimit;

/// A value of an event that a list watches. It follows its event; its subject is the side that the value belongs to.
///
/// [`Display`] names value, label and list: `watched ja4 t13d1516h2_8daaf6152771_02713d6af862, Chromium, list bad.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The name of the list.
    pub list: Arc<str>,
    /// The line of the list, from 1; `None` in JSON documents.
    pub line: Option<u32>,
    /// What the value was compared with.
    pub kind: IndicatorType,
    /// The value of the list: for a network the network, for a name with others below it `.name` or `*.name`.
    pub value: Arc<str>,
    /// The label, which may be empty or contain control characters.
    pub label: Arc<str>,
    /// The name of the kind of the event.
    pub event: &'static str,
    /// The server name of the event.
    pub server_name: Option<Box<[u8]>>,
    /// The Host header of the event.
    pub host: Option<Box<[u8]>>,
    /// The User-Agent header of the event.
    pub user_agent: Option<Box<[u8]>>,
    /// The JA4 of the event.
    pub ja4: Option<Ja4>,
    /// The software that the event shows.
    pub software: Option<ClientMatch>,
    /// Whether the handshake of the connection shows that neither side forged its address.
    pub is_proven: bool,
    pub(crate) text_limit: TextLimit,
}

impl Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "watched {} {:#}", self.kind.name(), Escaped(self.value.as_bytes()))?;
        if !self.label.is_empty() {
            write!(f, ", {:#}", Escaped(self.label.as_bytes()))?;
        }
        write!(f, ", list {:#}", Escaped(self.list.as_bytes()))
    }
}
