//! Counters of the decoder.

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
    /// Packets after the first one of an aggregate.
    pub aggregated: u64,

    /// TCP segments emitted.
    pub tcp: u64,
    /// UDP datagrams emitted.
    pub udp: u64,
    /// Fragments that did not complete their datagram.
    #[cfg_attr(feature = "serde", serde(rename = "fragments_held"))]
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
    /// Encrypted below the transport layer: protected 802.11 frames, ESP.
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
    /// Datagrams discarded at the reassembly timeout.
    pub fragment_timeouts: u64,
    /// Datagrams evicted at the limit of incomplete datagrams or of their memory.
    pub fragment_evictions: u64,
    /// Datagrams still incomplete at the end of the capture.
    pub fragment_leftovers: u64,
}

/// Why a packet yields no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// A header extends beyond the available bytes.
    Short,
    BadHeader,
    Arp,
    Icmp,
    OtherTransport,
    UnknownEthertype,
    UnknownLink,
    NotData,
    Encrypted,
    LinkFragment,
    TooDeep,
    BadFragment,
    FragmentBuffered,
}

impl DecodeCounters {
    /// Counts a packet without a segment. `cut`: whether the snap length cut its frame.
    ///
    /// Returns the name of the counter if the decoder could not read the packet.
    #[cold]
    pub(super) fn count_skipped(&mut self, stop: SkipReason, cut: bool) -> Option<&'static str> {
        let (counter, name) = match stop {
            SkipReason::Short if cut => (&mut self.truncated_snaplen, Some("truncated_snaplen")),
            SkipReason::Short | SkipReason::BadHeader => (&mut self.bad_header, Some("bad_header")),
            SkipReason::Arp => (&mut self.arp, None),
            SkipReason::Icmp => (&mut self.icmp, None),
            SkipReason::OtherTransport => (&mut self.other_transport, None),
            SkipReason::UnknownEthertype => (&mut self.unknown_ethertype, Some("unknown_ethertype")),
            SkipReason::UnknownLink => (&mut self.unknown_link, Some("unknown_link")),
            SkipReason::NotData => (&mut self.not_data, None),
            SkipReason::Encrypted => (&mut self.encrypted, Some("encrypted")),
            SkipReason::LinkFragment => (&mut self.link_fragment, Some("link_fragment")),
            SkipReason::TooDeep => (&mut self.too_deep, Some("too_deep")),
            SkipReason::BadFragment => (&mut self.bad_fragment, Some("bad_fragment")),
            SkipReason::FragmentBuffered => (&mut self.fragments_buffered, None),
        };
        add(counter, 1);
        name
    }
}

/// Adds to a counter.
#[inline]
pub(super) fn add(counter: &mut u64, count: u64) {
    *counter = counter.wrapping_add(count);
}
