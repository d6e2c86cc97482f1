//! The classic pcap format.

use super::Record;
use super::byte_order::ByteOrder;
use super::error::{Defect, Part, ReadError};
use super::interface::{CaptureInterface, TimeResolution};
use super::limits::{CHECKED_RECORDS, MAX_FRAME_LEN};
use super::stream::Stream;
use huginn_net_core::{Cursor, LinkType, Timestamp, Truncated};

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// Length of a record header of the modified format, which adds interface index, protocol and packet type; Red Hat 6.1 wrote it with
/// the usual magic number.
const MODIFIED_RECORD_HEADER_LEN: usize = 24;
/// Length of a record header of an older modified format, which adds two more words; SuSE 6.3 wrote it with the usual magic number.
const LONG_RECORD_HEADER_LEN: usize = 28;
/// Length of a record header of Nokia's firewalls, which adds one word.
const NOKIA_RECORD_HEADER_LEN: usize = 20;

const MAGIC_MICROS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOS: u32 = 0xa1b2_3c4d;
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

/// Offset of the two lengths in a record header of every variant.
const LENGTHS_OFFSET: usize = 8;

/// The largest fractions of a second.
const MAX_MICROS: u32 = 999_999;
const MAX_NANOS: u32 = 999_999_999;

/// The properties of all records, from the file header.
#[derive(Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanos: bool,
    /// [`UNDECIDED`] before the length is known.
    record_header_len: usize,
    /// Lengths of record headers that the magic number permits, the usual one first.
    header_lens: &'static [usize],
    /// Whether the first record was read with the usual length before the second one came.
    has_first: bool,
    lengths: Lengths,
    snap_len: u32,
    link: LinkType,
}

/// The length of record headers as long as a pipe has not shown two of them: no record is then [buffered](Pcap::buffered).
const UNDECIDED: usize = usize::MAX;

/// The order of the two lengths of a record. Version 2.3 reversed it, but some writers of that version kept the old one
/// (libpcap: `sf-pcap.c`, Wireshark: `wiretap/libpcap.c`, which read all versions the same way).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// The captured length, then that on the wire: version 2.4.
    CapturedFirst,
    /// The length on the wire, then the captured one: versions 2.0 to 2.2.
    WireFirst,
    /// Either: version 2.3. The captured length is the smaller one.
    Unknown,
}

impl Lengths {
    fn of_version(minor: u16) -> Self {
        match minor {
            ..=2 => Self::WireFirst,
            3 => Self::Unknown,
            4.. => Self::CapturedFirst,
        }
    }

    /// Returns the captured length, and that on the wire.
    #[inline(always)]
    fn order(self, first: u32, second: u32) -> (u32, u32) {
        match self {
            Self::CapturedFirst => (first, second),
            Self::WireFirst => (second, first),
            Self::Unknown => (first.min(second), first.max(second)),
        }
    }
}

impl Pcap {
    /// Reads the file header. Returns `None` if the first bytes are not a magic number of this format.
    pub(super) fn open(stream: &mut Stream) -> Result<Option<Self>, ReadError> {
        let mut head = Cursor::new(stream.ensure(FILE_HEADER_LEN)?);
        let left = head.remaining();
        let Ok(magic) = head.u32_be() else { return Ok(None) };
        let Some(Dialect { order, nanos, header_lens }) = Dialect::from_magic(magic) else { return Ok(None) };
        if left < FILE_HEADER_LEN {
            return Err(Defect::cut(Part::FileHeader, FILE_HEADER_LEN, left).into());
        }
        let (major, minor) = (order.u16(&mut head)?, order.u16(&mut head)?);
        if major != 2 {
            return Err(Defect::Version { major, minor }.into());
        }
        // Time zone and accuracy are always 0, and records may exceed the snap length.
        head.skip(8)?;
        let snap_len = order.u32(&mut head)?;
        // The upper half describes the frame check sequence.
        let [_, _, high, low] = order.u32(&mut head)?.to_be_bytes();
        let link = LinkType(u16::from_be_bytes([high, low]));
        let lengths = Lengths::of_version(minor);
        let records = head.rest();
        let record_header_len = record_header_len(header_lens, records, order, lengths);
        stream.take(FILE_HEADER_LEN);
        let has_first = false;
        Ok(Some(Self { order, nanos, record_header_len, header_lens, has_first, lengths, snap_len, link }))
    }

