//! What a capture does not show, or what the analysis could not use.
//!
//! ```
//! use huginn_net::blind_spots::BlindSpot;
//! use huginn_net::{CaptureReader, Event, HuginnNet};
//!
//! let mut analyzer = HuginnNet::builder().build();
//! // A capture header (version 2.4, snap length 262144) with the unknown link type 999, and a frame of one byte.
//! let capture = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 262_144, 999, 0, 0, 1, 1].map(u32::to_be_bytes).concat();
//! let reader = CaptureReader::from_reader("example", std::io::Cursor::new([&*capture, b"x"].concat()))?;
//! analyzer.analyze(reader, &mut |_: Event| {})?;
//! let spots = BlindSpot::of_analyzer(&analyzer);
//! assert_eq!(spots[0].to_string(), "1 frame of an unknown link type: 1 of link type 999");
//! assert_eq!(spots[0].example.as_ref().and_then(|example| example.frame), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use huginn_net_core::{Amount, Analyzer, Counters, Example, Protocol, ProtocolCount, Tally};

use crate::hosts::{HostCounters, Hosts};
use crate::observers::{Count, Observers, of_protocols, sum};

/// A kind of packets, flows or messages that the analysis did not see or could not use, with their number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlindSpot {
    /// The name, such as `unknown_link`.
    pub name: &'static str,
    /// Their number, at least 1.
    pub count: u64,
    /// What they are, such as `frame(s) of an unknown link type`; [`Amount`] writes it.
    pub meaning: &'static str,
    /// The protocols that were not analysed, most frequent first; empty if the kind has none.
    pub protocols: Vec<ProtocolCount>,
    /// The earliest of them, if it is known.
    pub example: Option<Example>,
}

impl BlindSpot {
    /// Returns the blind spots of an analysis, in a fixed order: first those below IP.
    pub fn of_analyzer<P: Protocol<SharedState = Hosts> + AsRef<Observers>>(
        analyzer: &Analyzer<P>,
    ) -> Vec<Self> {
        let mut examples = analyzer.examples();
        examples.merge(analyzer.protocol().as_ref().examples());
        let counters = analyzer.counters();
        let mut by_protocols = analyzer.protocol().as_ref().counters();
        by_protocols.events_suppressed.add(&analyzer.shared_state().events_suppressed());
        let hosts = analyzer.shared_state();
        let engine = of_engine(&counters, &hosts.counters(), hosts.findings().baseline_left_out);
        let spots = engine.into_iter().chain(of_protocols(&by_protocols));
        let spots = spots.filter(|(_, count, _)| *count > 0);
        let spots = spots.map(|(name, count, meaning)| Self {
            name,
            count,
            meaning,
            protocols: protocols(&counters, name),
            example: examples.get(name).cloned(),
        });
        spots.collect()
    }
}

/// Returns the protocols that a counter of the decoder counted, most frequent first.
fn protocols(counters: &Counters, name: &str) -> Vec<ProtocolCount> {
    let counts = counters.decode.protocols.iter().filter(|protocol| protocol.counter == name);
    let mut counts: Vec<ProtocolCount> = counts.cloned().collect();
    counts.sort_by_key(|protocol| std::cmp::Reverse(protocol.count));
    counts
}

/// Writes number, meaning and protocols: `3 frames of an unknown link type: 3 of USB (link type 189)`.
impl fmt::Display for BlindSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Amount(self.count, self.meaning), ProtocolList(&self.protocols))
    }
}

/// A list of protocols as text, which starts with a colon: `: 8 of IPComp (IP protocol 108), 2 of ...`. At most five are
/// named.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolList<'a>(pub &'a [ProtocolCount]);

impl fmt::Display for ProtocolList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_NAMED: usize = 5;
        for (n, ProtocolCount { protocol, count, .. }) in self.0.iter().take(MAX_NAMED).enumerate() {
            write!(f, "{} {count} of {protocol}", if n == 0 { ":" } else { "," })?;
        }
        if self.0.len() > MAX_NAMED { f.write_str(" and others") } else { Ok(()) }
    }
}

/// Name, number and meaning of the kinds that the engine counts, of evicted hosts, and of baselines.
fn of_engine(counters: &Counters, hosts: &HostCounters, baseline_left_out: u64) -> [Count; 26] {
    let Counters { decode, flows, .. } = counters;
    [
        ("unknown_link", decode.unknown_link, "frame(s) of an unknown link type"),
        ("unknown_ethertype", decode.unknown_ethertype, "packet(s) of a network protocol other than IP"),
        ("other_transport", decode.other_transport, "packet(s) of an IP protocol that is not decoded"),
        ("not_data", decode.not_data, "management, control or keep-alive packet(s) of a link or tunnel"),
        ("encrypted", decode.encrypted, "packet(s) encrypted below TCP and UDP (802.11, ESP, MACsec)"),
        ("link_fragment", decode.link_fragment, "fragment(s) of the link layer (802.11, CAPWAP)"),
        ("too_deep", decode.too_deep, "packet(s) with too many tags or tunnels"),
        ("truncated_snaplen", decode.truncated_snaplen, "packet(s) whose headers the snap length cut"),
        ("truncated_payload", decode.truncated_payload, "packet(s) whose payload the snap length cut"),
        ("bad_header", decode.bad_header, "packet(s) with an invalid header"),
        ("bad_fragment", decode.bad_fragment, "invalid or contradicting IP fragment(s)"),
        (
            "fragment_timeouts",
            decode.fragment_timeouts,
            "datagram(s) whose IP fragments did not all come in time",
        ),
        ("fragment_evictions", decode.fragment_evictions, "fragmented datagram(s) evicted at the limits"),
        (
            "fragment_leftovers",
            decode.fragment_leftovers,
            "fragmented datagram(s) incomplete at the end of the capture",
        ),
        (
            "fragment_conflicts",
            decode.fragment_conflicts,
            "datagram(s) whose IP fragments overlap with different content",
        ),
        ("bad_ip_checksum", decode.bad_ip_checksum, "IP header(s) with a wrong checksum"),
        (
            "bad_transport_checksum",
            decode.bad_transport_checksum,
            "TCP or UDP segment(s) with a wrong checksum",
        ),
        ("time_steps_back", counters.time_steps_back, "frame(s) with a time before that of an earlier one"),
        (
            "time_steps_ahead",
            counters.time_steps_ahead,
            "frame(s) more than the idle timeout after the one before: a pause, or a wrong clock",
        ),
        ("segments_dropped", counters.segments_dropped, "segment(s) that a slow worker dropped"),
        (
            "segments_without_flow",
            counters.segments_without_flow,
            "segment(s) that no followed connection has: it began before the capture, was idle too long, or has a protocol that is not read",
        ),
        ("midstream", flows.midstream, "connection(s) that began before the capture"),
        (
            "one_direction",
            flows.opened.saturating_sub(flows.bidirectional),
            "flow(s) with packets of one side only",
        ),
        ("evicted", sum(&[flows.evicted, flows.evicted_for_memory]), "flow(s) evicted from a full table"),
        (
            "hosts_evicted",
            sum(&[hosts.evicted, hosts.evicted_for_memory]),
            "host(s) evicted from a full table",
        ),
        (
            "baseline_left_out",
            baseline_left_out,
            "value(s) that a full baseline had no room for: new ones may not be reported",
        ),
    ]
}
