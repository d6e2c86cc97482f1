//! Writers of pcap and pcapng structures.

use crate::byte_order::ByteOrder::{self, Big, Little};

/// A writer of bytes in one byte order.
pub(super) struct Bytes {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl Bytes {
    pub(super) fn new(order: ByteOrder) -> Self {
        Self { order, bytes: Vec::new() }
    }

    pub(super) fn u16(self, value: u16) -> Self {
        let bytes = if self.order == Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub(super) fn u32(self, value: u32) -> Self {
        let bytes = if self.order == Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&bytes)
    }

    pub(super) fn u32s(self, values: &[u32]) -> Self {
        values.iter().fold(self, |bytes, value| bytes.u32(*value))
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends zeros up to the next multiple of four.
    pub(super) fn padded(mut self) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.bytes
    }
}

pub(super) fn pcap_header(order: ByteOrder, magic: u32, network: u32) -> Vec<u8> {
    Bytes::new(order).u32(magic).u16(2).u16(4).u32s(&[0, 0, 262_144, network]).done()
}

pub(super) fn pcap_record(order: ByteOrder, seconds: u32, fraction: u32, data: &[u8], wire: u32) -> Vec<u8> {
    Bytes::new(order).u32s(&[seconds, fraction, data.len() as u32, wire]).raw(data).done()
}

/// Builds a little-endian capture of Ethernet frames with these lengths. Also returns the end offset of each record.
pub(super) fn pcap(lengths: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let mut file = pcap_header(Little, 0xa1b2_c3d4, 1);
    let ends = lengths
        .iter()
        .map(|len| {
            let fill = vec![0xa0 | *len as u8; *len];
            file.extend(pcap_record(Little, 1_600_000_000, *len as u32, &fill, *len as u32));
            file.len()
        })
        .collect();
    (file, ends)
}

pub(super) fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let body = Bytes::new(order).raw(body).padded().done();
    let len = body.len() as u32 + 12;
    Bytes::new(order).u32s(&[kind, len]).raw(&body).u32(len).done()
}

pub(super) fn section(order: ByteOrder) -> Vec<u8> {
    let body = Bytes::new(order).u32(0x1a2b_3c4d).u16(1).u16(0).u32s(&[u32::MAX, u32::MAX]).done();
    block(order, 0x0a0d_0d0a, &body)
}

pub(super) fn option(order: ByteOrder, code: u16, value: &[u8]) -> Vec<u8> {
    Bytes::new(order).u16(code).u16(value.len() as u16).raw(value).padded().done()
}

pub(super) fn interface(order: ByteOrder, link: u16, snap_len: u32, options: &[Vec<u8>]) -> Vec<u8> {
    let body = Bytes::new(order).u16(link).u16(0).u32(snap_len).raw(&options.concat()).done();
    block(order, 1, &body)
}

/// Builds an enhanced packet block.
pub(super) fn enhanced(order: ByteOrder, interface: u32, ticks: u64, data: &[u8], wire: u32) -> Vec<u8> {
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    let body =
        Bytes::new(order).u32s(&[interface, high, low, data.len() as u32, wire]).raw(data).padded().done();
    block(order, 6, &body)
}

/// Builds a simple packet block.
pub(super) fn simple(order: ByteOrder, data: &[u8], wire: u32) -> Vec<u8> {
    block(order, 3, &Bytes::new(order).u32(wire).raw(data).done())
}

/// Builds a little-endian capture with blocks of every kind. Also returns the end of each block, and the number of
/// packets before it.
pub(super) fn pcapng() -> (Vec<u8>, Vec<(usize, usize)>) {
    let blocks = [
        (section(Little), 0),
        (interface(Little, 1, 0, &[option(Little, 2, b"eth0"), option(Little, 0, b"")]), 0),
        (enhanced(Little, 0, 1_600_000_000_000_000, &[0xa1; 61], 61), 1),
        (block(Little, 4, b"name resolution"), 0),
        (simple(Little, &[0xa2; 5], 5), 1),
        (block(Little, 0x8000_4711, &[0x5a; 37]), 0),
        (enhanced(Little, 0, 1_600_000_000_000_001, &[], 0), 1),
        (section(Little), 0),
        (interface(Little, 101, 0, &[]), 0),
        (enhanced(Little, 0, 1_600_000_000_000_002, &[0x45; 20], 40), 1),
        (block(Little, 5, &[0; 12]), 0),
    ];
    let mut file = Vec::new();
    let mut packets = 0;
    let ends = blocks
        .iter()
        .map(|(bytes, new_packets)| {
            file.extend_from_slice(bytes);
            packets += new_packets;
            (file.len(), packets)
        })
        .collect();
    (file, ends)
}