    /// What the file header says of the interface.
    pub(super) fn interface(&self) -> CaptureInterface {
        let resolution = if self.nanos { TimeResolution::NANOS } else { TimeResolution::MICROS };
        CaptureInterface { link: self.link, snap_len: self.snap_len, resolution }
    }

    /// Returns the next record if all of it is buffered, as most are.
    #[inline(always)]
    pub(super) fn buffered(&self, unread: &[u8]) -> Option<Record> {
        let header = unread.first_chunk::<RECORD_HEADER_LEN>()?;
        let [s0, s1, s2, s3, f0, f1, f2, f3, c0, c1, c2, c3, o0, o1, o2, o3] = *header;
        let [seconds, fraction, first, second] =
            [[s0, s1, s2, s3], [f0, f1, f2, f3], [c0, c1, c2, c3], [o0, o1, o2, o3]]
                .map(|bytes| self.order.number(bytes));
        let (captured, original) = self.lengths.order(first, second);
        let data_len = captured as usize;
        let len = self.record_header_len.saturating_add(data_len);
        if data_len > MAX_FRAME_LEN || len > unread.len() {
            return None;
        }
        Some(Record {
            ts: self.time(seconds, fraction),
            link: self.link,
            wire_len: original.max(captured),
            len,
            data: self.record_header_len..len,
        })
    }

    /// Reads the next record.
    pub(super) fn next(&mut self, stream: &mut Stream) -> Result<Option<Record>, ReadError> {
        if self.record_header_len != UNDECIDED {
            return self.next_decided(stream);
        }
        if self.has_first {
            stream.ensure(self.usual_len())?;
            self.decide_by_second(stream)?;
            return self.next_decided(stream);
        }
        // The first record does not wait for the second one.
        let unread = stream.ensure(self.usual_len())?;
        let len = self.usual_len().saturating_add(self.captured_len(unread).unwrap_or(0) as usize);
        let unread = if len <= MAX_FRAME_LEN { stream.ensure(len)? } else { unread };
        self.record_header_len = record_header_len(self.header_lens, unread, self.order, self.lengths);
        let is_decided = self.record_header_len != UNDECIDED;
        if !is_decided {
            self.record_header_len = self.usual_len();
        }
        let next = self.next_decided(stream);
        if !is_decided && let Ok(Some(_)) = next {
            (self.record_header_len, self.has_first) = (UNDECIDED, true);
        }
        next
    }

