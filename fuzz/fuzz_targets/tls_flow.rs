//! Feeds segments and datagrams of both sides of one connection. Eight bytes precede each payload: kind, sequence and
//! acknowledgement number, and payload length (little-endian). A bit of the first kind says whether handshakes are followed.
//! Buffers stay within their limit, every packet is counted, and only followed handshakes have certificates and an end.
#![no_main]

use huginn_net_core::{Event, FlowLimits, Frame, LinkType, Timestamp};
use huginn_net_tls::{HuginnNetTls, TlsEvent, TlsObserver};
use libfuzzer_sys::fuzz_target;

const MAX_BUFFERED_BYTES: usize = 64 << 10;

const BY_SERVER: u8 = 1;
const UDP: u8 = 2;
const FOLLOW: u8 = 4;
/// Below the sequence numbers that wrap.
const FIRST: [u32; 2] = [0xffff_f000, 7];

fuzz_target!(|data: &[u8]| {
    let limits = FlowLimits::default().max_buffered_bytes(MAX_BUFFERED_BYTES);
    // Half of the inputs follow handshakes to their end.
    let follows = data.first().is_some_and(|what| what & FOLLOW != 0);
    let observer = TlsObserver::default().handshakes(follows);
    let mut analyzer = HuginnNetTls::builder_with(observer).flow_limits(limits).build();
    let (mut rest, mut packets) = (data, 0);
    while let Some((&[what, flags, seq_0, seq_1, ack_0, ack_1, len_0, len_1], after)) =
        rest.split_first_chunk()
    {
        let len = usize::from(u16::from_le_bytes([len_0, len_1]));
        let (payload, after) = after.split_at(after.len().min(len));
        rest = after;
        packets += 1;
        let numbers = [u16::from_le_bytes([seq_0, seq_1]), u16::from_le_bytes([ack_0, ack_1])];
        let packet = packet(what, flags, numbers, payload);
        let (ts, wire_len) = (Timestamp::new(packets, 0, 6), packet.len() as u32);
        let frame = Frame { ts, link: LinkType::RAW, data: &packet, wire_len };
        let _ = analyzer.push(&frame, &mut |event: Event<TlsEvent>| match event.kind {
            TlsEvent::Client(client) => assert_eq!(client.hello.ja4_r().ja4(), client.hello.ja4()),
            TlsEvent::Server(server) => assert_eq!(server.hello.ja3s_hash(), server.hello.ja3s().hash()),
            TlsEvent::Certificates(_) | TlsEvent::Handshake(_) => assert!(follows),
            _ => {}
        });
        let buffered = analyzer.counters().flows.buffered_bytes;
        assert!(buffered <= MAX_BUFFERED_BYTES as u64, "{buffered} bytes buffered");
    }
    let counters = analyzer.counters();
    assert_eq!(counters.frames, packets);
});

/// A raw IPv4 packet.
fn packet(what: u8, flags: u8, [seq, ack]: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let sender = usize::from(what & BY_SERVER);
    let mut ends = [([10, 0, 0, 1], 40_000_u16), ([192, 0, 2, 1], 443)];
    let mut first = FIRST;
    if sender == 1 {
        ends.reverse();
        first.reverse();
    }
    let [(source, source_port), (destination, destination_port)] = ends;
    let mut header = [source_port.to_be_bytes(), destination_port.to_be_bytes()].concat();
    let protocol = if what & UDP == 0 {
        header.extend(first[0].wrapping_add(seq.into()).to_be_bytes());
        header.extend(first[1].wrapping_add(ack.into()).to_be_bytes());
        header.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        6
    } else {
        header.extend((payload.len() as u16).saturating_add(8).to_be_bytes());
        header.extend([0, 0]);
        17
    };
    let total = (20 + header.len() + payload.len()).min(0xffff);
    let mut packet = vec![0x45, 0];
    packet.extend((total as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    packet.extend(source);
    packet.extend(destination);
    packet.extend(header);
    packet.extend(payload);
    packet
}
