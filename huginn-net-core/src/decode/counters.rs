//! Counters of the decoder.

use super::numbers::{ProtocolNumber, Registry};
use crate::limits::MAX_PROTOCOL_COUNTS;
use crate::{Tally, tally};

/// Counters of the decoder: one outcome per packet, and additional observations.
///
/// Each packet has exactly one outcome. A packet is a frame, or one of several in an 802.11 aggregate (A-MSDU). So
/// `frames + aggregated` always equals the sum of `tcp`, `udp`, `fragments_buffered` and the fields from `arp` to
/// `bad_fragment`. The other fields count packets that have such an outcome as well.
///
/// Every datagram with a buffered fragment ends as `reassembled`, `fragment_timeouts`, `fragment_evictions` or
/// `fragment_leftovers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DecodeCounters {
    /// Frames decoded.
    pub frames: u64,
    /// Packets after the first one of an aggregate, and second versions of datagrams whose fragments contradict each
    /// other.
    pub aggregated: u64,

    /// TCP segments emitted.
    pub tcp: u64,
    /// UDP datagrams emitted.
    pub udp: u64,
    /// Fragments that did not complete their datagram.
    pub fragments_buffered: u64,

    /// ARP and reverse ARP.
    pub arp: u64,
    /// ICMP and ICMPv6.
    pub icmp: u64,
    /// IP protocols that are neither TCP nor UDP nor a known tunnel.
    pub other_transport: u64,
    /// Network protocols other than IP: an unknown ethertype, LLC address, address family or PPP protocol.
    pub unknown_ethertype: u64,
    /// Frames of an unknown link type.
    pub unknown_link: u64,
    /// Management, control and keep-alive frames of a link or tunnel, which carry no packet.
    pub not_data: u64,
    /// Encrypted below the transport layer: protected 802.11 frames, ESP, MACsec.
    pub encrypted: u64,
    /// Link-layer fragments (802.11, CAPWAP), which the decoder does not reassemble.
    pub link_fragment: u64,
    /// Packets with more tags, tunnels or headers than the decoder follows.
    pub too_deep: u64,
    /// Headers cut by the snap length.
    pub truncated_snaplen: u64,
    /// Headers that are invalid or do not fit in their packet.
    pub bad_header: u64,
    /// Fragments that are invalid or contradict others of their datagram.
    pub bad_fragment: u64,

    /// Segments whose payload the snap length cut.
    pub truncated_payload: u64,
    /// IPv4 headers with a wrong checksum, in tunnels too.
    pub bad_ip_checksum: u64,
    /// Segments with a wrong TCP or UDP checksum; 0 unless [`DecodeConfig::verify_checksums`] is set.
    ///
    /// [`DecodeConfig::verify_checksums`]: crate::DecodeConfig::verify_checksums
    pub bad_transport_checksum: u64,
    /// Datagrams reassembled from fragments.
    pub reassembled: u64,
    /// Reassembled datagrams whose fragments overlap with different content. Both versions are emitted.
    pub fragment_conflicts: u64,
    /// Datagrams discarded at the reassembly timeout.
    pub fragment_timeouts: u64,
    /// Datagrams evicted at the limit of incomplete datagrams or of their memory.
    pub fragment_evictions: u64,
    /// Datagrams still incomplete at the end of the capture.
    pub fragment_leftovers: u64,
    /// The protocols that `other_transport`, `unknown_ethertype`, `unknown_link`, `not_data` and `encrypted` counted, in
    /// the order of their first packets; at most 32. A counter exceeds the sum of its protocols if there were more.
    pub protocols: Vec<ProtocolCount>,
}

/// Number of packets of a protocol that was not analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProtocolCount {
    /// Name of the counter in [`DecodeCounters`] that includes these packets.
    pub counter: &'static str,
    /// The protocol.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub protocol: ProtocolNumber,
    /// Its name, if it is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<&'static str>,
    /// Number of packets.
    pub count: u64,
}

/// Why a packet yields no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// A header extends beyond the available bytes.
    Short,
    BadHeader,
    Arp,
    Icmp,
    OtherTransport(ProtocolNumber),
    UnknownEthertype(ProtocolNumber),
    UnknownLink(ProtocolNumber),
    NotData(ProtocolNumber),
    Encrypted(ProtocolNumber),
    LinkFragment,
    TooDeep,
    BadFragment,
    FragmentBuffered,
}

