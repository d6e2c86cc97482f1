//! All `unsafe` code of this crate, for which no crate has a safe wrapper: the memory that a packet socket shares
//! with the kernel, `getsockname(2)` for addresses as short as the kernel makes them, and settings of interfaces and the clock.
#![allow(unsafe_code, reason = "memory that the kernel writes, and calls that take a pointer")]

use std::ffi::c_void;
use std::mem::offset_of;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{io, ptr, slice};

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};

sockopt_impl!(PacketVersion, SetOnly, libc::SOL_PACKET, libc::PACKET_VERSION, i32);
sockopt_impl!(PacketRxRing, SetOnly, libc::SOL_PACKET, libc::PACKET_RX_RING, libc::tpacket_req3);

/// A ring of blocks in memory shared with the kernel (`TPACKET_V3`; `networking/packet_mmap` of the kernel's
/// documentation).
///
/// A block belongs either to the kernel, which writes frames to it, or to this process; its status says which. Either
/// side hands the block to the other and never takes it back.
pub(super) struct Ring {
    start: NonNull<c_void>,
    /// Length of the ring in bytes, a multiple of `block_len`.
    len: NonZeroUsize,
    /// Length of a block in bytes.
    block_len: NonZeroUsize,
    /// Offset of the oldest block of this process, or else of the next one to receive.
    oldest: usize,
    /// Length of the blocks from there on that belong to this process, in bytes.
    taken: usize,
}

// SAFETY: the memory belongs to the process, not to a thread, and only this value points to it.
unsafe impl Send for Ring {}

impl Ring {
    /// Creates the ring of a socket, of `blocks` blocks of `block_len` bytes, a multiple of the page size. The kernel
    /// delivers a block when it is full or, if it contains a frame, after `max_age`, which is cut to milliseconds.
    ///
    /// # Errors
    /// The error of the system; `OutOfMemory` if fewer blocks may succeed. The socket then has no ring.
    pub(super) fn new(
        socket: BorrowedFd<'_>,
        blocks: usize,
        block_len: NonZeroUsize,
        max_age: Duration,
    ) -> io::Result<Self> {
        let number = |value: usize| u32::try_from(value).map_err(|_| io::ErrorKind::OutOfMemory);
        let len = blocks.checked_mul(block_len.get()).and_then(NonZeroUsize::new);
        let len = len.ok_or(io::ErrorKind::OutOfMemory)?;
        // Zero would leave the timeout to the kernel; older kernels store 16 bits.
        let max_age = u16::try_from(max_age.as_millis()).unwrap_or(u16::MAX).max(1);
        let request = libc::tpacket_req3 {
            tp_block_size: number(block_len.get())?,
            tp_block_nr: number(blocks)?,
            // Unused with `TPACKET_V3`, whose frames have variable lengths, but the kernel checks that the numbers
            // agree.
            tp_frame_size: number(block_len.get())?,
            tp_frame_nr: number(blocks)?,
            tp_retire_blk_tov: max_age.into(),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        setsockopt(&socket, PacketVersion, &(libc::tpacket_versions::TPACKET_V3 as i32))?;
        setsockopt(&socket, PacketRxRing, &request)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: the kernel chooses a free address. The mapping is the ring that the call before created for this
        // socket. The kernel rejects any other length, and it rejects removing or replacing the ring while it is mapped.
        let start = unsafe { mmap(None, len, protection, MapFlags::MAP_SHARED, socket.as_fd(), 0) };
        let start = start.inspect_err(|_| {
            let nothing = libc::tpacket_req3 { tp_block_nr: 0, tp_frame_nr: 0, ..request };
            let _ = setsockopt(&socket, PacketRxRing, &nothing);
        })?;
        Ok(Self { start, len, block_len, oldest: 0, taken: 0 })
    }

    /// Receives the next block if the kernel has delivered it, and returns its offset in the ring.
    pub(super) fn next_block(&mut self) -> Option<usize> {
        if self.taken >= self.len.get() {
            return None;
        }
        let next = self.wrapped(self.oldest.saturating_add(self.taken));
        // Acquire: makes the kernel's writes before the status change visible.
        if self.status(next).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.taken = self.taken.saturating_add(self.block_len.get());
        Some(next)
    }

    /// Whether a block belongs to this process.
    pub(super) fn has_taken(&self) -> bool {
        self.taken > 0
    }

    /// Returns a block that belongs to this process, otherwise an empty slice.
    pub(super) fn block(&self, offset: usize) -> &[u8] {
        self.bytes(offset, self.block_len.get())
    }

    /// Returns bytes of the ring if they lie in one block that belongs to this process, otherwise an empty slice.
    #[inline]
    pub(super) fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        let in_block = offset % self.block_len;
        let block = offset.saturating_sub(in_block);
        let age = if block >= self.oldest {
            block.saturating_sub(self.oldest)
        } else {
            block.saturating_add(self.len.get()).saturating_sub(self.oldest)
        };
        let is_taken = block < self.len.get() && age < self.taken;
        if !is_taken || len > self.block_len.get().saturating_sub(in_block) {
            return &[];
        }
        // SAFETY: the bytes lie within one block, which begins below `len`, a multiple of the block length. The block
        // belongs to this process: the kernel does not write to it until `release_oldest`, which needs the borrow to end.
        unsafe { slice::from_raw_parts(self.start.byte_add(offset).cast().as_ptr(), len) }
    }

