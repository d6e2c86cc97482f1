//! What nearly every frame is: TCP in IPv4 without options, whole, in Ethernet without tags. It takes a way of its own,
//! which is short enough to be inlined with what is done with the segment.

use super::ip::{self, Header as _, IpPacket, Ipv4, protocol};
use super::transport::{self, Datagram, Header as _, Tcp};
use super::{ethernet, ethertype};
use crate::{FlowKey, Frame, LinkType, Segment, Timestamp, TunnelPath};

/// The parts of such a frame.
#[derive(Clone, Copy)]
pub(crate) struct Usual<'a> {
    pub(super) packet: IpPacket<'a, Ipv4<'a>>,
    pub(super) datagram: Datagram<'a, Tcp<'a>>,
}

/// Its headers, without the options: what is small enough to be handed to another thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedHeaders {
    ip: [u8; ip::IPV4_HEADER],
    tcp: [u8; transport::TCP_HEADER],
}

impl<'a> Usual<'a> {
    /// The parts of a frame, if it is such a one.
    #[inline(always)]
    pub(crate) fn of(frame: &Frame<'a>) -> Option<Self> {
        let (header, data) = frame.data.split_first_chunk::<{ ethernet::HEADER }>()?;
        let [.., high, low] = *header;
        let is_ipv4 = u16::from_be_bytes([high, low]) == ethertype::IPV4 && data.first() == Some(&0x45);
        if frame.link != LinkType::ETHERNET || !is_ipv4 {
            return None;
        }
        let packet = ip::ipv4(data).ok()?;
        if packet.protocol != protocol::TCP || packet.fragment.is_some() {
            return None;
        }
        let datagram = transport::tcp(&packet).ok()?;
        Some(Self { packet, datagram })
    }

    /// The key of its flow, and whether its sender is the low end of it.
    #[inline(always)]
    pub(crate) fn key(&self) -> (FlowKey, bool) {
        FlowKey::of_tcp(self.packet.header.ends(), self.datagram.header.ports())
    }

    /// Its segment.
    #[inline(always)]
    pub(crate) fn segment(&self, ts: Timestamp) -> Segment<'a> {
        super::segment(ts, &self.packet, &self.datagram, &TunnelPath::EMPTY)
    }

    #[inline(always)]
    pub(crate) fn headers(&self) -> FixedHeaders {
        FixedHeaders { ip: self.packet.header.fixed(), tcp: self.datagram.header.fixed() }
    }

    pub(crate) fn options(&self) -> &'a [u8] {
        self.datagram.header.options()
    }

    pub(crate) fn payload(&self) -> &'a [u8] {
        self.datagram.payload
    }

    pub(crate) fn payload_missing(&self) -> u32 {
        self.datagram.missing
    }
}

impl FixedHeaders {
    /// The segment of which these are the headers.
    #[inline(always)]
    pub(crate) fn segment<'a>(
        &'a self,
        ts: Timestamp,
        options: &'a [u8],
        payload: &'a [u8],
        payload_missing: u32,
    ) -> Segment<'a> {
        Segment {
            ts,
            ip: Ipv4::new(&self.ip, &[]).read(),
            transport: Tcp::new(&self.tcp, options).read(),
            payload,
            payload_missing,
            tunnel: &TunnelPath::EMPTY,
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{DecodeConfig, Decoder};

    /// TCP in IPv4 in Ethernet, with so many bytes of options and payload.
    fn frame(options: usize, payload: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        let len = (40 + options + payload) as u16;
        frame.extend([
            0x45,
            0,
            (len >> 8) as u8,
            len as u8,
            0,
            7,
            0x40,
            0,
            64,
            6,
            0,
            0,
            192,
            0,
            2,
            1,
            198,
            51,
            100,
            2,
        ]);
        frame.extend([
            0xc0,
            0,
            1,
            0xbb,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            (5 + options as u8 / 4) << 4,
            0x18,
            1,
            0,
            0,
            0,
            0,
            0,
        ]);
        frame.extend((0..options + payload).map(|n| n as u8));
        frame
    }

    fn decoder() -> Decoder {
        Decoder::new(DecodeConfig { verify_checksums: true, ..DecodeConfig::default() })
    }

    #[test]
    fn most_frames_are_usual() {
        let packet = frame(12, 100);
        let frame =
            Frame { ts: Timestamp::default(), link: LinkType::ETHERNET, data: &packet, wire_len: 166 };
        assert!(Usual::of(&frame).is_some());
        assert!(Usual::of(&Frame { link: LinkType::RAW, ..frame }).is_none());
    }

    proptest! {
        /// The short way and the long way make the same of a frame, whatever is wrong with it.
        #[test]
        fn a_usual_frame_is_decoded_as_any_other(
            options in (0..11_usize).prop_map(|words| words * 4),
            payload in 0..80_usize,
            changes in prop::collection::vec((0..80_usize, any::<u8>()), 0..4),
            cut in 0..200_usize,
            padding in 0..9_usize,
        ) {
            let mut packet = frame(options, payload);
            packet.resize(packet.len() + padding, 0);
            for (place, value) in changes {
                let place = place % packet.len();
                packet[place] = value;
            }
            let wire_len = packet.len() as u32;
            packet.truncate(packet.len().saturating_sub(cut.saturating_sub(150)));
            let frame = Frame { ts: Timestamp::new(1, 2, 6), link: LinkType::ETHERNET, data: &packet, wire_len };
            let (mut long, mut segments) = (decoder(), Vec::new());
            long.decode_other(&frame, &mut |segment| segments.push((format!("{segment:?}"), FlowKey::of(segment).0)));
            let Some(usual) = Usual::of(&frame) else { return Ok(()) };
            let (mut short, mut counted) = (decoder(), decoder());
            let mut decoded = Vec::new();
            short.decode(&frame, &mut |segment| decoded.push((format!("{segment:?}"), FlowKey::of(segment).0)));
            counted.count(&usual);
            let (headers, missing) = (usual.headers(), usual.payload_missing());
            let made = headers.segment(frame.ts, usual.options(), usual.payload(), missing);
            prop_assert_eq!(&decoded, &segments);
            prop_assert_eq!(vec![(format!("{made:?}"), usual.key().0)], segments);
            prop_assert_eq!(short.counters(), long.counters());
            prop_assert_eq!(counted.counters(), long.counters());
        }
    }
}
