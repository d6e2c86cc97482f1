//! Memory of the caller.
#![expect(unsafe_code, reason = "lengths of arrays are what the caller says")]

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;

use crate::HuginnStatus;

/// Bytes of the caller. NULL stands for no bytes if the length is zero.
///
/// # Safety
/// If `start` is not NULL, `len` bytes there are valid for reads, and do not change during `'a`.
pub(crate) unsafe fn bytes<'a>(start: *const u8, len: usize) -> Result<&'a [u8], HuginnStatus> {
    match (start.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(HuginnStatus::InvalidArgument),
        // An object never has more bytes; such a length comes from a fault of the caller, such as -1.
        _ if isize::try_from(len).is_err() => Err(HuginnStatus::InvalidArgument),
        // SAFETY: the caller guarantees it.
        _ => Ok(unsafe { slice::from_raw_parts(start, len) }),
    }
}

/// A buffer of the caller for a text.
///
/// # Safety
/// If `start` is not NULL, `size` bytes there are valid for writes, and nothing else uses them during `'a`.
pub(crate) unsafe fn buffer<'a>(
    start: *mut c_char,
    size: usize,
) -> Result<&'a mut [MaybeUninit<u8>], HuginnStatus> {
    match (start.is_null(), size) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(HuginnStatus::InvalidArgument),
        _ if isize::try_from(size).is_err() => Err(HuginnStatus::InvalidArgument),
        // SAFETY: the caller guarantees it. A `c_char` has the layout of a byte.
        _ => Ok(unsafe { slice::from_raw_parts_mut(start.cast(), size) }),
    }
}

/// Writes a text and a NUL. If they do not fit, writes only the NUL, where there is room.
pub(crate) fn write_text(text: &str, buffer: &mut [MaybeUninit<u8>]) -> Result<(), HuginnStatus> {
    let fits = text.len() < buffer.len();
    let bytes = if fits { text.as_bytes() } else { b"" };
    for (target, byte) in buffer.iter_mut().zip(bytes.iter().chain(b"\0")) {
        target.write(*byte);
    }
    if fits { Ok(()) } else { Err(HuginnStatus::BufferTooSmall) }
}
