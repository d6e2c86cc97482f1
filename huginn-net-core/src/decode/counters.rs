//! What became of the frames.

/// What decode made of every frame, and what it noticed on the way.
///
/// Each packet ends in exactly one place. A packet is a frame, or one of several that an 802.11 frame carries
/// (A-MSDU). So, at any time, `frames + aggregated` is the sum of `tcp`, `udp`, `fragments_buffered` and the fields
/// from `arp` to `bad_fragment`. The other fields are notes: what they count is counted above as well.
///
/// Every datagram of which a fragment was held is in the end `reassembled`, or one of `fragment_timeouts`,
/// `fragment_evictions` and `fragment_leftovers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DecodeCounters {
    /// Frames taken.
    pub frames: u64,
    /// Packets beyond the first of frames that carry several.
    pub aggregated: u64,

    /// TCP segments handed on.
    pub tcp: u64,
    /// UDP datagrams handed on.
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
    /// Frames of a link type that is not known.
    pub unknown_link: u64,
    /// Management, control and keep-alive frames of a link or tunnel, which carry no packet.
    pub not_data: u64,
    /// Encrypted below the transport layer: protected 802.11 frames, ESP.
    pub encrypted: u64,
    /// Parts of a packet that a link or tunnel cut up on its own (802.11, CAPWAP): they are not put together.
    pub link_fragment: u64,
    /// More tags and tunnels, or headers in all, than are followed.
    pub too_deep: u64,
    /// The capture's snap length cut a header.
    pub truncated_snaplen: u64,
    /// A header that contradicts itself or does not fit in its packet.
    pub bad_header: u64,
    /// Fragments that cannot be part of any datagram, or contradict those of theirs.
    pub bad_fragment: u64,

    /// Segments whose payload the snap length cut.
    pub truncated_payload: u64,
    /// IPv4 headers with a wrong checksum, in tunnels too.
    pub bad_ip_checksum: u64,
    /// Segments with a wrong TCP or UDP checksum; 0 unless [`DecodeConfig::verify_checksums`] is set.
    ///
    /// [`DecodeConfig::verify_checksums`]: crate::DecodeConfig::verify_checksums
    pub bad_transport_checksum: u64,
    /// Datagrams put together from fragments.
    pub reassembled: u64,
    /// Datagrams given up because their fragments did not come in time.
    pub fragment_timeouts: u64,
    /// Datagrams given up because too many were incomplete.
    pub fragment_evictions: u64,
    /// Datagrams that were incomplete at the end of the capture.
    pub fragment_leftovers: u64,
}

/// Why a packet gives no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// A header does not fit in what there is.
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
    /// Counts a packet that gives no segment. `cut`: whether the snap length cut its frame.
    #[cold]
    pub(super) fn count_skipped(&mut self, stop: SkipReason, cut: bool) {
        let counter = match stop {
            SkipReason::Short if cut => &mut self.truncated_snaplen,
            SkipReason::Short | SkipReason::BadHeader => &mut self.bad_header,
            SkipReason::Arp => &mut self.arp,
            SkipReason::Icmp => &mut self.icmp,
            SkipReason::OtherTransport => &mut self.other_transport,
            SkipReason::UnknownEthertype => &mut self.unknown_ethertype,
            SkipReason::UnknownLink => &mut self.unknown_link,
            SkipReason::NotData => &mut self.not_data,
            SkipReason::Encrypted => &mut self.encrypted,
            SkipReason::LinkFragment => &mut self.link_fragment,
            SkipReason::TooDeep => &mut self.too_deep,
            SkipReason::BadFragment => &mut self.bad_fragment,
            SkipReason::FragmentBuffered => &mut self.fragments_buffered,
        };
        add(counter, 1);
    }
}

/// Adds to a counter.
#[inline]
pub(super) fn add(counter: &mut u64, count: u64) {
    *counter = counter.wrapping_add(count);
}