impl SkipReason {
    /// A network protocol that is not decoded.
    pub(super) fn unknown(registry: Registry, number: impl Into<u32>) -> Self {
        Self::UnknownEthertype(ProtocolNumber::new(registry, number))
    }

    /// A link type that is not decoded.
    pub(super) fn unknown_link(number: u16) -> Self {
        Self::UnknownLink(ProtocolNumber::new(Registry::LinkType, number))
    }

    /// A packet of the protocol itself, without a payload.
    pub(super) fn not_data(registry: Registry, number: impl Into<u32>) -> Self {
        Self::NotData(ProtocolNumber::new(registry, number))
    }

    /// The protocol that was not analysed.
    fn protocol(self) -> Option<ProtocolNumber> {
        match self {
            Self::OtherTransport(protocol)
            | Self::UnknownEthertype(protocol)
            | Self::UnknownLink(protocol)
            | Self::NotData(protocol)
            | Self::Encrypted(protocol) => Some(protocol),
            _ => None,
        }
    }
}

impl DecodeCounters {
    /// Creates counters with memory for all protocols, so that counting does not allocate.
    pub(super) fn with_capacity() -> Self {
        Self { protocols: Vec::with_capacity(MAX_PROTOCOL_COUNTS), ..Self::default() }
    }

    /// Counts a packet without a segment. `cut`: whether the snap length cut its frame.
    ///
    /// Returns the name of the counter if the packet was not analysed.
    #[cold]
    pub(super) fn count_skipped(&mut self, stop: SkipReason, cut: bool) -> Option<&'static str> {
        let (counter, name) = match stop {
            SkipReason::Short if cut => (&mut self.truncated_snaplen, Some("truncated_snaplen")),
            SkipReason::Short | SkipReason::BadHeader => (&mut self.bad_header, Some("bad_header")),
            SkipReason::Arp => (&mut self.arp, None),
            SkipReason::Icmp => (&mut self.icmp, None),
            SkipReason::OtherTransport(_) => (&mut self.other_transport, Some("other_transport")),
            SkipReason::UnknownEthertype(_) => (&mut self.unknown_ethertype, Some("unknown_ethertype")),
            SkipReason::UnknownLink(_) => (&mut self.unknown_link, Some("unknown_link")),
            SkipReason::NotData(_) => (&mut self.not_data, Some("not_data")),
            SkipReason::Encrypted(_) => (&mut self.encrypted, Some("encrypted")),
            SkipReason::LinkFragment => (&mut self.link_fragment, Some("link_fragment")),
            SkipReason::TooDeep => (&mut self.too_deep, Some("too_deep")),
            SkipReason::BadFragment => (&mut self.bad_fragment, Some("bad_fragment")),
            SkipReason::FragmentBuffered => (&mut self.fragments_buffered, None),
        };
        add(counter, 1);
        if let (Some(counter), Some(protocol)) = (name, stop.protocol()) {
            count_protocol(&mut self.protocols, counter, protocol, 1);
        }
        name
    }
}

tally!(DecodeCounters {
    frames,
    aggregated,
    tcp,
    udp,
    fragments_buffered,
    arp,
    icmp,
    other_transport,
    unknown_ethertype,
    unknown_link,
    not_data,
    encrypted,
    link_fragment,
    too_deep,
    truncated_snaplen,
    bad_header,
    bad_fragment,
    truncated_payload,
    bad_ip_checksum,
    bad_transport_checksum,
    reassembled,
    fragment_conflicts,
    fragment_timeouts,
    fragment_evictions,
    fragment_leftovers,
    protocols,
});

impl Tally for Vec<ProtocolCount> {
    fn add(&mut self, other: &Self) {
        for ProtocolCount { counter, protocol, count, .. } in other {
            count_protocol(self, counter, *protocol, *count);
        }
    }
}

fn count_protocol(
    protocols: &mut Vec<ProtocolCount>,
    counter: &'static str,
    protocol: ProtocolNumber,
    count: u64,
) {
    let is_full = protocols.len() >= MAX_PROTOCOL_COUNTS;
    match protocols.iter_mut().find(|known| known.protocol == protocol && known.counter == counter) {
        Some(known) => add(&mut known.count, count),
        None if is_full => {}
        None => protocols.push(ProtocolCount { counter, protocol, name: protocol.name(), count }),
    }
}

/// Adds to a counter.
#[inline]
pub(super) fn add(counter: &mut u64, count: u64) {
    *counter = counter.wrapping_add(count);
}
