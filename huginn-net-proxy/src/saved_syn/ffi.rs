//! The system calls of saved SYNs, and all `unsafe` code of this crate: no crate has a safe wrapper of `TCP_SAVED_SYN`,
//! whose value has no fixed length.
#![expect(unsafe_code, reason = "a call that takes a pointer")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::SetSockOpt;

use crate::limits::MAX_SAVED_SYN_LEN;

mod option {
    #![allow(missing_docs, unreachable_pub, reason = "the macro declares a public type")]

    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(SaveSyn, SetOnly, libc::IPPROTO_TCP, libc::TCP_SAVE_SYN, bool);
}

/// Sets `TCP_SAVE_SYN` to 1: the network and transport headers are saved.
pub(super) fn enable(listener: BorrowedFd<'_>) -> io::Result<()> {
    Ok(option::SaveSyn.set(&listener, &true)?)
}

/// Reads `TCP_SAVED_SYN`. Empty if the kernel has none.
pub(super) fn take(stream: BorrowedFd<'_>) -> io::Result<Box<[u8]>> {
    let mut buffer = [0_u8; MAX_SAVED_SYN_LEN];
    let mut len = libc::socklen_t::try_from(buffer.len()).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open, because it is borrowed. `buffer` has `len` bytes, and both live until the call
    // returns, which writes at most `len` bytes and their number.
    let outcome = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_SAVED_SYN,
            buffer.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    let len = usize::try_from(len).map_err(io::Error::other)?;
    Ok(buffer.get(..len).unwrap_or_default().into())
}
