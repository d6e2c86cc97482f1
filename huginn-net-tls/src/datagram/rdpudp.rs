//! TLS over the UDP transport of Remote Desktop, versions 1 and 2 (MS-RDPEUDP and MS-RDPEUDP2).

use std::borrow::Cow;

use huginn_net_wire::{Cursor, Side};

use super::found::Found;
use super::packet_stream::PacketStreams;
use crate::counters::DatagramCounters;
use crate::follower::Follow;
use crate::record;

/// The sender of this datagram, if a record with a hello starts in it.
pub(crate) fn hello_sender(datagram: &[u8]) -> Option<Side> {
    HelloStart::parse(datagram).map(|start| start.sender)
}

/// Reads the hellos of a connection over the reliable transport, and can follow the handshake after them.
///
/// The stream of each side starts with the packet in which a record with a hello starts; earlier packets negotiate
/// sizes.
#[derive(Debug)]
pub(crate) struct RdpUdpFlow {
    version: Option<Version>,
    streams: PacketStreams,
    /// Whether handshakes are followed.
    follows: Follow,
}

impl RdpUdpFlow {
    /// Creates the state of a flow. It follows handshakes after the hellos, if `follows`.
    pub(crate) fn new(follows: Follow) -> Self {
        Self { version: None, streams: PacketStreams::new(follows), follows }
    }

    /// Parses the next datagram, and emits the parts of a handshake that it completes.
    pub(crate) fn on_datagram(
        &mut self,
        datagram: &[u8],
        sender: Side,
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Side, Found<'_>),
    ) {
        if is_connection_request(datagram) {
            *self = Self::new(self.follows);
        }
        if !self.streams.has_started(sender) {
            let Some(start) = HelloStart::parse(datagram).filter(|start| start.sender == sender) else {
                return;
            };
            self.version = Some(start.version);
            self.streams.start(sender, start.number);
        }
        if self.streams.has_ended(sender) {
            return;
        }
        if let Some((number, payload)) = self.version.and_then(|version| version.payload(datagram)) {
            self.streams.push(sender, number, &payload, counters, found);
        }
    }

    /// Returns the memory used by buffered packets and incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.streams.buffered_bytes()
    }
}

/// A packet in which a record with a hello starts.
struct HelloStart {
    sender: Side,
    version: Version,
    number: u32,
}

