//! Segments on their way to a worker.

use crate::decode::{FixedHeaders, Prospect, Usual};
use crate::flows::Outline;
use crate::{IpHeader, Segment, TcpFlags, TcpHeader, Timestamp, TransportHeader, TunnelPath, UdpHeader};

/// Segments in order of the capture, with the bytes that they refer to.
///
/// Emptied, it keeps its memory for the next ones.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Those of usual frames: the headers as they were captured, which takes less room, and less time to write.
    usual: Vec<UsualRecord>,
    /// All others.
    records: Vec<Record>,
    /// Options and payloads, one after the other.
    bytes: Vec<u8>,
    /// The tunnels of segments that are in one.
    tunnels: Vec<TunnelPath>,
}

/// Of a segment, what the headers do not tell.
#[derive(Debug)]
struct Circumstances {
    /// Which segment of the round it is.
    place: u32,
    payload_missing: u32,
    ts: Timestamp,
    now: Timestamp,
    bytes: Extent,
}

/// Where the options and, behind those, the payload of a segment lie in the batch's bytes.
#[derive(Debug)]
struct Extent {
    start: usize,
    options_len: u8,
    payload_len: u32,
}

/// The segment of a [usual](crate::decode::Usual) frame.
#[derive(Debug)]
struct UsualRecord {
    about: Circumstances,
    headers: FixedHeaders,
}

/// A segment that borrows nothing.
#[derive(Debug)]
struct Record {
    about: Circumstances,
    /// Which tunnel, or [`NO_TUNNEL`].
    tunnel: u32,
    ip: IpHeader,
    transport: TransportFields,
}

const NO_TUNNEL: u32 = u32::MAX;

/// A [`TransportHeader`] but for the options.
#[derive(Debug)]
enum TransportFields {
    Tcp { ports: (u16, u16), seq: u32, ack: u32, flags: TcpFlags, window: u16, urgent: u16 },
    Udp(UdpHeader),
}

impl Batch {
    /// Adds the segment of a usual frame, which is that of this place in the round.
    #[inline]
    pub(super) fn push_usual(&mut self, place: u32, usual: &Usual<'_>, now: Timestamp) {
        let bytes = self.copy(usual.options(), usual.payload());
        let (ts, payload_missing) = (usual.ts(), usual.payload_missing());
        let about = Circumstances { place, payload_missing, ts, now, bytes };
        self.usual.push(UsualRecord { about, headers: usual.headers() });
    }

    /// Adds a segment of a frame, or of several that were put together; it is that of this place in the round.
    pub(super) fn push_segment(&mut self, place: u32, segment: &Segment<'_>, now: Timestamp) {
        let (transport, options) = match &segment.transport {
            TransportHeader::Tcp(tcp) => {
                let TcpHeader { src_port, dst_port, seq, ack, flags, window, urgent, options } = *tcp;
                let ports = (src_port, dst_port);
                (TransportFields::Tcp { ports, seq, ack, flags, window, urgent }, options)
            }
            TransportHeader::Udp(udp) => (TransportFields::Udp(*udp), &[][..]),
        };
        let tunnel = if segment.tunnel.is_empty() {
            NO_TUNNEL
        } else {
            self.tunnels.push(*segment.tunnel);
            narrow(self.tunnels.len()).saturating_sub(1)
        };
        let Segment { ts, payload_missing, ip, .. } = *segment;
        let bytes = self.copy(options, segment.payload);
        let about = Circumstances { place, payload_missing, ts, now, bytes };
        self.records.push(Record { about, tunnel, ip, transport });
    }

    /// Copies options and payload.
    #[inline]
    fn copy(&mut self, options: &[u8], payload: &[u8]) -> Extent {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(options);
        self.bytes.extend_from_slice(payload);
        let options_len = u8::try_from(options.len()).unwrap_or(u8::MAX);
        Extent { start, options_len, payload_len: narrow(payload.len()) }
    }

    /// How many segments it holds.
    pub(super) fn len(&self) -> usize {
        self.usual.len().saturating_add(self.records.len())
    }

    /// How much memory they take up, in bytes.
    #[inline]
    pub(super) fn size(&self) -> usize {
        let usual = self.usual.len().saturating_mul(size_of::<UsualRecord>());
        let others = self.records.len().saturating_mul(size_of::<Record>());
        usual.saturating_add(others).saturating_add(self.bytes.len())
    }

    /// Hands each segment on, in order, with its place in the round and the time that flows go by.
    #[inline]
    pub(super) fn each(&self, mut each: impl FnMut(u32, Item<'_>, Timestamp)) {
        let mut others = self.records.iter().peekable();
        for record in &self.usual {
            let about = &record.about;
            while let Some(record) = others.next_if(|record| record.about.place < about.place) {
                self.each_other(record, &mut each);
            }
            each(about.place, Item::Usual(Recorded { batch: self, record }), about.now);
        }
        others.for_each(|record| self.each_other(record, &mut each));
    }

    fn each_other(&self, record: &Record, each: &mut impl FnMut(u32, Item<'_>, Timestamp)) {
        let Record { about, tunnel, ip, transport } = record;
        let (options, payload) = self.bytes_of(&about.bytes);
        let transport = match transport {
            TransportFields::Tcp { ports, seq, ack, flags, window, urgent } => {
                TransportHeader::Tcp(TcpHeader {
                    src_port: ports.0,
                    dst_port: ports.1,
                    seq: *seq,
                    ack: *ack,
                    flags: *flags,
                    window: *window,
                    urgent: *urgent,
                    options,
                })
            }
            TransportFields::Udp(udp) => TransportHeader::Udp(*udp),
        };
        let segment = Segment {
            ts: about.ts,
            ip: *ip,
            transport,
            payload,
            payload_missing: about.payload_missing,
            tunnel: self.tunnels.get(*tunnel as usize).unwrap_or(&TunnelPath::EMPTY),
        };
        each(about.place, Item::Other(&segment), about.now);
    }

    /// The options and the payload of a segment.
    #[inline]
    fn bytes_of(&self, extent: &Extent) -> (&[u8], &[u8]) {
        let bytes = self.bytes.get(extent.start..).unwrap_or_default();
        let (options, rest) = bytes.split_at_checked(extent.options_len.into()).unwrap_or_default();
        (options, rest.get(..extent.payload_len as usize).unwrap_or_default())
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.usual.clear();
        self.records.clear();
        self.bytes.clear();
        self.tunnels.clear();
    }
}

/// A segment of a batch.
pub(super) enum Item<'b> {
    Usual(Recorded<'b>),
    Other(&'b Segment<'b>),
}

/// That of a usual frame, as it is in the batch.
pub(super) struct Recorded<'b> {
    batch: &'b Batch,
    record: &'b UsualRecord,
}

impl Prospect for Recorded<'_> {
    #[inline(always)]
    fn outline(&self) -> Outline {
        let UsualRecord { about, headers } = self.record;
        headers.outline(about.ts)
    }

    #[inline(always)]
    fn segment(&self) -> Segment<'_> {
        let UsualRecord { about, headers } = self.record;
        let (options, payload) = self.batch.bytes_of(&about.bytes);
        headers.segment(about.ts, options, payload, about.payload_missing)
    }
}

/// A batch is handed on long before a place in it no longer fits in 32 bits.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
