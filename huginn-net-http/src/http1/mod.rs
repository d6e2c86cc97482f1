//! HTTP/1 (RFC 9112): the heads of both directions of a connection, from their bytes in order.

mod awaited;
mod body;
mod chunked;
mod connection;
mod fields;
mod first_line;
mod greeting;
mod head;
mod head_buffer;
mod reader;

pub use connection::{Http1Connection, Http1Counters, Upgrade};
pub(crate) use first_line::begins_head;
pub use head::{MAX_HEAD, MAX_HEADERS};

use crate::{Request, Response, Role};

/// The head of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// Of a request.
    Request(Request),
    /// Of a response, a provisional one (1xx) too.
    Response(Response),
}

/// Whether bytes begin something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// They do.
    Yes,
    /// More bytes are needed to tell.
    Unsure,
    /// They do not.
    No,
}

/// Whether the first bytes of a client begin neither a request nor anything that may come before one.
pub(crate) fn is_foreign(first: &[u8]) -> bool {
    let may_precede_head = greeting::length(Role::Request, first) != Err(greeting::NoGreeting::Absent)
        || matches!(first, [b'\r' | b'\n', ..]);
    !may_precede_head && first_line::probe(Role::Request, first) == Probe::No
}
