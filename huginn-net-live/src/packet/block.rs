//! Blocks of a ring, as the kernel writes frames to them.

use std::mem::offset_of;

use huginn_net_core::Timestamp;
use libc::{sockaddr_ll, tpacket_block_desc, tpacket3_hdr};

/// What headers of frames are aligned to (`TPACKET_ALIGNMENT`): so far behind a header the address begins.
const ALIGNMENT: usize = 16;

/// The frames of a block (`struct tpacket_block_desc` of `linux/if_packet.h`, in `TPACKET_V3`), in their order.
///
/// What does not fit into the block ends them.
#[derive(Clone, Debug)]
pub struct BlockFrames<'a> {
    block: &'a [u8],
    /// Where the header of the next frame begins.
    next: usize,
    /// Frames from there on.
    left: u32,
}

/// A frame of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFrame<'a> {
    /// When it was captured.
    pub ts: Timestamp,
    /// Its bytes.
    pub data: &'a [u8],
    /// Offset of its bytes in the block.
    pub start: usize,
    /// How long it was, in bytes, without the tag.
    pub wire_len: u32,
    /// The VLAN tag that was taken off the frame: ethertype (TPID) and tag (TCI), as IEEE 802.1Q has them.
    pub vlan: Option<[u16; 2]>,
    /// `PACKET_HOST`, `PACKET_OUTGOING` and so on (`packet(7)`).
    pub packet_type: u8,
}

impl<'a> BlockFrames<'a> {
    /// All frames of a block.
    pub fn new(block: &'a [u8]) -> Self {
        let number = |place| u32_at(block, place).unwrap_or(0);
        let next = offset(number(offset_of!(tpacket_block_desc, hdr.bh1.offset_to_first_pkt)));
        let left = number(offset_of!(tpacket_block_desc, hdr.bh1.num_pkts));
        Self { block, next, left }
    }
}

impl<'a> Iterator for BlockFrames<'a> {
    type Item = BlockFrame<'a>;

    #[inline]
    fn next(&mut self) -> Option<BlockFrame<'a>> {
        let (next, left) = (self.next, std::mem::take(&mut self.left).checked_sub(1)?);
        let header = self.block.get(next..)?;
        let frame = frame(header, next)?;
        // Frames do not lie in each other, so that no bytes make more of them than there is room for.
        let step = offset(u32_at(header, offset_of!(tpacket3_hdr, tp_next_offset))?);
        if step >= size_of::<tpacket3_hdr>() {
            (self.next, self.left) = (next.saturating_add(step), left);
        }
        Some(frame)
    }
}

/// Reads a frame behind its header (`struct tpacket3_hdr`), which the address of its sender follows
/// (`struct sockaddr_ll`). The header begins at this offset of the block.
#[inline]
fn frame(header: &[u8], at: usize) -> Option<BlockFrame<'_>> {
    const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(ALIGNMENT);
    const PACKET_TYPE: usize = ADDRESS + offset_of!(sockaddr_ll, sll_pkttype);
    let (fields, _) = header.split_first_chunk::<{ ADDRESS + size_of::<sockaddr_ll>() }>()?;
    let start = usize::from(u16_at(fields, offset_of!(tpacket3_hdr, tp_mac))?);
    let len = offset(u32_at(fields, offset_of!(tpacket3_hdr, tp_snaplen))?);
    let seconds = u32_at(fields, offset_of!(tpacket3_hdr, tp_sec))?;
    let nanos = u32_at(fields, offset_of!(tpacket3_hdr, tp_nsec))?;
    let status = u32_at(fields, offset_of!(tpacket3_hdr, tp_status))?;
    let tci = u32_at(fields, offset_of!(tpacket3_hdr, hv1.tp_vlan_tci))?;
    let tpid = u16_at(fields, offset_of!(tpacket3_hdr, hv1.tp_vlan_tpid))?;
    Some(BlockFrame {
        ts: Timestamp::new(seconds.into(), nanos, 9),
        data: header.get(start..start.saturating_add(len))?,
        start: at.saturating_add(start),
        wire_len: u32_at(fields, offset_of!(tpacket3_hdr, tp_len))?,
        vlan: vlan(status, tci, tpid),
        packet_type: *fields.get(PACKET_TYPE)?,
    })
}

/// Kernels before 3.14 say nothing of the ethertype.
#[inline]
fn vlan(status: u32, tci: u32, tpid: u16) -> Option<[u16; 2]> {
    const DOT1Q: u16 = 0x8100;
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_tpid = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    Some([if has_tpid { tpid } else { DOT1Q }, u16::try_from(tci).ok()?])
}

fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    bytes.get(start..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
    bytes.get(start..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn offset(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
