//! Feeds any bytes as the stream of a TCP client, which the first byte cuts into segments and the second one reorders: segmentation
//! changes no event. The limits of events are off, as each captured byte allows some bytes of output, those of headers, too.
#![no_main]

use huginn_net::observers::EventLimits;
use huginn_net::record::JsonEvent;
use huginn_net::{Configure, Event, Frame, HuginnNet, LinkType, Observers, Timestamp};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Sequence number of the SYN: those of the data wrap.
const FIRST: u32 = 0xffff_ff00;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const WHOLE: usize = 1400;

fuzz_target!(|data: &[u8]| {
    let Some((&[len, order], content)) = data.split_first_chunk() else { return };
    let content = &content[..content.len().min(16 << 10)];
    let len = usize::from(len).max(1);
    let mut cut: Vec<_> = (0..content.len()).step_by(len).collect();
    if order & 1 != 0 {
        cut.chunks_mut(1 + usize::from(order >> 1)).for_each(<[usize]>::reverse);
    }
    let whole: Vec<_> = (0..content.len()).step_by(WHOLE).collect();
    assert_eq!(analyze(content, &cut, len), analyze(content, &whole, WHOLE));
});

/// The events of the segments that begin at these places, without time and packet.
fn analyze(content: &[u8], places: &[usize], len: usize) -> Vec<Value> {
    let observers = Observers::default().event_limits(EventLimits::NONE);
    let (mut analyzer, mut events) = (HuginnNet::builder_with(observers).build(), Vec::new());
    let mut push = |packet: Vec<u8>| {
        let frame = Frame {
            ts: Timestamp::new(1, 0, 6),
            link: LinkType::RAW,
            data: &packet,
            wire_len: packet.len() as u32,
        };
        let _ = analyzer.push(&frame, &mut |event: Event| {
            let text = JsonEvent::new(&event).to_string();
            let mut value: Value = serde_json::from_str(&text).unwrap();
            for name in ["ts", "packet"] {
                value.as_object_mut().unwrap().remove(name);
            }
            events.push(value);
        });
    };
    push(packet(true, FIRST, 0, SYN, &[]));
    push(packet(false, 6, FIRST.wrapping_add(1), SYN | ACK, &[]));
    for &at in places {
        let segment = &content[at..content.len().min(at + len)];
        push(packet(true, FIRST.wrapping_add(1 + at as u32), 7, ACK | PSH, segment));
    }
    push(packet(false, 7, FIRST.wrapping_add(1 + content.len() as u32), ACK, &[]));
    analyzer.finish(&mut |_: Event| {});
    events
}

/// A raw IPv4 packet.
fn packet(by_client: bool, seq: u32, ack: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut ends = [([10, 0, 0, 1], 40_000_u16), ([192, 0, 2, 1], 443)];
    if !by_client {
        ends.reverse();
    }
    let mut packet = vec![0x45, 0];
    packet.extend((40 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    ends.iter().for_each(|(address, _)| packet.extend(address));
    ends.iter().for_each(|(_, port)| packet.extend(port.to_be_bytes()));
    packet.extend(seq.to_be_bytes());
    packet.extend(ack.to_be_bytes());
    packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}
