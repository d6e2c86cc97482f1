//! Counters of HTTP/1 errors.

#[cfg(feature = "packets")]
use huginn_net_core::tally;

use crate::Role;

/// Counters of HTTP/1 errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Http1Counters {
    /// Heads longer than [`MAX_HEAD`](super::MAX_HEAD), which are reported cut, or not if their first line is as long.
    pub heads_too_long: u64,
    /// Heads with more fields than [`MAX_HEADERS`](super::MAX_HEADERS), which are reported cut.
    pub heads_with_too_many_headers: u64,
    /// Requests with a first line that could not be parsed.
    pub requests_unreadable: u64,
    /// Responses with a first line that could not be parsed.
    pub responses_unreadable: u64,
    /// Number of times that the start of the next head became unknown for another reason.
    pub times_lost: u64,
}

#[cfg(feature = "packets")]
tally!(Http1Counters {
    heads_too_long,
    heads_with_too_many_headers,
    requests_unreadable,
    responses_unreadable,
    times_lost
});

impl Http1Counters {
    pub(super) fn count_unreadable(&mut self, role: Role) {
        let count = match role {
            Role::Request => &mut self.requests_unreadable,
            Role::Response => &mut self.responses_unreadable,
        };
        *count = count.saturating_add(1);
    }

    pub(super) fn count_cut(&mut self, is_cut: bool, is_too_long: bool) {
        let count =
            if is_too_long { &mut self.heads_too_long } else { &mut self.heads_with_too_many_headers };
        *count = count.saturating_add(u64::from(is_cut));
    }
}
