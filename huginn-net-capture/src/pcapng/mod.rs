//! The pcapng format.

mod clock;
mod interface;
mod options;
mod process;
mod secrets;

use super::Record;
use super::byte_order::ByteOrder;
use super::error::{Defect, Part, ReadError};
use super::interface::CaptureInterface;
use super::limits::{MAX_BUFFERED_BLOCK_LEN, MAX_FRAME_LEN, MAX_INTERFACES};
use super::stream::Stream;
use huginn_net_core::{Cursor, FrameProcess, Timestamp};
use interface::Interface;
use process::{PROCESS_INFORMATION, Processes};
pub(super) use secrets::{contains_secrets, ends_with_secrets};

/// Number of bytes that [`probe`] needs.
pub(super) const PROBE_LEN: usize = 12;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;
const SYSTEMD_JOURNAL: u32 = 9;
const CUSTOM: u32 = 0xbad;
const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;
/// Events of both versions, and large ones. Wireshark does not count those with flags.
const SYSDIG_EVENTS: [u32; 3] = [0x204, 0x216, 0x221];

pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Length of block type and block length before the body, in bytes.
const BLOCK_HEADER_LEN: usize = 8;
/// Length of the repeated block length after the body, in bytes.
const BLOCK_TRAILER_LEN: usize = 4;
const MIN_BLOCK_LEN: usize = 12;
const MIN_SECTION_HEADER_LEN: usize = 28;

/// Whether the first bytes belong to a pcapng file.
pub(super) fn probe(head: &[u8]) -> bool {
    let mut head = Cursor::new(head);
    if head.u32_be() != Ok(SECTION_HEADER) {
        return false;
    }
    let _length = head.u32_be();
    // A file that ends before the byte-order magic is a truncated pcapng file.
    head.u32_be().map_or(true, |magic| byte_order(magic).is_some())
}

/// The state of the current section.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Timestamp of the last packet, for simple packets without one.
    latest: Timestamp,
    /// Number of [records that are not packets](is_other_record) since the last packet, and in all.
    other_records: (u32, u64),
    /// Number of Decryption Secrets Blocks that were passed.
    secrets_blocks: u64,
    /// Called with each key log.
    on_key_log: Option<secrets::OnKeyLog>,
    /// `None` unless processes are [read](Self::read_processes).
    processes: Option<Processes>,
}

/// The block at the start of the stream.
struct Block {
    kind: u32,
    /// The length in the block header.
    stated_len: u32,
    /// The length as [stored](stored_len).
    len: usize,
}

