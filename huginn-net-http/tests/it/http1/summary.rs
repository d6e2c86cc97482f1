//! A connection under test.

use huginn_net_http::Role;
use huginn_net_http::http1::{Head, Http1Connection, Http1Counters};

/// A connection and what was found in it.
pub(crate) struct Seen {
    pub(crate) connection: Http1Connection,
    pub(crate) counters: Http1Counters,
    pub(crate) heads: Vec<String>,
}

impl Seen {
    pub(crate) fn new(connection: Http1Connection) -> Self {
        Self { connection, counters: Http1Counters::default(), heads: Vec::new() }
    }

    pub(crate) fn push(&mut self, direction: Role, bytes: &[u8]) {
        let heads = &mut self.heads;
        self.connection.push(direction, bytes, &mut self.counters, &mut |exchange, head| {
            heads.push(format!("{exchange} {}", summary(&head)));
        });
    }

    pub(crate) fn requests(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.push(Role::Request, bytes.as_ref());
        self
    }

    pub(crate) fn responses(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.push(Role::Response, bytes.as_ref());
        self
    }
}

pub(crate) fn summary(head: &Head) -> String {
    match head {
        Head::Request(request) => {
            format!("{} {}", request.method().escape_ascii(), request.target().escape_ascii())
        }
        Head::Response(response) => response.status().to_string(),
    }
}

pub(crate) fn connection() -> Seen {
    Seen::new(Http1Connection::new())
}

/// The heads of requests alone, or of responses alone.
pub(crate) fn heads_of(direction: Role, bytes: &[u8]) -> Vec<String> {
    let mut seen = connection();
    seen.push(direction, bytes);
    seen.heads
}

pub(crate) fn requests_of(bytes: &[u8]) -> Vec<String> {
    heads_of(Role::Request, bytes)
}

pub(crate) fn responses_of(bytes: &[u8]) -> Vec<String> {
    heads_of(Role::Response, bytes)
}

pub(crate) const NEXT: &[u8] = b"GET /next HTTP/1.1\r\n\r\n";
pub(crate) const NEXT_RESPONSE: &[u8] = b"HTTP/1.1 299 next\r\nContent-Length: 0\r\n\r\n";
