//! The pcapng format.

mod clock;
mod interface;

use super::byte_order::ByteOrder;
use super::error::{Defect, Part, Stop};
use super::stream::Stream;
use super::{MAX_FRAME_LEN, Record};
use huginn_net_core::{Cursor, Timestamp};
use interface::Interface;

/// How many bytes [`probe`] wants to see.
pub(super) const PROBE_LEN: usize = 12;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and length before the body of a block.
const BLOCK_HEADER_LEN: usize = 8;
/// The length once more, behind the body.
const BLOCK_TRAILER_LEN: usize = 4;
const MIN_BLOCK_LEN: usize = 12;
const MIN_SECTION_HEADER_LEN: usize = 28;

/// The longest block that is held in memory: a frame of the greatest length, and its options. Other blocks are
/// read past, whatever their length.
const MAX_HELD_BLOCK_LEN: usize = 1 << 20;
/// How many interfaces a section may describe; the obsolete packet block cannot number more.
const MAX_INTERFACES: usize = 1 << 16;

/// Whether a file that begins so is of this format.
pub(super) fn probe(head: &[u8]) -> bool {
    let mut head = Cursor::new(head);
    if head.u32_be() != Ok(SECTION_HEADER) {
        return false;
    }
    let _length = head.u32_be();
    // A file that ends before the byte-order magic is cut, not foreign.
    head.u32_be().map_or(true, |magic| byte_order(magic).is_some())
}

/// The state of the section that is being read.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Time of the latest packet, for packets that come without one.
    latest: Timestamp,
}

/// A block at the stream's start.
struct Block {
    kind: u32,
    /// The length as stated.
    stated: u32,
    /// The length as [stored](stored_len).
    len: usize,
}

impl Pcapng {
    pub(super) fn new() -> Self {
        Self { order: ByteOrder::Little, interfaces: Vec::new(), latest: Timestamp::default() }
    }

