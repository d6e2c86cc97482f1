//! The system calls that no crate wraps, and with them all `unsafe` of this crate: `recvmmsg(2)` without an allocation for
//! each frame that bears a VLAN tag, and `getsockname(2)` for addresses as short as the kernel makes them.
#![allow(unsafe_code, reason = "these calls take pointers")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{mem, ptr};

/// Frames that one call takes at most.
pub(super) const MAX_FRAMES: usize = 64;

/// The address of nothing.
const NOWHERE: libc::sockaddr_ll = libc::sockaddr_ll {
    sll_family: 0,
    sll_protocol: 0,
    sll_ifindex: 0,
    sll_hatype: 0,
    sll_pkttype: 0,
    sll_halen: 0,
    sll_addr: [0; 8],
};

/// Room for the control messages of a frame: time (32 bytes) and auxiliary data (40 bytes) on 64-bit systems.
const CONTROL_LEN: usize = 128;

/// What the kernel writes beside frames, for one call after the other.
pub(super) struct Messages {
    controls: [[u8; CONTROL_LEN]; MAX_FRAMES],
    addresses: [libc::sockaddr_ll; MAX_FRAMES],
    /// Of the frames of the last call.
    lens: [Lens; MAX_FRAMES],
}

#[derive(Clone, Copy)]
struct Lens {
    wire: u32,
    control: usize,
}

/// What the kernel says of one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// How long the frame was, in bytes, whether or not there was room for it.
    pub(super) wire_len: u32,
    /// Its control messages.
    pub(super) control: &'a [u8],
    /// `PACKET_HOST`, `PACKET_OUTGOING` and so on (`packet(7)`).
    pub(super) packet_type: u8,
}

impl Messages {
    pub(super) fn new() -> Self {
        Self {
            controls: [[0; CONTROL_LEN]; MAX_FRAMES],
            addresses: [NOWHERE; MAX_FRAMES],
            lens: [Lens { wire: 0, control: 0 }; MAX_FRAMES],
        }
    }

    /// Takes the frames that are there without waiting, each to the beginning of one of the slots, and tells how many these
    /// are. A frame too long for its slot is cut.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::unnecessary_cast,
        reason = "C libraries differ in the types of lengths and flags; the numbers are small"
    )]
    pub(super) fn receive<'b>(
        &mut self,
        socket: BorrowedFd<'_>,
        slots: impl Iterator<Item = &'b mut [u8]>,
    ) -> io::Result<usize> {
        const NO_BYTES: libc::iovec = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        let mut pieces = [NO_BYTES; MAX_FRAMES];
        // SAFETY: `mmsghdr` holds integers and pointers, for all of which zero is a value.
        let mut headers: [libc::mmsghdr; MAX_FRAMES] = unsafe { mem::zeroed() };
        let mut len = 0_u32;
        let places =
            pieces.iter_mut().zip(&mut headers).zip(self.controls.iter_mut().zip(&mut self.addresses));
        for (((piece, header), (control, address)), slot) in places.zip(slots) {
            piece.iov_base = slot.as_mut_ptr().cast();
            piece.iov_len = slot.len();
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_LEN as _;
            header.msg_hdr.msg_name = ptr::from_mut(address).cast();
            header.msg_hdr.msg_namelen = size_of_address();
            len = len.saturating_add(1);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the first `len` headers point to one piece each, which points to a slot, and to a buffer for control
        // messages and one for an address, all with their true lengths. They are exclusively borrowed, or live on this
        // stack, until the call is over, and distinct; the kernel writes bytes to them of which every value is valid.
        let count = unsafe {
            libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), len, flags as _, ptr::null_mut())
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (lens, header) in self.lens.iter_mut().zip(&headers).take(count) {
            *lens = Lens { wire: header.msg_len, control: header.msg_hdr.msg_controllen as usize };
        }
        Ok(count)
    }

    /// What was said of the first `count` frames of the last call.
    pub(super) fn iter(&self, count: usize) -> impl Iterator<Item = Message<'_>> {
        let places = self.lens.iter().zip(self.controls.iter().zip(&self.addresses));
        places.take(count).map(|(lens, (control, address))| Message {
            wire_len: lens.wire,
            control: control.get(..lens.control).unwrap_or_default(),
            packet_type: address.sll_pkttype,
        })
    }
}

/// The address that a packet socket is bound to.
pub(super) fn bound_to(socket: BorrowedFd<'_>) -> io::Result<libc::sockaddr_ll> {
    let mut address = NOWHERE;
    let mut len = size_of_address();
    // SAFETY: the kernel writes at most `len` bytes, which is the length of `address`, of which every value is valid.
    let outcome =
        unsafe { libc::getsockname(socket.as_raw_fd(), ptr::from_mut(&mut address).cast(), &raw mut len) };
    if outcome == 0 { Ok(address) } else { Err(io::Error::last_os_error()) }
}

fn size_of_address() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or(0)
}
