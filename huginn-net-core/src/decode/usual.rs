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
pub(crate) struct Headers {
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

    /// The key of its flow.
    #[inline(always)]
    pub(crate) fn key(&self) -> FlowKey {
        FlowKey::of_tcp(self.packet.header.ends(), self.datagram.header.ports())
    }

    #[inline(always)]
    pub(crate) fn headers(&self) -> Headers {
        Headers { ip: self.packet.header.fixed(), tcp: self.datagram.header.fixed() }
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

impl Headers {
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