    /// Chooses the length of record headers by the second one. The first record was read with the usual length: the rest of it comes first.
    fn decide_by_second(&mut self, stream: &mut Stream) -> Result<(), ReadError> {
        let Self { order, lengths, header_lens, .. } = *self;
        let usual = self.usual_len();
        self.record_header_len = usual;
        let first = |records: &[u8]| first_headers(records, order, lengths, usual).next();
        if first(stream.unread()).is_none_or(|header| header.is_possible()) {
            return Ok(());
        }
        // The shortest first: a longer one may wait for bytes of the third record.
        let longest = header_lens.iter().max().copied().unwrap_or(usual);
        for len in (usual..=longest).filter(|len| header_lens.contains(len)) {
            let rest = len.saturating_sub(usual);
            let unread = stream.ensure(rest.saturating_add(usual))?;
            let header = first(unread.get(rest..).unwrap_or_default());
            if header.is_some_and(|header| header.is_possible() && header.captured > 0) {
                stream.take(rest);
                self.record_header_len = len;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The usual length of record headers with this magic number.
    fn usual_len(&self) -> usize {
        self.header_lens.first().copied().unwrap_or(RECORD_HEADER_LEN)
    }

    fn next_decided(&self, stream: &mut Stream) -> Result<Option<Record>, ReadError> {
        stream.set_mark();
        let header_len = self.record_header_len;
        let unread = stream.ensure(header_len)?;
        let left = unread.len();
        if left == 0 {
            return Ok(None);
        }
        if left < header_len {
            return Err(Defect::cut(Part::RecordHeader, header_len, left).into());
        }
        let captured = self.captured_len(unread)?;
        let data_len = captured as usize;
        if data_len > MAX_FRAME_LEN {
            return Err(Defect::FrameLength { len: captured, max: MAX_FRAME_LEN }.into());
        }
        let len = header_len.saturating_add(data_len);
        let unread = stream.ensure(len)?;
        if unread.len() < len {
            return Err(Defect::cut(Part::Record, data_len, unread.len().saturating_sub(header_len)).into());
        }
        Ok(self.buffered(unread))
    }

    /// Whether the first record is complete.
    #[inline]
    pub(super) fn has_complete_frame(&self, unread: &[u8]) -> bool {
        let header_len =
            if self.record_header_len == UNDECIDED { self.usual_len() } else { self.record_header_len };
        self.captured_len(unread).is_ok_and(|len| unread.len() >= header_len.saturating_add(len as usize))
    }

    /// The captured length of a record, from its header.
    #[inline]
    fn captured_len(&self, header: &[u8]) -> Result<u32, Truncated> {
        let mut head = Cursor::new(header);
        head.skip(LENGTHS_OFFSET)?;
        let (first, second) = (self.order.u32(&mut head)?, self.order.u32(&mut head)?);
        Ok(self.lengths.order(first, second).0)
    }

    #[inline]
    fn time(&self, seconds: u32, fraction: u32) -> Timestamp {
        let seconds = u64::from(seconds);
        // Some writers store a second or more in the fraction. The seconds stay, as p0f and tcpdump have them.
        if self.nanos {
            return Timestamp::new(seconds, fraction.min(MAX_NANOS), 9);
        }
        Timestamp::new(seconds, fraction.min(MAX_MICROS).saturating_mul(1000), 6)
    }
}

/// What a magic number says.
struct Dialect {
    order: ByteOrder,
    nanos: bool,
    /// Lengths of record headers that files with this magic number have, the usual one first.
    header_lens: &'static [usize],
}

impl Dialect {
    /// Reads a magic number, most significant byte first.
    fn from_magic(magic: u32) -> Option<Self> {
        let (order, magic) = match magic.to_be_bytes() {
            [0xa1, ..] => (ByteOrder::Big, magic),
            _ => (ByteOrder::Little, magic.swap_bytes()),
        };
        let (nanos, header_lens): (bool, &[usize]) = match magic {
            MAGIC_MICROS => (
                false,
                &[
                    RECORD_HEADER_LEN,
                    MODIFIED_RECORD_HEADER_LEN,
                    LONG_RECORD_HEADER_LEN,
                    NOKIA_RECORD_HEADER_LEN,
                ],
            ),
            MAGIC_NANOS => (true, &[RECORD_HEADER_LEN]),
            MAGIC_MODIFIED => (false, &[MODIFIED_RECORD_HEADER_LEN, LONG_RECORD_HEADER_LEN]),
            _ => return None,
        };
        Some(Self { order, nanos, header_lens })
    }
}

/// Chooses the length of record headers: the first one, unless a number in the first records is impossible with it, and another length fits.
/// Wireshark does the same. [`UNDECIDED`] if there are several lengths, and no second record yet.
fn record_header_len(header_lens: &[usize], records: &[u8], order: ByteOrder, lengths: Lengths) -> usize {
    let usual = header_lens.first().copied().unwrap_or(RECORD_HEADER_LEN);
    let headers = |len| first_headers(records, order, lengths, len);
    if headers(usual).all(|header| header.is_possible()) {
        let is_decided = header_lens.len() == 1 || headers(usual).count() > 1;
        return if is_decided { usual } else { UNDECIDED };
    }
    let fits = |len: &&usize| {
        let is_frame = |header: FirstHeader| header.is_possible() && header.captured > 0;
        headers(**len).count() > 1 && headers(**len).all(is_frame)
    };
    header_lens.iter().find(fits).copied().unwrap_or(usual)
}

/// The numbers of a record header that show whether it is one.
struct FirstHeader {
    fraction: u32,
    captured: u32,
    wire: u32,
}

impl FirstHeader {
    fn is_possible(&self) -> bool {
        self.fraction <= MAX_MICROS && self.captured <= self.wire && self.wire as usize <= MAX_FRAME_LEN
    }
}

/// The headers of the first records, if each has this length.
fn first_headers(
    mut records: &[u8],
    order: ByteOrder,
    lengths: Lengths,
    len: usize,
) -> impl Iterator<Item = FirstHeader> {
    std::iter::from_fn(move || {
        let header = records.first_chunk::<RECORD_HEADER_LEN>()?;
        let [_, _, _, _, f0, f1, f2, f3, c0, c1, c2, c3, o0, o1, o2, o3] = *header;
        let [fraction, first, second] =
            [[f0, f1, f2, f3], [c0, c1, c2, c3], [o0, o1, o2, o3]].map(|bytes| order.number(bytes));
        let (captured, wire) = lengths.order(first, second);
        records = records.get(len.saturating_add(captured as usize)..).unwrap_or_default();
        Some(FirstHeader { fraction, captured, wire })
    })
    .take(CHECKED_RECORDS)
}
