//! Segments that belong to no connection: those of scans with other flags than SYN, and the answers to them.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use huginn_net_core::{Segment, TcpFlags, TcpHeader, Timestamp};

use crate::hosts::StrayKind;

/// Largest window of a segment with ACK that a scanner makes: that of older versions of Nmap.
const MAX_PROBE_WINDOW: u16 = 4096;

/// Segments between two endpoints in a minute that belong to no connection and are passed on: a scanner repeats a probe once.
const MAX_STRAYS_PER_PAIR: u32 = 3;

/// The time in which they count, in nanoseconds.
const STRAY_PERIOD_NANOS: u64 = 60_000_000_000;

/// Number of pairs of endpoints whose segments are counted, a power of two: 64 KiB for each worker.
const STRAY_PAIRS: usize = 1 << 12;

/// Passes on the first few segments of each kind between two endpoints in a minute.
///
/// What follows in the minute changes nothing: an endpoint that sends more does not probe. So it does not matter which pairs the
/// table still has.
#[derive(Clone, Debug, Default)]
pub(super) struct Strays {
    /// Empty before the first segment: most captures have none.
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    hash: u64,
    minute: u32,
    segments: u32,
}

impl Strays {
    /// Returns the kind of a segment that may probe an endpoint, or answer a probe.
    pub(super) fn on_segment(&mut self, segment: &Segment<'_>) -> Option<StrayKind> {
        let tcp = segment.tcp()?;
        let kind = kind(tcp).filter(|_| segment.payload.is_empty() && segment.payload_missing == 0)?;
        let endpoints = (segment.source(), segment.destination(), segment.tunnel.key_word(), kind);
        self.admits(FixedState::default().hash_one(endpoints), segment.ts).then_some(kind)
    }

    fn admits(&mut self, hash: u64, ts: Timestamp) -> bool {
        self.pairs.resize(STRAY_PAIRS, Pair::default());
        let index = usize::try_from(hash).unwrap_or_default() & STRAY_PAIRS.saturating_sub(1);
        let Some(pair) = self.pairs.get_mut(index) else { return false };
        let minute = u32::try_from(ts.as_nanos() / STRAY_PERIOD_NANOS).unwrap_or(u32::MAX);
        if (pair.hash, pair.minute) != (hash, minute) {
            *pair = Pair { hash, minute, segments: 0 };
        }
        pair.segments = pair.segments.saturating_add(1);
        pair.segments <= MAX_STRAYS_PER_PAIR
    }
}

/// The kind of a segment without payload.
///
/// Every segment after a SYN has ACK (RFC 9293, section 3.10.7.4), so that those without it are probes. Segments with ACK are
/// probes only if they look like those of Nmap: no options, a small window, and a source port above that of the target.
fn kind(tcp: &TcpHeader<'_>) -> Option<StrayKind> {
    const ECN: TcpFlags = TcpFlags::ECE.union(TcpFlags::CWR).union(TcpFlags::NS);
    let is_made = || tcp.options.is_empty() && tcp.window <= MAX_PROBE_WINDOW && tcp.src_port > tcp.dst_port;
    let flags = tcp.flags.difference(ECN);
    if flags == TcpFlags::FIN {
        Some(StrayKind::Fin)
    } else if flags.is_empty() {
        Some(StrayKind::Null)
    } else if flags == TcpFlags::FIN | TcpFlags::PSH | TcpFlags::URG {
        Some(StrayKind::Xmas)
    } else if flags.difference(TcpFlags::ACK) == TcpFlags::RST {
        Some(StrayKind::Reset)
    } else if flags == TcpFlags::ACK && is_made() {
        Some(StrayKind::Ack)
    } else if flags == TcpFlags::FIN | TcpFlags::ACK && is_made() {
        Some(StrayKind::Maimon)
    } else {
        None
    }
}
