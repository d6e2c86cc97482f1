//! The requests that wait for their response.

use std::collections::VecDeque;

use crate::Request;

/// How many requests may wait.
const MAX_WAITING: usize = 4096;

/// What of a request says how its response ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Asked {
    /// HEAD: no body follows the response.
    Head,
    /// CONNECT: a tunnel follows it, if it agrees.
    Connect,
    #[default]
    Other,
}

impl Asked {
    fn of(request: &Request) -> Self {
        match request.method() {
            b"HEAD" => Self::Head,
            b"CONNECT" => Self::Connect,
            _ => Self::Other,
        }
    }
}

/// The requests of a connection that have no response yet, in order.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    waiting: VecDeque<Asked>,
    /// Too many have waited: which response is whose is not known any more.
    overflowed: bool,
}

impl Awaited {
    pub(super) fn push(&mut self, request: &Request) {
        if self.waiting.len() == MAX_WAITING {
            *self = Self { waiting: VecDeque::new(), overflowed: true };
        }
        if !self.overflowed {
            self.waiting.push_back(Asked::of(request));
        }
    }

    /// What the next response is to.
    pub(super) fn next(&self) -> Asked {
        self.waiting.front().copied().unwrap_or_default()
    }

    /// Notes that it has come.
    pub(super) fn answered(&mut self) {
        self.waiting.pop_front();
    }

    /// Forgets all but the last.
    pub(super) fn keep_last(&mut self) {
        let superfluous = self.waiting.len().saturating_sub(1);
        self.waiting.drain(..superfluous);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.overflowed
    }

    pub(super) fn held(&self) -> usize {
        self.waiting.capacity()
    }
}
