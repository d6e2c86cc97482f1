//! Builders of frames, and checks of the decoded segments.

use huginn_net_core::{
    Addresses, DecodeConfig, DecodeCounters, Decoder, Frame, IpHeader, LinkType, Segment, Timestamp,
    TransportHeader,
};

/// A SYN with five bytes of data over IPv4. Built with scapy 2.5: `IP(src='192.0.2.1', dst='198.51.100.2', ttl=63,
/// id=0x1234, flags='DF')/TCP(sport=40000, dport=443, flags='S', seq=1000, window=64240,
/// options=[('MSS', 1460)])/b'hello'`.
pub(crate) const INNER_V4: &str = "45000031123440003f063d5cc0000201c6336402\
    9c4001bb000003e8000000006002faf0cb430000020405b468656c6c6f";

/// The same SYN over IPv6: `IPv6(src='2001:db8::1', dst='2001:db8::2', hlim=60, tc=0x20, fl=0x12345)/...`, MSS 1440.
pub(crate) const INNER_V6: &str = "62012345001d063c20010db800000000000000000000000120010db8000000000000000000000002\
    9c4001bb000003e8000000006002faf05c1a0000020405a068656c6c6f";

/// A frame whose innermost packet is one of the two above.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) link: LinkType,
    /// The bytes before the inner packet, in hexadecimal.
    pub(crate) outer: &'static str,
    pub(crate) inner: Inner,
    /// The expected tags and tunnels.
    pub(crate) path: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub(crate) enum Inner {
    V4,
    V6,
}

impl Inner {
    pub(crate) fn bytes(self) -> Vec<u8> {
        match self {
            Self::V4 => hex(INNER_V4),
            Self::V6 => hex(INNER_V6),
        }
    }

    /// The expected segment.
    pub(crate) fn expected_segment(self, path: &[&str]) -> OwnedSegment {
        let ip = IpHeader {
            addresses: self.addresses(),
            ttl: self.choose(63, 60),
            traffic_class: self.choose(0, 0x20),
            header_len: self.choose(20, 40),
            options_len: 0,
            id: self.choose(0x1234, 0),
            dont_fragment: self.choose(true, false),
            reserved_flag: false,
            flow_label: self.choose(0, 0x12345),
            reassembled: false,
        };
        let path = path.iter().map(ToString::to_string).collect();
        OwnedSegment {
            ip,
            ports: (40_000, 443),
            is_tcp: true,
            payload: b"hello".to_vec(),
            payload_missing: 0,
            path,
        }
    }

    fn addresses(self) -> Addresses {
        match self {
            Self::V4 => Addresses::V4 { src: [192, 0, 2, 1].into(), dst: [198, 51, 100, 2].into() },
            Self::V6 => {
                Addresses::V6 { src: "2001:db8::1".parse().unwrap(), dst: "2001:db8::2".parse().unwrap() }
            }
        }
    }

    fn choose<T>(self, v4: T, v6: T) -> T {
        match self {
            Self::V4 => v4,
            Self::V6 => v6,
        }
    }
}

impl Case {
    pub(crate) fn frame(&self) -> Vec<u8> {
        [hex(self.outer), self.inner.bytes()].concat()
    }

    pub(crate) fn check(&self) {
        let (segments, counters) = decode(self.link, &self.frame());
        assert_eq!(segments, [self.inner.expected_segment(self.path)], "{}: {counters:?}", self.name);
    }
}

/// An owned copy of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedSegment {
    pub(crate) ip: IpHeader,
    pub(crate) ports: (u16, u16),
    pub(crate) is_tcp: bool,
    pub(crate) payload: Vec<u8>,
    pub(crate) payload_missing: u32,
    pub(crate) path: Vec<String>,
}

impl OwnedSegment {
    pub(crate) fn from_segment(segment: &Segment<'_>) -> Self {
        Self {
            ip: segment.ip,
            ports: segment.transport.ports(),
            is_tcp: matches!(segment.transport, TransportHeader::Tcp(_)),
            payload: segment.payload.to_vec(),
            payload_missing: segment.payload_missing,
            path: segment.tunnel.layers().iter().map(ToString::to_string).collect(),
        }
    }
}

/// Asserts that a frame yields no segment and is counted in this counter.
pub(crate) fn counted(link: LinkType, frame: &str, counter: fn(&DecodeCounters) -> u64) {
    let (segments, counters) = decode(link, &hex(frame));
    assert_eq!(segments, [], "{frame}");
    assert_eq!(counter(&counters), 1, "{frame}: {counters:?}");
}

/// Decodes one frame that was captured whole.
pub(crate) fn decode(link: LinkType, data: &[u8]) -> (Vec<OwnedSegment>, DecodeCounters) {
    decode_cut(link, data, u32::try_from(data.len()).unwrap())
}

/// Decodes one frame that was `wire_len` bytes long.
pub(crate) fn decode_cut(link: LinkType, data: &[u8], wire_len: u32) -> (Vec<OwnedSegment>, DecodeCounters) {
    let mut decoder = Decoder::new(DecodeConfig::default());
    let segments = push(&mut decoder, &Frame { ts: Timestamp::default(), link, data, wire_len });
    (segments, decoder.counters().clone())
}

pub(crate) fn push(decoder: &mut Decoder, frame: &Frame<'_>) -> Vec<OwnedSegment> {
    let mut segments = Vec::new();
    decoder.decode(frame, &mut |segment| segments.push(OwnedSegment::from_segment(segment)));
    assert_eq!(packets(decoder.counters()), outcomes(decoder.counters()), "{:?}", decoder.counters());
    segments
}

fn packets(counters: &DecodeCounters) -> u64 {
    counters.frames + counters.aggregated
}

/// Checks that every packet has exactly one outcome.
fn outcomes(counters: &DecodeCounters) -> u64 {
    let c = counters;
    let emitted = c.tcp + c.udp + c.fragments_buffered;
    let other =
        c.arp + c.icmp + c.other_transport + c.unknown_ethertype + c.unknown_link + c.not_data + c.encrypted;
    let bad = c.link_fragment + c.too_deep + c.truncated_snaplen + c.bad_header + c.bad_fragment;
    emitted + other + bad
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|d| u8::try_from(d).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Builds an IPv4 packet from 192.0.2.1 to 198.51.100.2, with a wrong checksum.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = hex("4500 0000 0000 0000 4000 0000 c0000201 c6336402");
    let len = u16::try_from(packet.len() + payload.len()).unwrap();
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[9] = protocol;
    packet.extend(payload);
    packet
}

/// Builds an IPv6 packet from 2001:db8::1 to 2001:db8::2.
pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet =
        hex("6000 0000 0000 0040 20010db8000000000000000000000001 20010db8000000000000000000000002");
    packet[4..6].copy_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
    packet[6] = next;
    packet.extend(payload);
    packet
}

pub(crate) fn udp(src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + payload.len()).unwrap();
    let mut datagram = Vec::new();
    for field in [src_port, dst_port, len, 0] {
        datagram.extend(field.to_be_bytes());
    }
    datagram.extend(payload);
    datagram
}

/// Builds a TCP ACK segment without options.
pub(crate) fn tcp(payload: &[u8]) -> Vec<u8> {
    let mut segment = hex("9c40 01bb 00000001 00000002 5010 ffff 0000 0000");
    segment.extend(payload);
    segment
}
