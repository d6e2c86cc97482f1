//! The classic pcap format.

use super::Record;
use super::byte_order::ByteOrder;
use super::error::{Defect, Part, ReadError};
use super::limits::MAX_FRAME_LEN;
use super::stream::Stream;
use huginn_net_core::{Cursor, LinkType, Timestamp};

const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
/// Length of a record header of the modified format, which adds interface index, protocol and packet type.
const MODIFIED_RECORD_HEADER_LEN: usize = 24;

const MAGIC_MICROS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOS: u32 = 0xa1b2_3c4d;
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

/// Offset of the captured length in a record header of every variant.
const CAPTURED_LEN_OFFSET: usize = 8;

const MICROS_PER_SECOND: u32 = 1_000_000;

/// The properties of all records, from the file header.
#[derive(Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanos: bool,
    record_header_len: usize,
    link: LinkType,
}

impl Pcap {
    /// Reads the file header. Returns `None` if the first bytes are not a magic number of this format.
    pub(super) fn open(stream: &mut Stream) -> Result<Option<Self>, ReadError> {
        let mut head = Cursor::new(stream.ensure(FILE_HEADER_LEN)?);
        let left = head.remaining();
        let Ok(magic) = head.u32_be() else { return Ok(None) };
        let Some((order, nanos, record_header_len)) = dialect(magic) else { return Ok(None) };
        if left < FILE_HEADER_LEN {
            return Err(Defect::cut(Part::FileHeader, FILE_HEADER_LEN, left).into());
        }
        let (major, minor) = (order.u16(&mut head)?, order.u16(&mut head)?);
        // Older versions swap the two lengths of a record; no tool has written them since 1996.
        if major != 2 || minor < 3 {
            return Err(Defect::Version { major, minor }.into());
        }
        // Time zone and accuracy are always 0, and records may exceed the snap length.
        head.skip(12)?;
        // The upper half describes the frame check sequence.
        let [_, _, high, low] = order.u32(&mut head)?.to_be_bytes();
        let link = LinkType(u16::from_be_bytes([high, low]));
        stream.take(FILE_HEADER_LEN);
        Ok(Some(Self { order, nanos, record_header_len, link }))
    }

    /// Reads the next record.
    #[inline]
    pub(super) fn next(&self, stream: &mut Stream) -> Result<Option<Record>, ReadError> {
        stream.set_mark();
        let header_len = self.record_header_len;
        let unread = stream.ensure(header_len)?;
        let left = unread.len();
        let header = unread.first_chunk::<RECORD_HEADER_LEN>().filter(|_| left >= header_len);
        let Some(header) = header else {
            return if left == 0 {
                Ok(None)
            } else {
                Err(Defect::cut(Part::RecordHeader, header_len, left).into())
            };
        };
        let mut head = Cursor::new(header);
        let seconds = self.order.u32(&mut head)?;
        let fraction = self.order.u32(&mut head)?;
        let captured = self.order.u32(&mut head)?;
        let original = self.order.u32(&mut head)?;
        let data_len = captured as usize;
        if data_len > MAX_FRAME_LEN {
            return Err(Defect::FrameLength { len: captured, max: MAX_FRAME_LEN }.into());
        }
        let len = header_len.saturating_add(data_len);
        let left = stream.ensure(len)?.len();
        if left < len {
            return Err(Defect::cut(Part::Record, data_len, left.saturating_sub(header_len)).into());
        }
        Ok(Some(Record {
            ts: self.time(seconds, fraction),
            link: self.link,
            wire_len: original.max(captured),
            len,
            data: header_len..len,
        }))
    }

    /// Whether the first record is complete.
    #[inline]
    pub(super) fn has_complete_frame(&self, unread: &[u8]) -> bool {
        let mut head = Cursor::new(unread);
        let len = head.skip(CAPTURED_LEN_OFFSET).and_then(|()| self.order.u32(&mut head));
        len.is_ok_and(|len| unread.len() >= self.record_header_len.saturating_add(len as usize))
    }

    #[inline]
    fn time(&self, seconds: u32, fraction: u32) -> Timestamp {
        let seconds = u64::from(seconds);
        if self.nanos {
            return Timestamp::new(seconds, fraction, 9);
        }
        // Some writers store a second or more in the fraction.
        let seconds = seconds.saturating_add(u64::from(fraction / MICROS_PER_SECOND));
        Timestamp::new(seconds, (fraction % MICROS_PER_SECOND).saturating_mul(1000), 6)
    }
}

/// Returns byte order, whether timestamps are in nanoseconds, and the length of a record header, by magic number
/// (read with the most significant byte first).
fn dialect(magic: u32) -> Option<(ByteOrder, bool, usize)> {
    let (order, magic) = match magic.to_be_bytes() {
        [0xa1, ..] => (ByteOrder::Big, magic),
        _ => (ByteOrder::Little, magic.swap_bytes()),
    };
    match magic {
        MAGIC_MICROS => Some((order, false, RECORD_HEADER_LEN)),
        MAGIC_NANOS => Some((order, true, RECORD_HEADER_LEN)),
        MAGIC_MODIFIED => Some((order, false, MODIFIED_RECORD_HEADER_LEN)),
        _ => None,
    }
}