    /// Returns the oldest block to the kernel.
    pub(super) fn release_oldest(&mut self) {
        let Some(taken) = self.taken.checked_sub(self.block_len.get()) else { return };
        // Release: completes this process's reads before the kernel writes again.
        self.status(self.oldest).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.oldest = self.wrapped(self.oldest.saturating_add(self.block_len.get()));
        self.taken = taken;
    }

    /// Wraps an offset that exceeds the end by less than the length of the ring.
    fn wrapped(&self, offset: usize) -> usize {
        offset.checked_sub(self.len.get()).unwrap_or(offset)
    }

    /// Returns the status of the block at this offset, which must be that of a block in the ring.
    fn status(&self, block: usize) -> &AtomicU32 {
        let offset = block.saturating_add(offset_of!(libc::tpacket_block_desc, hdr.bh1.block_status));
        // SAFETY: `oldest` and the offset of the next block are multiples of the block length below `len`. So the status
        // lies within the ring, and it is aligned because blocks begin at page boundaries. Only the owner of a block
        // writes its status, only the other side reads it, and both use atomic operations.
        unsafe { AtomicU32::from_ptr(self.start.byte_add(offset).cast().as_ptr()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the address and length are those of `mmap`, and no borrow of the ring is left. The kernel keeps its own
        // reference to the memory.
        let _ = unsafe { munmap(self.start, self.len.get()) };
    }
}

/// A zeroed address.
const EMPTY_ADDRESS: libc::sockaddr_ll = libc::sockaddr_ll {
    sll_family: 0,
    sll_protocol: 0,
    sll_ifindex: 0,
    sll_hatype: 0,
    sll_pkttype: 0,
    sll_halen: 0,
    sll_addr: [0; 8],
};

/// Returns the address that a packet socket is bound to.
pub(super) fn bound_to(socket: BorrowedFd<'_>) -> io::Result<libc::sockaddr_ll> {
    let mut address = EMPTY_ADDRESS;
    let mut len = libc::socklen_t::try_from(size_of_val(&address)).unwrap_or(0);
    // SAFETY: the kernel writes at most `len` bytes, the length of `address`, and every bit pattern of it is valid.
    let outcome =
        unsafe { libc::getsockname(socket.as_raw_fd(), ptr::from_mut(&mut address).cast(), &raw mut len) };
    if outcome == 0 { Ok(address) } else { Err(io::Error::last_os_error()) }
}

/// Commands of `SIOCETHTOOL` (`linux/ethtool.h`) that read settings and need no privilege.
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_GGRO: u32 = 0x2b;

/// `ETH_FLAG_LRO`: the card joins received segments.
const FLAG_LRO: u32 = 1 << 15;

/// Whether the kernel joins received segments (GRO).
pub(crate) fn joins_segments(socket: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
    // struct ethtool_value: the command and the value.
    let [_, value] = ethtool(socket, name, [ETHTOOL_GGRO, 0])?;
    Ok(value != 0)
}

/// Whether the card joins received segments (LRO).
pub(crate) fn card_joins_segments(socket: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
    let [_, flags] = ethtool(socket, name, [ETHTOOL_GFLAGS, 0])?;
    Ok(flags & FLAG_LRO != 0)
}

/// Returns the number of receive descriptors of a card, and the maximum.
pub(crate) fn receive_ring(socket: BorrowedFd<'_>, name: &str) -> io::Result<(u32, u32)> {
    // struct ethtool_ringparam: the command, four maxima and four numbers, those of the receive ring first.
    let [_, max, _, _, _, len, ..] = ethtool(socket, name, [ETHTOOL_GRINGPARAM, 0, 0, 0, 0, 0, 0, 0, 0])?;
    Ok((len, max))
}

/// Reads a setting. `words` is the structure of the command in its first word, which the kernel fills.
fn ethtool<const N: usize>(socket: BorrowedFd<'_>, name: &str, mut words: [u32; N]) -> io::Result<[u32; N]> {
    let mut ifr_name = [0; libc::IFNAMSIZ];
    // The last byte stays zero.
    for (to, from) in ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_data: ptr::from_mut(&mut words).cast() };
    let mut request = libc::ifreq { ifr_name, ifr_ifru };
    // SAFETY: the callers pass words of the length that the structure of the command has, and the kernel writes no more. Both
    // structures live until the call returns, and every bit pattern of them is valid.
    let outcome =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
    if outcome == 0 { Ok(words) } else { Err(io::Error::last_os_error()) }
}

/// Whether a program keeps the clock of the system correct, and by how many microseconds it may be wrong (`adjtimex(2)`).
pub(crate) fn clock() -> io::Result<(bool, u64)> {
    // SAFETY: `timex` has integers only, for which zeros are valid. Without modes, the call changes nothing.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `timex`, which lives until the call returns.
    if unsafe { libc::adjtimex(&raw mut timex) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((timex.status & libc::STA_UNSYNC == 0, u64::try_from(timex.maxerror).unwrap_or(u64::MAX)))
}