impl Pcapng {
    pub(super) fn new() -> Self {
        Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            latest: Timestamp::default(),
            other_records: (0, 0),
            secrets_blocks: 0,
            on_key_log: None,
            processes: None,
        }
    }

    /// Starts to read process information blocks, and the options of packets that refer to them.
    pub(super) fn read_processes(&mut self) {
        self.processes.get_or_insert_default();
    }

    /// Returns the process of the latest packet; or a defect of its options, or of a process information block before it,
    /// with the offset of the block.
    pub(super) fn latest_process(&mut self) -> Result<Option<FrameProcess<'_>>, (u64, Defect)> {
        self.processes.as_mut().map_or(Ok(None), Processes::latest)
    }

    /// Reads the next packet, after this number of them.
    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream, packets: u64) -> Result<Option<Record>, ReadError> {
        while let Some(block) = self.begin_block(stream)? {
            match block.kind {
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                    let offset = stream.mark();
                    let body = self.buffer_block(&block, stream)?;
                    let mut record = match block.kind {
                        ENHANCED_PACKET => self.enhanced_packet(body),
                        OBSOLETE_PACKET => self.obsolete_packet(body),
                        _ => self.simple_packet(body),
                    }?;
                    record.len = block.len;
                    record.ts = record.ts.with_other_records(std::mem::take(&mut self.other_records.0));
                    self.latest = record.ts;
                    if let Some(processes) = &mut self.processes {
                        processes.begin_packet(self.order, options(block.kind, &record, body), offset);
                    }
                    return Ok(Some(record));
                }
                INTERFACE_DESCRIPTION => {
                    let interface = Interface::parse(self.order, self.buffer_block(&block, stream)?)?;
                    if self.interfaces.len() >= MAX_INTERFACES {
                        return Err(Defect::TooManyInterfaces { max: MAX_INTERFACES }.into());
                    }
                    self.interfaces.push(interface);
                    stream.take(block.len);
                }
                PROCESS_INFORMATION if self.processes.is_some() && block.len <= MAX_BUFFERED_BLOCK_LEN => {
                    let offset = stream.mark();
                    let body = self.buffer_block(&block, stream)?;
                    if let Some(processes) = &mut self.processes {
                        processes.add(self.order, body, offset);
                    }
                    stream.take(block.len);
                }
                kind => {
                    if kind == secrets::DECRYPTION_SECRETS {
                        self.pass_secrets(&block, stream, packets)?;
                    } else {
                        self.skip(&block, stream)?;
                    }
                    if is_other_record(kind) {
                        let (since_packet, all) = self.other_records;
                        self.other_records = (since_packet.saturating_add(1), all.saturating_add(1));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the interface of a frame by its index, if the section describes it.
    pub(super) fn described_interface(&self, index: u16) -> Option<CaptureInterface> {
        self.interfaces.get(usize::from(index)).map(Interface::described)
    }

    /// Returns the number of records so far that are not packets.
    pub(super) fn other_records(&self) -> u64 {
        self.other_records.1
    }

    /// Whether a complete packet is buffered, possibly after other complete blocks. Reading it, or the error of a
    /// block before it, then needs no further input.
    #[inline]
    pub(crate) fn has_complete_frame(&self, mut unread: &[u8]) -> bool {
        let mut order = self.order;
        while let Some((kind, rest)) = complete_block(&mut order, unread) {
            if matches!(kind, ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET) {
                return true;
            }
            unread = rest;
        }
        false
    }

    /// Reads type and length of the next block, and the byte order of a section header.
    #[inline]
    fn begin_block(&mut self, stream: &mut Stream) -> Result<Option<Block>, ReadError> {
        stream.set_mark();
        let mut head = Cursor::new(stream.ensure(MIN_BLOCK_LEN)?);
        let left = head.remaining();
        if left < MIN_BLOCK_LEN {
            return if left == 0 {
                Ok(None)
            } else {
                Err(Defect::cut(Part::BlockHeader, MIN_BLOCK_LEN, left).into())
            };
        }
        let kind = self.order.u32(&mut head)?;
        if kind == SECTION_HEADER {
            self.begin_section(stream)?;
        }
        let mut head = Cursor::new(stream.unread());
        head.skip(4)?;
        let stated_len = self.order.u32(&mut head)?;
        let min = min_len(kind);
        if (stated_len as usize) < min {
            return Err(Defect::BlockLength { len: stated_len, min }.into());
        }
        Ok(Some(Block { kind, stated_len, len: stored_len(stated_len) }))
    }

    #[cold]
    fn begin_section(&mut self, stream: &mut Stream) -> Result<(), ReadError> {
        let mut head = Cursor::new(stream.ensure(MIN_SECTION_HEADER_LEN)?);
        let left = head.remaining();
        if left < MIN_SECTION_HEADER_LEN {
            return Err(Defect::cut(Part::Block, MIN_SECTION_HEADER_LEN, left).into());
        }
        head.skip(BLOCK_HEADER_LEN)?;
        let magic = head.u32_be()?;
        self.order = byte_order(magic).ok_or(Defect::ByteOrderMagic { found: magic })?;
        let (major, minor) = (self.order.u16(&mut head)?, self.order.u16(&mut head)?);
        if major != 1 {
            return Err(Defect::Version { major, minor }.into());
        }
        self.interfaces.clear();
        if let Some(processes) = &mut self.processes {
            processes.clear();
        }
        Ok(())
    }

    /// Buffers a complete block and returns its body.
    #[inline]
    fn buffer_block<'s>(&self, block: &Block, stream: &'s mut Stream) -> Result<&'s [u8], ReadError> {
        self.buffer_block_up_to(block, stream, MAX_BUFFERED_BLOCK_LEN)
    }

    /// Buffers a complete block of at most `max` bytes and returns its body.
    #[inline(always)]
    fn buffer_block_up_to<'s>(
        &self,
        block: &Block,
        stream: &'s mut Stream,
        max: usize,
    ) -> Result<&'s [u8], ReadError> {
        if block.len > max {
            return Err(Defect::BlockTooLong { len: block.stated_len, max }.into());
        }
        let mut bytes = Cursor::new(stream.ensure(block.len)?);
        if bytes.remaining() < block.len {
            return Err(Defect::cut(Part::Block, block.len, bytes.remaining()).into());
        }
        bytes.skip(BLOCK_HEADER_LEN)?;
        let body =
            bytes.take(block.len.saturating_sub(BLOCK_HEADER_LEN).saturating_sub(BLOCK_TRAILER_LEN))?;
        self.check_trailer(block, self.order.u32(&mut bytes)?)?;
        Ok(body)
    }

    /// Skips a block.
    #[cold]
    fn skip(&self, block: &Block, stream: &mut Stream) -> Result<(), ReadError> {
        let before_trailer = block.len.saturating_sub(BLOCK_TRAILER_LEN) as u64;
        let skipped = stream.skip(before_trailer)?;
        let mut trailer = Cursor::new(stream.ensure(BLOCK_TRAILER_LEN)?);
        if skipped < before_trailer || trailer.remaining() < BLOCK_TRAILER_LEN {
            let left = skipped.saturating_add(trailer.remaining() as u64);
            return Err(Defect::Cut { part: Part::Block, needed: block.len as u64, left }.into());
        }
        self.check_trailer(block, self.order.u32(&mut trailer)?)?;
        stream.take(BLOCK_TRAILER_LEN);
        Ok(())
    }

    #[inline]
    fn check_trailer(&self, block: &Block, trailer: u32) -> Result<(), Defect> {
        if trailer == block.stated_len || trailer as usize == block.len {
            Ok(())
        } else {
            Err(Defect::BlockTrailer { len: block.stated_len, trailer })
        }
    }

    #[inline]
    fn enhanced_packet(&self, body: &[u8]) -> Result<Record, ReadError> {
        let mut body = Cursor::new(body);
        let id = self.order.u32(&mut body)?;
        self.timed_packet(id, body)
    }

    #[cold]
    fn obsolete_packet(&self, body: &[u8]) -> Result<Record, ReadError> {
        let mut body = Cursor::new(body);
        let id = self.order.u16(&mut body)?;
        let _drops = self.order.u16(&mut body)?;
        self.timed_packet(u32::from(id), body)
    }

    /// Reads the fields that the enhanced and the obsolete packet block share.
    #[inline]
    fn timed_packet(&self, id: u32, mut body: Cursor<'_>) -> Result<Record, ReadError> {
        let interface = self.interface(id)?;
        let high = self.order.u32(&mut body)?;
        let low = self.order.u32(&mut body)?;
        let captured = self.order.u32(&mut body)?;
        let original = self.order.u32(&mut body)?;
        let ticks = (u64::from(high) << 32) | u64::from(low);
        let ts = interface.clock.time(ticks).with_interface(u16::try_from(id).unwrap_or(u16::MAX));
        self.record(interface, ts, captured, original, &body)
    }

    #[cold]
    fn simple_packet(&self, body: &[u8]) -> Result<Record, ReadError> {
        let mut body = Cursor::new(body);
        let interface = self.interface(0)?;
        let original = self.order.u32(&mut body)?;
        let captured = if interface.snap_len == 0 { original } else { original.min(interface.snap_len) };
        self.record(interface, self.latest.with_interface(0), captured, original, &body)
    }

    fn interface(&self, id: u32) -> Result<&Interface, Defect> {
        self.interfaces.get(id as usize).ok_or(Defect::UnknownInterface { id, known: self.interfaces.len() })
    }

    /// Builds a record whose frame is the first `captured` bytes of the rest of the body. The caller sets its length.
    #[inline]
    fn record(
        &self,
        interface: &Interface,
        ts: Timestamp,
        captured: u32,
        original: u32,
        body: &Cursor<'_>,
    ) -> Result<Record, ReadError> {
        let data_len = captured as usize;
        if data_len > body.remaining() {
            return Err(Defect::FrameBeyondBlock { len: captured, room: body.remaining() }.into());
        }
        if data_len > MAX_FRAME_LEN {
            return Err(Defect::FrameLength { len: captured, max: MAX_FRAME_LEN }.into());
        }
        let start = BLOCK_HEADER_LEN.saturating_add(body.position());
        Ok(Record {
            ts,
            link: interface.link,
            wire_len: original.max(captured),
            len: 0,
            data: start..start.saturating_add(data_len),
        })
    }
}

