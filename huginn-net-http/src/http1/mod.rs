//! HTTP/1 (RFC 9112): the heads of both directions of a connection, from in-order bytes.

mod body;
mod chunked;
mod connection;
mod counters;
mod fields;
mod first_line;
mod head;
mod head_buffer;
mod head_reader;
mod open_line;
mod pending_requests;
mod reader;
mod tls_records;

pub use crate::limits::{MAX_HEAD, MAX_HEADERS};
pub use connection::{Http1Connection, Upgrade};
pub use counters::Http1Counters;
#[cfg(feature = "packets")]
pub(crate) use first_line::begins_head;
pub(crate) use first_line::is_token;
pub use head_reader::HeadReader;

#[cfg(feature = "packets")]
use huginn_net_wire::{ProxyPrefix, Side};

#[cfg(feature = "packets")]
use crate::Role;
use crate::{Request, Response};

/// The head of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A request.
    Request(Request),
    /// A response, including provisional ones (1xx).
    Response(Response),
}

/// Whether bytes start a certain construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// They do.
    Yes,
    /// More bytes are needed.
    Unsure,
    /// They do not.
    No,
}

/// Whether the first bytes of a client rule out a request, and anything that may precede one.
#[cfg(feature = "packets")]
pub(crate) fn is_not_http(first: &[u8]) -> bool {
    let may_precede_head =
        ProxyPrefix::new(Side::Client).may_begin_with(first) || matches!(first, [b'\r' | b'\n', ..]);
    !may_precede_head && first_line::probe(Role::Request, first) == Probe::No
}
