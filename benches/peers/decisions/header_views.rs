//! Compares three ways to read Ethernet, IPv4 and TCP headers: pnet's views, the bounds-checked cursor field by field, and
//! one array per header. All make the same checks and fill the same structure.

use std::hint::black_box;
use std::net::Ipv4Addr;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use huginn_net_core::{Cursor, Truncated};
use pnet_packet::ethernet::EthernetPacket;
use pnet_packet::ipv4::Ipv4Packet;
use pnet_packet::tcp::TcpPacket;

/// The fields that the decoder needs.
#[derive(Debug, PartialEq)]
struct Headers<'a> {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    tos: u8,
    ttl: u8,
    id: u16,
    flags: u8,
    src_port: u16,
    dst_port: u16,
    seq: u32,
    ack: u32,
    tcp_flags: u16,
    window: u16,
    urgent: u16,
    options: &'a [u8],
    payload: &'a [u8],
}

fn pnet(frame: &[u8]) -> Option<Headers<'_>> {
    let ethernet = EthernetPacket::new(frame)?;
    if ethernet.get_ethertype().0 != 0x0800 {
        return None;
    }
    let packet = frame.get(14..)?;
    let ip = Ipv4Packet::new(packet)?;
    let header_len = usize::from(ip.get_header_length()) * 4;
    if ip.get_version() != 4
        || header_len < 20
        || ip.get_flags() & 1 != 0
        || ip.get_fragment_offset() != 0
        || ip.get_next_level_protocol().0 != 6
    {
        return None;
    }
    let segment = packet.get(header_len..usize::from(ip.get_total_length()).min(packet.len()))?;
    let tcp = TcpPacket::new(segment)?;
    let data_offset = usize::from(tcp.get_data_offset()) * 4;
    Some(Headers {
        src: ip.get_source(),
        dst: ip.get_destination(),
        tos: ip.get_dscp() << 2 | ip.get_ecn(),
        ttl: ip.get_ttl(),
        id: ip.get_identification(),
        flags: ip.get_flags(),
        src_port: tcp.get_source(),
        dst_port: tcp.get_destination(),
        seq: tcp.get_sequence(),
        ack: tcp.get_acknowledgement(),
        tcp_flags: u16::from(tcp.get_reserved() & 1) << 8 | u16::from(tcp.get_flags()),
        window: tcp.get_window(),
        urgent: tcp.get_urgent_ptr(),
        options: segment.get(20..data_offset)?,
        payload: segment.get(data_offset..)?,
    })
}

fn cursor(frame: &[u8]) -> Option<Headers<'_>> {
    fields(frame).ok().flatten()
}

fn fields(frame: &[u8]) -> Result<Option<Headers<'_>>, Truncated> {
    let mut cursor = Cursor::new(frame);
    cursor.skip(12)?;
    if cursor.u16_be()? != 0x0800 {
        return Ok(None);
    }
    let packet = cursor.rest();
    let mut cursor = Cursor::new(packet);
    let version = cursor.u8()?;
    let header_len = usize::from(version & 0x0f) * 4;
    let tos = cursor.u8()?;
    let total = usize::from(cursor.u16_be()?);
    let id = cursor.u16_be()?;
    let fragment = cursor.u16_be()?;
    let ttl = cursor.u8()?;
    let protocol = cursor.u8()?;
    cursor.skip(2)?;
    let src = Ipv4Addr::from(cursor.u32_be()?);
    let dst = Ipv4Addr::from(cursor.u32_be()?);
    if version >> 4 != 4 || header_len < 20 || fragment & 0x3fff != 0 || protocol != 6 {
        return Ok(None);
    }
    let Some(segment) = packet.get(header_len..total.min(packet.len())) else { return Ok(None) };
    let mut cursor = Cursor::new(segment);
    let src_port = cursor.u16_be()?;
    let dst_port = cursor.u16_be()?;
    let seq = cursor.u32_be()?;
    let ack = cursor.u32_be()?;
    let offset_and_flags = cursor.u16_be()?;
    let window = cursor.u16_be()?;
    cursor.skip(2)?;
    let urgent = cursor.u16_be()?;
    let data_offset = usize::from(offset_and_flags >> 12) * 4;
    let options = cursor.take(data_offset.wrapping_sub(20))?;
    let flags = (fragment >> 13) as u8;
    let (tcp_flags, payload) = (offset_and_flags & 0x1ff, cursor.rest());
    Ok(Some(Headers {
        src,
        dst,
        tos,
        ttl,
        id,
        flags,
        src_port,
        dst_port,
        seq,
        ack,
        tcp_flags,
        window,
        urgent,
        options,
        payload,
    }))
}

fn arrays(frame: &[u8]) -> Option<Headers<'_>> {
    let (ethernet, packet) = frame.split_first_chunk::<14>()?;
    if [ethernet[12], ethernet[13]] != [0x08, 0x00] {
        return None;
    }
    let ip = packet.first_chunk::<20>()?;
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    let fragment = u16::from_be_bytes([ip[6], ip[7]]);
    if ip[0] >> 4 != 4 || header_len < 20 || fragment & 0x3fff != 0 || ip[9] != 6 {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let segment = packet.get(header_len..total.min(packet.len()))?;
    let (tcp, rest) = segment.split_first_chunk::<20>()?;
    let data_offset = usize::from(tcp[12] >> 4) * 4;
    let (options, payload) = rest.split_at_checked(data_offset.wrapping_sub(20))?;
    Some(Headers {
        src: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
        dst: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]),
        tos: ip[1],
        ttl: ip[8],
        id: u16::from_be_bytes([ip[4], ip[5]]),
        flags: ip[6] >> 5,
        src_port: u16::from_be_bytes([tcp[0], tcp[1]]),
        dst_port: u16::from_be_bytes([tcp[2], tcp[3]]),
        seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        ack: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
        tcp_flags: u16::from_be_bytes([tcp[12], tcp[13]]) & 0x1ff,
        window: u16::from_be_bytes([tcp[14], tcp[15]]),
        urgent: u16::from_be_bytes([tcp[18], tcp[19]]),
        options,
        payload,
    })
}

/// Makes frames with different addresses, ports and lengths: Ethernet, IPv4, TCP with 12 bytes of options.
fn frames() -> Vec<Vec<u8>> {
    (0..1024_u16)
        .map(|number| {
            let payload = usize::from(number % 64) * 16;
            let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
            frame.extend([0x45, 0]);
            frame.extend(u16::try_from(52 + payload).unwrap().to_be_bytes());
            frame.extend(number.to_be_bytes());
            frame.extend([0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7]);
            frame.extend((1024 + number).to_be_bytes());
            frame.extend([1, 187, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
            frame.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
            frame.resize(frame.len() + payload, 0xab);
            frame
        })
        .collect()
}

type Read = fn(&[u8]) -> Option<Headers<'_>>;

fn header_views(criterion: &mut Criterion) {
    let frames = frames();
    for frame in &frames {
        assert!(pnet(frame).is_some());
        assert_eq!(pnet(frame), arrays(frame));
        assert_eq!(pnet(frame), cursor(frame));
    }
    let mut group = criterion.benchmark_group("header_views");
    group.throughput(Throughput::Elements(frames.len() as u64));
    let ways: [(&str, Read); 3] = [("pnet", pnet), ("cursor", cursor), ("arrays", arrays)];
    for (name, read) in ways {
        group.bench_function(name, |bench| {
            bench.iter(|| {
                for frame in &frames {
                    black_box(read(black_box(frame)));
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, header_views);
criterion_main!(benches);
