//! Requests without a response.

use std::collections::VecDeque;

use crate::limits::MAX_PENDING_REQUESTS;
use crate::{HttpVersion, Request};

/// The kind of a request, as far as it determines the framing of the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// HEAD: the response has no body.
    Head,
    /// CONNECT: a tunnel follows a successful response.
    Connect,
    /// A request of HTTP/0.9: the response has no head.
    Headless,
    #[default]
    Other,
}

impl RequestKind {
    pub(super) fn from_request(request: &Request) -> Self {
        match request.version() {
            HttpVersion::Http09 => Self::Headless,
            _ => Self::from_method(request.method()),
        }
    }

    /// The kind of a request that starts with this method and a blank.
    pub(super) fn from_line(line: &[u8]) -> Self {
        Self::from_method(line.split(|byte| *byte == b' ').next().unwrap_or_default())
    }

    fn from_method(method: &[u8]) -> Self {
        match method {
            b"HEAD" => Self::Head,
            b"CONNECT" => Self::Connect,
            _ => Self::Other,
        }
    }
}

/// The requests of a connection that have no response yet, in order.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    kinds: VecDeque<RequestKind>,
    /// Whether the limit was exceeded, so that responses can no longer be matched to requests.
    overflowed: bool,
}

impl PendingRequests {
    pub(super) fn push(&mut self, kind: RequestKind) {
        if self.kinds.len() == MAX_PENDING_REQUESTS {
            *self = Self { kinds: VecDeque::new(), overflowed: true };
        }
        if !self.overflowed {
            self.kinds.push_back(kind);
        }
    }

    /// The kind of the request that the next response answers.
    pub(super) fn next_kind(&self) -> RequestKind {
        self.kinds.front().copied().unwrap_or_default()
    }

    /// Removes the answered request.
    pub(super) fn pop(&mut self) {
        self.kinds.pop_front();
    }

    /// Removes all requests except the last.
    pub(super) fn keep_last(&mut self) {
        let superfluous = self.kinds.len().saturating_sub(1);
        self.kinds.drain(..superfluous);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && !self.overflowed
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.kinds.capacity()
    }
}
