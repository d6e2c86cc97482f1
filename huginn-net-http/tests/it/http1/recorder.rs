//! A test harness that records the heads of a connection.

use huginn_net_http::Role;
use huginn_net_http::http1::{Head, Http1Connection, Http1Counters};

/// A connection with its counters and a summary of each head.
pub(crate) struct HeadRecorder {
    pub(crate) connection: Http1Connection,
    pub(crate) counters: Http1Counters,
    pub(crate) heads: Vec<String>,
}

impl HeadRecorder {
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

    pub(crate) fn gap(&mut self, direction: Role, missing: u64) {
        self.connection.gap(direction, missing, &mut self.counters);
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
        Head::Response(response) => {
            response.status().map_or_else(|| "-".to_owned(), |status| status.to_string())
        }
    }
}

pub(crate) fn new_recorder() -> HeadRecorder {
    HeadRecorder::new(Http1Connection::new())
}

/// Returns the heads in a stream of requests or of responses.
pub(crate) fn record_heads(direction: Role, bytes: &[u8]) -> Vec<String> {
    let mut recorder = new_recorder();
    recorder.push(direction, bytes);
    recorder.heads
}

pub(crate) fn request_heads(bytes: &[u8]) -> Vec<String> {
    record_heads(Role::Request, bytes)
}

pub(crate) fn response_heads(bytes: &[u8]) -> Vec<String> {
    record_heads(Role::Response, bytes)
}

pub(crate) const NEXT: &[u8] = NEXT_TEXT.as_bytes();
pub(crate) const NEXT_TEXT: &str = "GET /next HTTP/1.1\r\n\r\n";
pub(crate) const NEXT_RESPONSE: &[u8] = b"HTTP/1.1 299 next\r\nContent-Length: 0\r\n\r\n";
