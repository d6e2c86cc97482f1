//! What nearly every frame is: TCP in IP without options or extensions, whole, in Ethernet without tags. It takes a way
//! of its own, which is header_len_u16 enough to be inlined with what is done with the segment.

use super::ip::{self, Header, IpPacket, Ipv4, Ipv6, protocol};
use super::transport::{self, Datagram, Tcp};
use super::{ethernet, ethertype};
use crate::flow::SegmentMeta;
use crate::{FlowKey, Frame, LinkType, Segment, TcpFlags, Timestamp, TunnelPath};

/// The parts of such a frame.
#[derive(Clone, Copy)]
pub(crate) struct FastPath<'a, H = Ipv4<'a>> {
    ts: Timestamp,
    pub(super) packet: IpPacket<'a, H>,
    pub(super) datagram: Datagram<'a, Tcp<'a>>,
}

/// What a segment can be made of, once it is wanted.
pub(crate) trait LazySegment {
    /// What is looked at before the segment is made.
    fn meta(&self) -> SegmentMeta;

    /// The segment.
    fn segment(&self) -> Segment<'_>;
}

impl LazySegment for Segment<'_> {
    #[inline(always)]
    fn meta(&self) -> SegmentMeta {
        let flags = self.tcp().map_or(TcpFlags::empty(), |tcp| tcp.flags);
        let (key, sender_is_low) = FlowKey::from_segment(self);
        SegmentMeta { key, sender_is_low, ts: self.ts, flags }
    }

    #[inline(always)]
    fn segment(&self) -> Segment<'_> {
        *self
    }
}

impl<'a> FastPath<'a> {
    /// The parts of a frame, if it is such a one with IPv4.
    #[inline(always)]
    pub(crate) fn from_ipv4_frame(frame: &Frame<'a>) -> Option<Self> {
        let data = network(frame, ethertype::IPV4).filter(|data| data.first() == Some(&0x45))?;
        Self::from_packet(frame.ts, ip::ipv4(data).ok()?)
    }
}

impl<'a> FastPath<'a, Ipv6<'a>> {
    /// The parts of a frame, if it is such a one with IPv6.
    #[inline(always)]
    pub(crate) fn from_ipv6_frame(frame: &Frame<'a>) -> Option<Self> {
        let data = network(frame, ethertype::IPV6)
            .filter(|data| data.first().is_some_and(|first| first >> 4 == 6))?;
        Self::from_packet(frame.ts, ip::ipv6(data).ok()?)
    }
}

impl<'a, H: Header> FastPath<'a, H> {
    #[inline(always)]
    fn from_packet(ts: Timestamp, packet: IpPacket<'a, H>) -> Option<Self> {
        if packet.protocol != protocol::TCP || packet.fragment.is_some() {
            return None;
        }
        let datagram = transport::tcp(&packet).ok()?;
        Some(Self { ts, packet, datagram })
    }

    /// The key of its flow, and whether its sender is the low end of it.
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
        super::segment(self.ts, &self.packet, &self.datagram, &TunnelPath::EMPTY)
    }
}

/// What an Ethernet frame without tags holds, if it is of this ethertype.
#[inline(always)]
fn network<'a>(frame: &Frame<'a>, wanted: u16) -> Option<&'a [u8]> {
    let (header, data) = frame.data.split_first_chunk::<{ ethernet::HEADER }>()?;
    let [.., high, low] = *header;
    (frame.link == LinkType::ETHERNET && u16::from_be_bytes([high, low]) == wanted).then_some(data)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{DecodeConfig, Decoder};

    /// TCP in IPv4 or IPv6 in Ethernet, with so many bytes of options and payload.
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
    fn most_frames_are_usual() {
        let packet = frame(false, 12, 100);
        let frame_of =
            |data| Frame { ts: Timestamp::default(), link: LinkType::ETHERNET, data, wire_len: 200 };
        assert!(FastPath::from_ipv4_frame(&frame_of(&packet)).is_some());
        assert!(FastPath::from_ipv6_frame(&frame_of(&packet)).is_none());
        assert!(FastPath::from_ipv4_frame(&Frame { link: LinkType::RAW, ..frame_of(&packet) }).is_none());
        let packet = frame(true, 12, 100);
        assert!(FastPath::from_ipv6_frame(&frame_of(&packet)).is_some());
        assert!(FastPath::from_ipv4_frame(&frame_of(&packet)).is_none());
    }

    proptest! {
        /// The header_len_u16 way and the long way make the same of a frame, whatever is wrong with it.
        #[test]
        fn a_usual_frame_is_decoded_as_any_other(
            is_ipv6: bool,
            options in (0..11_usize).prop_map(|words| words * 4),
            payload in 0..80_usize,
            changes in prop::collection::vec((0..80_usize, any::<u8>()), 0..4),
            cut in 0..200_usize,
            padding in 0..9_usize,
        ) {
            let mut packet = frame(is_ipv6, options, payload);
            packet.resize(packet.len() + padding, 0);
            for (place, value) in changes {
                let place = place % packet.len();
                packet[place] = value;
            }
            let wire_len = packet.len() as u32;
            packet.truncate(packet.len().saturating_sub(cut.saturating_sub(150)));
            let frame = Frame { ts: Timestamp::new(1, 2, 6), link: LinkType::ETHERNET, data: &packet, wire_len };
            let told = |segment: &Segment<'_>| (format!("{segment:?}"), FlowKey::from_segment(segment).0);
            let (mut long, mut segments) = (decoder(), Vec::new());
            long.decode_slow(&frame, &mut |segment| segments.push(told(segment)));
            let mut counted = decoder();
            let tell = |fast: &dyn LazySegment| {
                let (segment, meta) = (fast.segment(), fast.meta());
                let flags = segment.tcp().map(|tcp| tcp.flags);
                let (key, sender_is_low) = FlowKey::from_segment(&segment);
                assert_eq!(meta, SegmentMeta { key, sender_is_low, ts: segment.ts, flags: flags.unwrap() });
                assert_eq!(meta, segment.meta());
                told(&segment)
            };
            let made = if let Some(fast) = FastPath::from_ipv4_frame(&frame) {
                let (mut header_len_u16, mut decoded) = (decoder(), Vec::new());
                header_len_u16.decode(&frame, &mut |segment| decoded.push(told(segment)));
                prop_assert_eq!(&decoded, &segments);
                prop_assert_eq!(header_len_u16.counters(), long.counters());
                counted.count(&fast);
                tell(&fast)
            } else if let Some(fast) = FastPath::from_ipv6_frame(&frame) {
                counted.count_without_ip_checksum(&fast);
                tell(&fast)
            } else {
                return Ok(());
            };
            prop_assert_eq!(vec![made], segments);
            prop_assert_eq!(counted.counters(), long.counters());
        }
    }
}
