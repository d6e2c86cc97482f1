//! The fast path of the decoder: an unfragmented TCP segment in IPv4 without options, or IPv6 without extension
//! headers, in an untagged Ethernet frame. The code is short enough to be inlined into the analysis of the segment.

use super::ip::{self, Header, IpPacket, Ipv4, Ipv6, protocol};
use super::transport::{self, Datagram, Tcp};
use super::{ethernet, ethertype};
use crate::flow::{FlowEnds, LazySegment, SegmentMeta};
use crate::{FlowKey, Frame, LinkType, Segment, Timestamp, TunnelPath};

/// The parsed headers of a frame that takes the fast path.
#[derive(Clone, Copy)]
pub(crate) struct FastPath<'a, H = Ipv4<'a>> {
    pub(super) ts: Timestamp,
    /// Number of the frame in the capture.
    number: u64,
    pub(super) packet: IpPacket<'a, H>,
    pub(super) datagram: Datagram<'a, Tcp<'a>>,
}

impl<'a> FastPath<'a> {
    /// Parses a frame if it takes the fast path with IPv4.
    #[inline(always)]
    pub(crate) fn from_ipv4_frame(frame: &Frame<'a>, number: u64) -> Option<Self> {
        Self::from_packet(frame.ts, number, ipv4_packet(frame)?)
    }
}

impl<'a> FastPath<'a, Ipv6<'a>> {
    /// Parses a frame if it takes the fast path with IPv6.
    #[inline(always)]
    pub(crate) fn from_ipv6_frame(frame: &Frame<'a>, number: u64) -> Option<Self> {
        let data = ethernet_payload(frame, ethertype::IPV6)
            .filter(|data| data.first().is_some_and(|first| first >> 4 == 6))?;
        Self::from_packet(frame.ts, number, ip::ipv6(data).ok()?)
    }
}

impl<'a, H: Header> FastPath<'a, H> {
    #[inline(always)]
    fn from_packet(ts: Timestamp, number: u64, packet: IpPacket<'a, H>) -> Option<Self> {
        if !has_whole_tcp(&packet) {
            return None;
        }
        let datagram = transport::tcp(&packet).ok()?;
        Some(Self { ts, number, packet, datagram })
    }

    /// Returns the flow key, and whether the sender is the low endpoint.
    #[inline(always)]
    pub(crate) fn key(&self) -> (FlowKey, bool) {
        FlowKey::from_tcp(self.packet.header.read().addresses, self.datagram.header.ports())
    }
}

impl<H: Header> LazySegment for FastPath<'_, H> {
    #[inline(always)]
    fn meta(&self) -> SegmentMeta {
        let (key, sender_is_low) = self.key();
        SegmentMeta { key, sender_is_low, ts: self.ts, flags: self.datagram.header.flags() }
    }

    #[inline(always)]
    fn segment(&self) -> Segment<'_> {
        super::segment((self.ts, self.number), &self.packet, &self.datagram, &TunnelPath::EMPTY)
    }
}

/// Returns the endpoints of the TCP segment in an unfragmented IPv4 packet without options, in an untagged Ethernet frame: less than the
/// [fast path](FastPath) reads. The frame may have no segment after all.
#[inline(always)]
pub(crate) fn plain_tcp_ends(frame: &Frame<'_>) -> Option<FlowEnds> {
    let packet = ipv4_packet(frame).filter(has_whole_tcp)?;
    let (source, destination) = packet.header.addresses();
    let [source_high, source_low, destination_high, destination_low] = *packet.payload.first_chunk()?;
    Some(FlowEnds::of_plain_tcp([
        (source, u16::from_be_bytes([source_high, source_low])),
        (destination, u16::from_be_bytes([destination_high, destination_low])),
    ]))
}

/// Returns the IPv4 packet without options of an untagged Ethernet frame.
#[inline(always)]
fn ipv4_packet<'a>(frame: &Frame<'a>) -> Option<IpPacket<'a, Ipv4<'a>>> {
    let data = ethernet_payload(frame, ethertype::IPV4).filter(|data| data.first() == Some(&0x45))?;
    ip::ipv4(data).ok()
}

/// Whether the payload of a packet is TCP, and no fragment.
#[inline(always)]
fn has_whole_tcp<H>(packet: &IpPacket<'_, H>) -> bool {
    packet.protocol == protocol::TCP && packet.fragment.is_none()
}