impl HelloStart {
    fn parse(datagram: &[u8]) -> Option<Self> {
        [Version::One, Version::Two].into_iter().find_map(|version| {
            let (number, payload) = version.payload(datagram)?;
            Some(Self { sender: record::hello_sender(&payload)?, version, number })
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The payload of a datagram and its sequence number; `None` without a payload.
    fn payload(self, datagram: &[u8]) -> Option<(u32, Cow<'_, [u8]>)> {
        match self {
            Self::One => payload_v1(datagram).map(|(number, payload)| (number, Cow::Borrowed(payload))),
            Self::Two => payload_v2(datagram).map(|(number, payload)| (number, Cow::Owned(payload))),
        }
    }
}

/// Whether a datagram starts a connection, in either version: SYN without ACK, and nothing to acknowledge (MS-RDPEUDP,
/// section 3.1.5.1.1).
fn is_connection_request(datagram: &[u8]) -> bool {
    matches!(datagram, [0xff, 0xff, 0xff, 0xff, _, _, high, low, ..] if *high <= 0x1f && low & 0x05 == 0x01)
}

/// Parses a datagram with RDPUDP_FEC_HEADER (MS-RDPEUDP, section 2.2.2.1) and the structures that its flags announce.
fn payload_v1(datagram: &[u8]) -> Option<(u32, &[u8])> {
    const SYN: u16 = 0x0001;
    const ACK: u16 = 0x0004;
    const DATA: u16 = 0x0008;
    const FEC: u16 = 0x0010;
    const ACK_OF_ACKS: u16 = 0x0100;
    /// All flags up to the highest one (RDPUDP_FLAG_SYNEX).
    const ALL_FLAGS: u16 = 0x1fff;

    let mut cursor = Cursor::new(datagram);
    cursor.skip(6).ok()?;
    let flags = cursor.u16_be().ok()?;
    if flags & !ALL_FLAGS != 0 || flags & (SYN | DATA | FEC) != DATA {
        return None;
    }
    if flags & ACK != 0 {
        let size = usize::from(cursor.u16_be().ok()?);
        // The vector and its length are padded to a multiple of four bytes.
        cursor.skip(size.saturating_add(2).next_multiple_of(4).saturating_sub(2)).ok()?;
    }
    if flags & ACK_OF_ACKS != 0 {
        cursor.skip(4).ok()?;
    }
    cursor.skip(4).ok()?;
    let number = cursor.u32_be().ok()?;
    Some((number, cursor.rest()))
}

/// Parses a packet (MS-RDPEUDP2, section 2.2.1); its parts are in the order in which they are read here.
fn payload_v2(datagram: &[u8]) -> Option<(u32, Vec<u8>)> {
    const ACK: u16 = 0x001;
    const DATA: u16 = 0x004;
    const ACK_VECTOR: u16 = 0x008;
    const ACK_OF_ACKS: u16 = 0x010;
    const OVERHEAD_SIZE: u16 = 0x040;
    const DELAY_ACK: u16 = 0x100;
    /// PacketPrefixByte of a packet that is not a dummy and has more than seven bytes.
    const PREFIX: u8 = 0xe0;
    /// Index of that byte, which is swapped with the first byte (section 3.1.1.1.5.2).
    const PREFIX_INDEX: usize = 7;

    const ALL_FLAGS: u16 = ACK | DATA | ACK_VECTOR | ACK_OF_ACKS | OVERHEAD_SIZE | DELAY_ACK;

    let [_, low, high, _, _, _, _, PREFIX, ..] = datagram else { return None };
    let flags = u16::from_le_bytes([*low, *high]) & 0xfff;
    if flags & DATA == 0 || flags & !ALL_FLAGS != 0 {
        return None;
    }
    let mut packet = datagram.to_vec();
    packet.swap(0, PREFIX_INDEX);
    let mut cursor = Cursor::new(&packet);
    cursor.skip(1 + 2).ok()?;
    if flags & ACK != 0 {
        cursor.skip(6).ok()?;
        let delayed_acks = cursor.u8().ok()? & 0xf;
        cursor.skip(usize::from(delayed_acks)).ok()?;
    }
    cursor.skip(if flags & OVERHEAD_SIZE != 0 { 1 } else { 0 }).ok()?;
    cursor.skip(if flags & DELAY_ACK != 0 { 3 } else { 0 }).ok()?;
    cursor.skip(if flags & ACK_OF_ACKS != 0 { 2 } else { 0 }).ok()?;
    cursor.skip(2).ok()?;
    if flags & ACK_VECTOR != 0 {
        cursor.skip(2).ok()?;
        let size = cursor.u8().ok()?;
        cursor.skip(if size & 0x80 != 0 { 4 } else { 0 }).ok()?;
        cursor.skip(usize::from(size & 0x7f)).ok()?;
    }
    let channel_number = cursor.u16_le().ok()?;
    let start = cursor.position();
    packet.drain(..start);
    Some((u32::from(channel_number), packet))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;
    use crate::hello::Hello;

    /// Sent by curl with OpenSSL 3: a record with a ClientHello.
    const HELLO: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));

    /// Has the layout of the example in MS-RDPEUDP, section 4.2.3.
    fn v1(number: u32, payload: &[u8]) -> Vec<u8> {
        let number = number.to_be_bytes();
        [
            &[0xd6, 0xcf, 0x0a, 0xb8, 4, 0, 1, 0x0c][..],
            &[0, 1, 4, 0],
            &[0xd6, 0xcf, 0x0a, 0xb8],
            &number,
            &number,
            payload,
        ]
        .concat()
    }

    /// Flags and the structures that they announce, in the order of MS-RDPEUDP2, section 2.2.1, and the channel
    /// sequence number.
    fn v2(flags: u16, announced: &[u8], number: u16, payload: &[u8]) -> Vec<u8> {
        let flags = (flags | 0xc000).to_le_bytes();
        let mut packet = [&[0xe0][..], &flags, announced, &number.to_le_bytes(), payload].concat();
        packet.swap(0, 7);
        packet
    }

    /// The packets in version 2, with all optional structures before the data.
    fn as_v2(number: u16, payload: &[u8]) -> [Vec<u8>; 4] {
        let (ack, delayed) = ([1, 0, 2, 2, 2, 3, 0], [1, 0, 2, 2, 2, 3, 0x52, 9, 9]);
        let sizes = [10, 1, 0xf4, 1, 100, 0];
        [
            v2(0x004, &[7, 0], number, payload),
            v2(0x155, &[&ack[..], &sizes, &[7, 0]].concat(), number, payload),
            v2(0x005, &[&delayed[..], &[7, 0]].concat(), number, payload),
            v2(0x00c, &[7, 0, 5, 0, 0x82, 1, 1, 1, 2, 0xaa, 0xbb], number, payload),
        ]
    }

    fn found(datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut flow, mut counters, mut found) =
            (RdpUdpFlow::new(Follow::No), DatagramCounters::default(), Vec::new());
        for datagram in datagrams {
            flow.on_datagram(datagram, Side::Client, &mut counters, &mut |_, part| {
                let Found::Hello { hello: Hello::Client(hello), .. } = part else { panic!("a ClientHello") };
                found.push(hello.message().to_vec());
            });
        }
        assert_eq!(counters, DatagramCounters::default());
        found
    }

    #[test]
    fn finds_hellos_after_headers_of_either_version() {
        let (head, tail) = HELLO.split_at(200);
        let mut variants = vec![[v1(u32::MAX - 3, head), v1(u32::MAX - 2, tail)]];
        variants.extend(as_v2(1, head).into_iter().zip(as_v2(2, tail)).map(|(head, tail)| [head, tail]));
        for [head, tail] in variants {
            assert_eq!(hello_sender(&head), Some(Side::Client), "{head:02x?}");
            assert_eq!(found(&[head.clone(), tail.clone()]), [&HELLO[5..]]);
            assert_eq!(found(&[head.clone(), head.clone(), tail]), [&HELLO[5..]], "retransmitted");
            for len in 0..head.len() {
                let _ = hello_sender(&head[..len]);
            }
        }
    }

    #[test]
    fn new_connection_on_same_ports_resets_state() {
        let syn = [&[0xff, 0xff, 0xff, 0xff, 0, 0x40, 0x18, 1][..], &[0; 1224]].concat();
        let (first, second) = (v1(7, HELLO), v1(900, HELLO));
        assert_eq!(found(&[syn.clone(), first, syn, second]).len(), 2);
    }

    #[test]
    fn packets_without_data_start_no_flow() {
        let good = v2(0x004, &[7, 0], 1, HELLO);
        let mut dummy = good.clone();
        dummy[7] = 0xf0;
        let mut unknown = good;
        unknown[1] |= 0x02;
        let syn = [&[0xff, 0xff, 0xff, 0xff, 0, 0x40, 0x18, 1][..], &[0; 1224]].concat();
        for datagram in [dummy, unknown, syn, v2(0x011, &[0; 9], 1, HELLO)] {
            assert_eq!(hello_sender(&datagram), None);
        }
    }
}
