//! The result of pushing bytes to an incremental reader.

use crate::Parsed;

/// The result of pushing the next bytes to an incremental reader.
///
/// A reader of one value returns the value once. A reader of several passes them to a closure, and is done after the last one.
///
/// ```
/// use huginn_net_wire::{Parsed, Progress};
///
/// /// Adds bytes until the sum is 10.
/// fn push(sum: &mut u8, bytes: &[u8]) -> Progress<u8> {
///     for (byte, consumed) in bytes.iter().zip(1..) {
///         *sum += byte;
///         if *sum >= 10 {
///             return Progress::Done(Parsed::new(*sum, consumed));
///         }
///     }
///     Progress::NeedMore
/// }
///
/// let mut sum = 0;
/// assert_eq!(push(&mut sum, &[1, 2, 3]), Progress::NeedMore);
/// let Progress::Done(Parsed { value, consumed }) = push(&mut sum, &[4, 5]) else { panic!("the sum is 10") };
/// assert_eq!((value, consumed), (10, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// The value needs more bytes. All bytes of this call were read.
    NeedMore,
    /// The value, which is now complete, and the number of bytes of this call that belong to it. The rest was not read.
    Done(Parsed<T>),
}

impl<T> Progress<T> {
    /// Creates the result of a call that completes a value.
    pub const fn complete(value: T, consumed: usize) -> Self {
        Self::Done(Parsed::new(value, consumed))
    }

    /// The value with its number of bytes, if this call completed it.
    pub fn done(self) -> Option<Parsed<T>> {
        match self {
            Self::NeedMore => None,
            Self::Done(parsed) => Some(parsed),
        }
    }

    /// The value, if this call completed it.
    pub fn value(self) -> Option<T> {
        self.done().map(|parsed| parsed.value)
    }

    /// How many of the `len` bytes of this call were consumed: all of them if the value needs more.
    pub fn consumed_of(&self, len: usize) -> usize {
        match self {
            Self::NeedMore => len,
            Self::Done(parsed) => parsed.consumed,
        }
    }

    /// Whether the value needs more bytes.
    pub const fn needs_more(&self) -> bool {
        matches!(self, Self::NeedMore)
    }
}
