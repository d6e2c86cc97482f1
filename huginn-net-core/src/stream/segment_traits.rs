//! The properties of a segment that tell two segments for the same bytes apart.

use super::padded_ack::is_padded_ack;
use crate::{Segment, TcpFlags};

/// What a receiver, or a router before it, may judge a segment by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentTraits {
    pub(super) ttl: u8,
    pub(super) has_syn: bool,
    pub(super) has_ack: bool,
    pub(super) has_md5: bool,
    /// Whether its payload looks like Ethernet padding.
    pub(super) is_padded_ack: bool,
    has_timestamp: bool,
    /// 0 without one.
    timestamp: u32,
}

/// A step of a timestamp that no clock of 1 kHz makes within a few seconds (RFC 7323, section 5.4).
const MIN_TIMESTAMP_STEP: u32 = 10_000;

impl SegmentTraits {
    /// Reads the traits of a TCP segment; those of a datagram are the default.
    #[inline]
    pub(super) fn from_segment(segment: &Segment<'_>) -> Self {
        let Some(tcp) = segment.tcp() else { return Self::default() };
        let (timestamp, has_md5) = match tcp.options {
            [] => (None, false),
            [1, 1, 8, 10, a, b, c, d, ..] => (Some(u32::from_be_bytes([*a, *b, *c, *d])), false),
            options => read_options(options),
        };
        Self {
            ttl: segment.ip.ttl,
            has_syn: tcp.flags.contains(TcpFlags::SYN),
            has_ack: tcp.flags.contains(TcpFlags::ACK),
            has_md5,
            is_padded_ack: is_padded_ack(segment),
            has_timestamp: timestamp.is_some(),
            timestamp: timestamp.unwrap_or(0),
        }
    }

    /// Whether the timestamps of two segments are far apart.
    pub(super) fn is_much_older_or_newer(&self, other: &Self) -> bool {
        let (one, other_one) = (self.timestamp, other.timestamp);
        self.has_timestamp
            && other.has_timestamp
            && one.wrapping_sub(other_one).min(other_one.wrapping_sub(one)) > MIN_TIMESTAMP_STEP
    }
}

/// Returns the timestamp (RFC 7323, section 3.2), and whether there is an MD5 signature (RFC 2385, section 3.0).
fn read_options(mut options: &[u8]) -> (Option<u32>, bool) {
    let (mut timestamp, mut has_md5) = (None, false);
    loop {
        options = match options {
            [1, rest @ ..] => rest,
            [8, 10, a, b, c, d, rest @ ..] => {
                timestamp = Some(u32::from_be_bytes([*a, *b, *c, *d]));
                rest.get(4..).unwrap_or_default()
            }
            [kind, len, rest @ ..] if *kind > 1 && *len > 1 => {
                has_md5 |= *kind == 19;
                rest.get(usize::from(*len).saturating_sub(2)..).unwrap_or_default()
            }
            _ => return (timestamp, has_md5),
        };
    }
}