/// Returns the payload of an untagged Ethernet frame with this ethertype.
#[inline(always)]
fn ethernet_payload<'a>(frame: &Frame<'a>, wanted: u16) -> Option<&'a [u8]> {
    let (header, data) = frame.data.split_first_chunk::<{ ethernet::HEADER }>()?;
    let [.., high, low] = *header;
    (frame.link == LinkType::ETHERNET && u16::from_be_bytes([high, low]) == wanted).then_some(data)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flow::FlowPartitions;
    use crate::{DecodeConfig, Decoder, FlowLimits};

    /// Builds an Ethernet frame with a TCP segment that has this many bytes of options and payload.
    fn frame(is_ipv6: bool, options: usize, payload: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        let [high, low] = ((20 + options + payload) as u16).to_be_bytes();
        if is_ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0x12, 0x34, 0x56, high, low, 6, 64]);
            frame.extend((0..32).map(|n| n * 7));
        } else {
            let [high, low] = ((40 + options + payload) as u16).to_be_bytes();
            frame.extend([8, 0, 0x45, 0, high, low, 0, 7, 0x40, 0, 64, 6, 0, 0]);
            frame.extend([192, 0, 2, 1, 198, 51, 100, 2]);
        }
        frame.extend([0xc0, 0, 1, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, (5 + options as u8 / 4) << 4, 0x18]);
        frame.extend([1, 0, 0, 0, 0, 0]);
        frame.extend((0..options + payload).map(|n| n as u8));
        frame
    }

    fn decoder() -> Decoder {
        Decoder::new(DecodeConfig { verify_checksums: true, ..DecodeConfig::default() })
    }

    #[test]
    fn fast_path_accepts_plain_tcp() {
        let packet = frame(false, 12, 100);
        let frame_of =
            |data| Frame { ts: Timestamp::default(), link: LinkType::ETHERNET, data, wire_len: 200 };
        assert!(FastPath::from_ipv4_frame(&frame_of(&packet), 1).is_some());
        assert!(FastPath::from_ipv6_frame(&frame_of(&packet), 1).is_none());
        assert!(FastPath::from_ipv4_frame(&Frame { link: LinkType::RAW, ..frame_of(&packet) }, 1).is_none());
        let packet = frame(true, 12, 100);
        assert!(FastPath::from_ipv6_frame(&frame_of(&packet), 1).is_some());
        assert!(FastPath::from_ipv4_frame(&frame_of(&packet), 1).is_none());
    }

    proptest! {
        /// The fast path and the slow path give the same result for any frame, damaged ones included, and the endpoints of a plain
        /// segment are in the partition of its flow.
        #[test]
        fn fast_path_equals_slow_path(
            is_ipv6: bool,
            options in (0..11_usize).prop_map(|words| words * 4),
            payload in 0..80_usize,
            changes in prop::collection::vec((0..80_usize, any::<u8>()), 0..4),
            cut in 0..200_usize,
            padding in 0..9_usize,
            seed: u64,
        ) {
            let mut packet = frame(is_ipv6, options, payload);
            packet.resize(packet.len() + padding, 0);
            for (index, value) in changes {
                let index = index % packet.len();
                packet[index] = value;
            }
            let wire_len = packet.len() as u32;
            packet.truncate(packet.len().saturating_sub(cut.saturating_sub(150)));
            let frame = Frame { ts: Timestamp::new(1, 2, 6), link: LinkType::ETHERNET, data: &packet, wire_len };
            let describe = |segment: &Segment<'_>| (format!("{segment:?}"), FlowKey::from_segment(segment).0);
            let (mut slow, mut segments) = (decoder(), Vec::new());
            slow.advance(&frame, 1);
            slow.decode_slow(&frame, &mut |segment| segments.push(describe(segment)));
            let partitions = FlowPartitions::new(&FlowLimits::default(), seed);
            match plain_tcp_ends(&frame).map(|ends| partitions.index_of(ends)) {
                Some(index) => {
                    prop_assert!(segments.iter().all(|(_, key)| partitions.index_of(key) == index));
                }
                None => prop_assert!(FastPath::from_ipv4_frame(&frame, 1).is_none()),
            }
            let mut counted = decoder();
            let check = |fast: &dyn LazySegment| {
                let (segment, meta) = (fast.segment(), fast.meta());
                let flags = segment.tcp().map(|tcp| tcp.flags);
                let (key, sender_is_low) = FlowKey::from_segment(&segment);
                assert_eq!(meta, SegmentMeta { key, sender_is_low, ts: segment.ts, flags: flags.unwrap() });
                assert_eq!(meta, segment.meta());
                describe(&segment)
            };
            let from_fast_path = if let Some(fast) = FastPath::from_ipv4_frame(&frame, 1) {
                let (mut decoder, mut decoded) = (decoder(), Vec::new());
                decoder.decode(&frame, &mut |segment| decoded.push(describe(segment)));
                prop_assert_eq!(&decoded, &segments);
                prop_assert_eq!(decoder.counters(), slow.counters());
                counted.count(&fast);
                check(&fast)
            } else if let Some(fast) = FastPath::from_ipv6_frame(&frame, 1) {
                counted.count_without_ip_checksum(&fast);
                check(&fast)
            } else {
                return Ok(());
            };
            prop_assert_eq!(vec![from_fast_path], segments);
            prop_assert_eq!(counted.counters(), slow.counters());
        }
    }
}