    /// Finds the next packet.
    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream) -> Result<Option<Record>, Stop> {
        while let Some(block) = self.begin_block(stream)? {
            match block.kind {
                ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                    let body = self.hold(&block, stream)?;
                    let mut record = match block.kind {
                        ENHANCED_PACKET => self.enhanced_packet(body),
                        OBSOLETE_PACKET => self.obsolete_packet(body),
                        _ => self.simple_packet(body),
                    }?;
                    record.len = block.len;
                    self.latest = record.ts;
                    return Ok(Some(record));
                }
                INTERFACE_DESCRIPTION => {
                    let interface = Interface::parse(self.order, self.hold(&block, stream)?)?;
                    if self.interfaces.len() >= MAX_INTERFACES {
                        return Err(Defect::TooManyInterfaces { max: MAX_INTERFACES }.into());
                    }
                    self.interfaces.push(interface);
                    stream.take(block.len);
                }
                _ => self.skip(&block, stream)?,
            }
        }
        Ok(None)
    }

    /// Whether a whole packet comes first, or after other blocks that are whole: then nothing more is read for it, or for the
    /// error that one of them makes.
    #[inline]
    pub(crate) fn begins_with_frame(&self, mut unread: &[u8]) -> bool {
        let mut order = self.order;
        while let Some((kind, behind)) = whole_block(&mut order, unread) {
            if matches!(kind, ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET) {
                return true;
            }
            unread = behind;
        }
        false
    }

    /// Reads type and length of the next block, and of a section header also what all else depends on.
    #[inline]
    fn begin_block(&mut self, stream: &mut Stream) -> Result<Option<Block>, Stop> {
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
        let stated = self.order.u32(&mut head)?;
        let min = min_len(kind);
        if (stated as usize) < min {
            return Err(Defect::BlockLength { len: stated, min }.into());
        }
        Ok(Some(Block { kind, stated, len: stored_len(stated) }))
    }

    #[cold]
    fn begin_section(&mut self, stream: &mut Stream) -> Result<(), Stop> {
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
        Ok(())
    }

    /// Brings a whole block into the buffer and lends its body.
    #[inline]
    fn hold<'s>(&self, block: &Block, stream: &'s mut Stream) -> Result<&'s [u8], Stop> {
        if block.len > MAX_HELD_BLOCK_LEN {
            return Err(Defect::BlockTooLong { len: block.stated, max: MAX_HELD_BLOCK_LEN }.into());
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

    /// Passes over a block of no concern.
    #[cold]
    fn skip(&self, block: &Block, stream: &mut Stream) -> Result<(), Stop> {
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
        if trailer == block.stated || trailer as usize == block.len {
            Ok(())
        } else {
            Err(Defect::BlockTrailer { len: block.stated, trailer })
        }
    }

    #[inline]
    fn enhanced_packet(&self, body: &[u8]) -> Result<Record, Stop> {
        let mut body = Cursor::new(body);
        let id = self.order.u32(&mut body)?;
        self.timed_packet(id, body)
    }

    #[cold]
    fn obsolete_packet(&self, body: &[u8]) -> Result<Record, Stop> {
        let mut body = Cursor::new(body);
        let id = self.order.u16(&mut body)?;
        let _drops = self.order.u16(&mut body)?;
        self.timed_packet(u32::from(id), body)
    }

    /// The fields that the enhanced and the obsolete block have in common.
    #[inline]
    fn timed_packet(&self, id: u32, mut body: Cursor<'_>) -> Result<Record, Stop> {
        let interface = self.interface(id)?;
        let high = self.order.u32(&mut body)?;
        let low = self.order.u32(&mut body)?;
        let captured = self.order.u32(&mut body)?;
        let original = self.order.u32(&mut body)?;
        let ticks = (u64::from(high) << 32) | u64::from(low);
        self.record(interface, interface.clock.time(ticks), captured, original, &body)
    }

    #[cold]
    fn simple_packet(&self, body: &[u8]) -> Result<Record, Stop> {
        let mut body = Cursor::new(body);
        let interface = self.interface(0)?;
        let original = self.order.u32(&mut body)?;
        let captured = if interface.snap_len == 0 { original } else { original.min(interface.snap_len) };
        self.record(interface, self.latest, captured, original, &body)
    }

    fn interface(&self, id: u32) -> Result<&Interface, Defect> {
        self.interfaces.get(id as usize).ok_or(Defect::UnknownInterface { id, known: self.interfaces.len() })
    }

    /// A record whose data are the first `captured` bytes of the rest of its body; its length is left open.
    #[inline]
    fn record(
        &self,
        interface: &Interface,
        ts: Timestamp,
        captured: u32,
        original: u32,
        body: &Cursor<'_>,
    ) -> Result<Record, Stop> {
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

/// The type of the block that comes first, and what is behind it, if that is whole and as long as it should be. A section header
/// tells the byte order.
#[inline]
fn whole_block<'a>(order: &mut ByteOrder, unread: &'a [u8]) -> Option<(u32, &'a [u8])> {
    let mut head = Cursor::new(unread);
    let kind = order.u32(&mut head).ok()?;
    if kind == SECTION_HEADER {
        let magic = unread.get(BLOCK_HEADER_LEN..)?.first_chunk()?;
        *order = byte_order(u32::from_be_bytes(*magic))?;
    }
    let stated = order.u32(&mut head).ok()?;
    let (_, behind) = unread.split_at_checked(stored_len(stated))?;
    (stated as usize >= min_len(kind)).then_some((kind, behind))
}

/// A multiple of four, to which readers round what some writers state.
#[inline]
fn stored_len(stated: u32) -> usize {
    (stated as usize).saturating_add(3) & !3
}

/// The length of a block of this type that has no options and no data.
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

/// The byte order in which this value, read with the most significant byte first, is the byte-order magic.
fn byte_order(magic: u32) -> Option<ByteOrder> {
    if magic == BYTE_ORDER_MAGIC {
        Some(ByteOrder::Big)
    } else if magic.swap_bytes() == BYTE_ORDER_MAGIC {
        Some(ByteOrder::Little)
    } else {
        None
    }
}