/// Splits off the first block if it is complete and long enough, and returns its type and the rest. A section header
/// sets the byte order.
#[inline]
fn complete_block<'a>(order: &mut ByteOrder, unread: &'a [u8]) -> Option<(u32, &'a [u8])> {
    let mut head = Cursor::new(unread);
    let kind = order.u32(&mut head).ok()?;
    if kind == SECTION_HEADER {
        let magic = unread.get(BLOCK_HEADER_LEN..)?.first_chunk()?;
        *order = byte_order(u32::from_be_bytes(*magic))?;
    }
    let stated_len = order.u32(&mut head).ok()?;
    let (_, rest) = unread.split_at_checked(stored_len(stated_len))?;
    (stated_len as usize >= min_len(kind)).then_some((kind, rest))
}

/// Returns the options of a packet: what follows the frame and its padding in the body.
#[cold]
fn options<'a>(kind: u32, record: &Record, body: &'a [u8]) -> &'a [u8] {
    let start = record.data.end.next_multiple_of(4).saturating_sub(BLOCK_HEADER_LEN);
    // Simple packets have none.
    body.get(start..).filter(|_| kind != SIMPLE_PACKET).unwrap_or_default()
}

/// Rounds a length up to a multiple of four, as readers do for writers that omit the padding.
#[inline]
fn stored_len(stated_len: u32) -> usize {
    (stated_len as usize).saturating_add(3) & !3
}

/// Whether blocks of this type are records without a packet: custom blocks, entries of the systemd journal and events of
/// Sysdig. Wireshark counts them in `frame.number`.
fn is_other_record(kind: u32) -> bool {
    matches!(kind, CUSTOM | CUSTOM_NOT_COPIED | SYSTEMD_JOURNAL) || SYSDIG_EVENTS.contains(&kind)
}

/// Returns the minimum length of a block of this type: no options, no data.
#[inline]
fn min_len(kind: u32) -> usize {
    match kind {
        ENHANCED_PACKET | OBSOLETE_PACKET => 32,
        INTERFACE_DESCRIPTION => 20,
        SIMPLE_PACKET => 16,
        SECTION_HEADER => MIN_SECTION_HEADER_LEN,
        _ => MIN_BLOCK_LEN,
    }
}

/// Returns the byte order that `magic` indicates, read with the most significant byte first.
fn byte_order(magic: u32) -> Option<ByteOrder> {
    if magic == BYTE_ORDER_MAGIC {
        Some(ByteOrder::Big)
    } else if magic.swap_bytes() == BYTE_ORDER_MAGIC {
        Some(ByteOrder::Little)
    } else {
        None
    }
}
