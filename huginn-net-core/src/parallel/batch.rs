//! Segments on their way to a worker.

use std::ops::Range;

use crate::{IpHeader, Segment, TcpFlags, TcpHeader, Timestamp, Transport, TunnelPath, UdpHeader};

/// Segments in order of the capture, with the bytes that they refer to.
///
/// Emptied, it keeps its memory for the next ones.
#[derive(Debug, Default)]
pub(super) struct Batch {
    records: Vec<Record>,
    /// TCP options and payloads, one after the other.
    bytes: Vec<u8>,
    /// The tunnels of segments that are in one.
    tunnels: Vec<TunnelPath>,
}

/// A segment that borrows nothing.
#[derive(Debug)]
struct Record {
    /// Which segment of the round it is.
    place: u32,
    /// Where its options and, behind those, its payload begin.
    start: u32,
    options_len: u8,
    /// Which tunnel, or [`NO_TUNNEL`].
    tunnel: u32,
    payload_len: u32,
    payload_missing: u32,
    ts: Timestamp,
    now: Timestamp,
    ip: IpHeader,
    transport: TransportFields,
}

const NO_TUNNEL: u32 = u32::MAX;

/// A [`Transport`] but for the options.
#[derive(Debug)]
enum TransportFields {
    Tcp { ports: (u16, u16), seq: u32, ack: u32, flags: TcpFlags, window: u16, urgent: u16 },
    Udp(UdpHeader),
}

impl Batch {
    /// Adds a segment, which is that of this place in the round.
    #[inline]
    pub(super) fn push(&mut self, place: u32, segment: &Segment<'_>, now: Timestamp) {
        let start = self.bytes.len();
        let (transport, options) = match &segment.transport {
            Transport::Tcp(tcp) => {
                let TcpHeader { src_port, dst_port, seq, ack, flags, window, urgent, options } = *tcp;
                let ports = (src_port, dst_port);
                (TransportFields::Tcp { ports, seq, ack, flags, window, urgent }, options)
            }
            Transport::Udp(udp) => (TransportFields::Udp(*udp), &[][..]),
        };
        self.bytes.extend_from_slice(options);
        self.bytes.extend_from_slice(segment.payload);
        let tunnel = if segment.tunnel.is_empty() {
            NO_TUNNEL
        } else {
            self.tunnels.push(*segment.tunnel);
            narrow(self.tunnels.len()).saturating_sub(1)
        };
        self.records.push(Record {
            place,
            start: narrow(start),
            options_len: u8::try_from(options.len()).unwrap_or(u8::MAX),
            tunnel,
            payload_len: narrow(segment.payload.len()),
            payload_missing: segment.payload_missing,
            ts: segment.ts,
            now,
            ip: segment.ip,
            transport,
        });
    }

    /// How many segments it holds.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// How much memory they take up, in bytes.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.records.len().saturating_mul(size_of::<Record>()).saturating_add(self.bytes.len())
    }

    /// Hands each segment on with its place in the round and the time that flows go by.
    #[inline]
    pub(super) fn each(&self, mut each: impl FnMut(u32, &Segment<'_>, Timestamp)) {
        for record in &self.records {
            let tunnel = self.tunnels.get(record.tunnel as usize).unwrap_or(&TunnelPath::EMPTY);
            let options =
                record.start as usize..(record.start as usize).saturating_add(record.options_len.into());
            let payload = options.end..options.end.saturating_add(record.payload_len as usize);
            let transport = match &record.transport {
                TransportFields::Tcp { ports, seq, ack, flags, window, urgent } => {
                    Transport::Tcp(TcpHeader {
                        src_port: ports.0,
                        dst_port: ports.1,
                        seq: *seq,
                        ack: *ack,
                        flags: *flags,
                        window: *window,
                        urgent: *urgent,
                        options: self.bytes_at(options),
                    })
                }
                TransportFields::Udp(udp) => Transport::Udp(*udp),
            };
            let segment = Segment {
                ts: record.ts,
                ip: record.ip,
                transport,
                payload: self.bytes_at(payload),
                payload_missing: record.payload_missing,
                tunnel,
            };
            each(record.place, &segment, record.now);
        }
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        self.tunnels.clear();
    }

    fn bytes_at(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// A batch is handed on long before a place in it no longer fits in 32 bits.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
