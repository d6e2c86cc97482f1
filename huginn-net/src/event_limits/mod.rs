//! Limits of the output: lengths of texts, and rates of events in packet time.
//!
//! A peer decides how long a host name is and how many requests a packet holds. These limits bound what a packet can
//! make the analysis write: without the names of files, interfaces and labels that the operator chooses, the JSON of all
//! events has at most [`max_output_ratio`](EventLimits::max_output_ratio) bytes for each captured byte. They depend on
//! the capture alone, so that events are the same for any number of workers and in any format.
//!
//! ```
//! use huginn_net::observers::EventLimits;
//! use huginn_net::{Configure, HuginnNet, Observers};
//!
//! let limits = EventLimits::default().max_text_bytes(Some(256));
//! let analyzer = HuginnNet::builder_with(Observers::default().event_limits(limits)).build();
//! assert_eq!(analyzer.protocol().counters().events_suppressed.connection, 0);
//! ```

mod rates;
mod size;

use huginn_net_core::tally;

pub(crate) use self::rates::{Rates, Ticket};
pub(crate) use self::size::EventFrame;
#[cfg(test)]
pub(crate) use self::size::quic as quic_bytes;
use crate::limits::MAX_TEXT_BYTES;
use crate::observation::TextLimit;

/// Maximum bytes of events for each captured byte of a connection. The densest public captures, SYNs alone, have 16.
const MAX_OUTPUT_RATIO: u32 = 40;

/// Maximum events of a connection in a second: several times what a server answers over one connection.
const MAX_CONNECTION_EVENTS_PER_SECOND: u32 = 20_000;

/// Maximum events of a host in a second. A busy proxy or server has some 10,000.
const MAX_HOST_EVENTS_PER_SECOND: u32 = 50_000;

/// Maximum bytes of events of a host in a second: 50,000 events of 670 bytes.
const MAX_HOST_BYTES_PER_SECOND: u64 = 32 << 20;

/// Maximum events of each kind in a second: about as many as one core writes of all kinds.
const MAX_KIND_EVENTS_PER_SECOND: u32 = 200_000;

/// Maximum bytes of events of each kind in a second: 200,000 events of 670 bytes.
const MAX_KIND_BYTES_PER_SECOND: u64 = 128 << 20;

/// Limits of the output. `None` removes a limit. They do not apply in the [scope of p0f](crate::observers::Scope::P0f).
///
/// Those of hosts and kinds have two parts, so that packets in the names of others displace only each other: three quarters for events
/// whose peer [answered](crate::Event::is_answered) before, and one quarter for the others, which have the whole limit as long as no event
/// was answered.
///
/// A second is one of packet time, of 2^30 ns (1.07 s). The bytes of an event are an upper bound for its JSON, whatever
/// the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventLimits {
    /// Maximum length of a text that an event reports, in bytes (default 4096). Longer ones are cut; the field `cut`
    /// names them. Hashes are those of the complete texts.
    pub max_text_bytes: Option<usize>,
    /// Maximum bytes of events of a connection for each byte that was captured of it (default 40).
    pub max_output_ratio: Option<u32>,
    /// Maximum events of a connection in a second (default 20,000).
    pub max_events_per_connection: Option<u32>,
    /// Maximum events that describe a host, in a second (default 50,000).
    pub max_events_per_host: Option<u32>,
    /// Maximum bytes of events that describe a host, in a second (default 32 MiB).
    pub max_bytes_per_host: Option<u64>,
    /// Maximum events of each kind in a second (default 200,000). Kinds do not share a limit, so that a flood of SYNs
    /// does not suppress ClientHellos.
    pub max_events_per_kind: Option<u32>,
    /// Maximum bytes of events of each kind in a second (default 128 MiB).
    pub max_bytes_per_kind: Option<u64>,
}

huginn_net_core::setters!(EventLimits {
    max_text_bytes: impl Into<Option<usize>>,
    max_output_ratio: impl Into<Option<u32>>,
    max_events_per_connection: impl Into<Option<u32>>,
    max_events_per_host: impl Into<Option<u32>>,
    max_bytes_per_host: impl Into<Option<u64>>,
    max_events_per_kind: impl Into<Option<u32>>,
    max_bytes_per_kind: impl Into<Option<u64>>,
});

impl EventLimits {
    /// No limits.
    pub const NONE: Self = Self {
        max_text_bytes: None,
        max_output_ratio: None,
        max_events_per_connection: None,
        max_events_per_host: None,
        max_bytes_per_host: None,
        max_events_per_kind: None,
        max_bytes_per_kind: None,
    };

    /// The limit of texts.
    pub(crate) fn text(&self) -> TextLimit {
        TextLimit::new(self.max_text_bytes)
    }
}

impl Default for EventLimits {
    fn default() -> Self {
        Self {
            max_text_bytes: Some(MAX_TEXT_BYTES),
            max_output_ratio: Some(MAX_OUTPUT_RATIO),
            max_events_per_connection: Some(MAX_CONNECTION_EVENTS_PER_SECOND),
            max_events_per_host: Some(MAX_HOST_EVENTS_PER_SECOND),
            max_bytes_per_host: Some(MAX_HOST_BYTES_PER_SECOND),
            max_events_per_kind: Some(MAX_KIND_EVENTS_PER_SECOND),
            max_bytes_per_kind: Some(MAX_KIND_BYTES_PER_SECOND),
        }
    }
}

/// Events that were found and not reported, by the limit that they exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct SuppressedEvents {
    /// Those of a connection: [`EventLimits::max_output_ratio`] and [`EventLimits::max_events_per_connection`].
    pub connection: u64,
    /// Those of a host: [`EventLimits::max_events_per_host`] and [`EventLimits::max_bytes_per_host`].
    pub host: u64,
    /// Those of a kind: [`EventLimits::max_events_per_kind`] and [`EventLimits::max_bytes_per_kind`].
    pub rate: u64,
}

tally!(SuppressedEvents { connection, host, rate });

impl SuppressedEvents {
    /// Their number, for any reason.
    pub fn total(&self) -> u64 {
        let Self { connection, host, rate } = *self;
        connection.saturating_add(host).saturating_add(rate)
    }
}
