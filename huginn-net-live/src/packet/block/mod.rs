//! Parser of ring blocks as the kernel writes them.

use std::mem::offset_of;

use huginn_net_core::Timestamp;
use libc::{sockaddr_ll, tpacket_block_desc, tpacket3_hdr};

/// Alignment of the fields of a frame (`TPACKET_ALIGNMENT`): the address starts at the first multiple after the
/// header.
const ALIGNMENT: usize = 16;

/// Iterator over the frames of a block (`struct tpacket_block_desc` of `linux/if_packet.h`, in `TPACKET_V3`).
///
/// A frame that exceeds the block ends the iteration.
#[derive(Clone, Debug)]
pub struct BlockFrames<'a> {
    block: &'a [u8],
    /// Offset of the next frame's header.
    next: usize,
    /// Number of frames from there on.
    left: u32,
}

/// A frame of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFrame<'a> {
    /// Capture time.
    pub ts: Timestamp,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Offset of the bytes in the block.
    pub start: usize,
    /// Length on the wire without the VLAN tag, in bytes.
    pub wire_len: u32,
    /// The VLAN tag that the kernel removed: TPID and TCI (IEEE 802.1Q).
    pub vlan: Option<[u16; 2]>,
    /// The index of the interface.
    pub interface: u32,
    /// The type of the interface (`ARPHRD_` of `linux/if_arp.h`).
    pub hardware: u16,
    /// `PACKET_HOST`, `PACKET_OUTGOING` and so on (`packet(7)`).
    pub packet_type: u8,
}

impl<'a> BlockFrames<'a> {
    /// Iterates over the frames of a block.
    pub fn new(block: &'a [u8]) -> Self {
        let number = |offset| u32_at(block, offset).unwrap_or(0);
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
        // Frames must not overlap, so that no input yields more frames than fit.
        let step = offset(u32_at(header, offset_of!(tpacket3_hdr, tp_next_offset))?);
        if step >= size_of::<tpacket3_hdr>() {
            (self.next, self.left) = (next.saturating_add(step), left);
        }
        Some(frame)
    }
}

/// Parses a frame header (`struct tpacket3_hdr`), the sender address after it (`struct sockaddr_ll`) and the frame.
/// `at` is the offset of the header in the block.
#[inline]
fn frame(header: &[u8], at: usize) -> Option<BlockFrame<'_>> {
    const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(ALIGNMENT);
    const INTERFACE: usize = ADDRESS + offset_of!(sockaddr_ll, sll_ifindex);
    const HARDWARE: usize = ADDRESS + offset_of!(sockaddr_ll, sll_hatype);
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
        interface: u32_at(fields, INTERFACE)?,
        hardware: u16_at(fields, HARDWARE)?,
        packet_type: *fields.get(PACKET_TYPE)?,
    })
}

/// Returns the removed VLAN tag. Kernels before 3.14 do not report the TPID.
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
