//! Results of calls.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HuginnStatus {
    /// Done.
    Ok = 0,
    /// More bytes are needed.
    Incomplete = 1,
    /// The bytes are of another protocol, or damaged.
    Unrecognized = 2,
    /// The ClientHello or the head of the request is longer than 64 KiB.
    TooLong = 3,
    /// The client has no such value.
    Absent = 4,
    /// The buffer is too small. Only a NUL was written, and the length is that of the value.
    BufferTooSmall = 5,
    /// A pointer is NULL that must not be, or a number has no meaning.
    InvalidArgument = 6,
    /// An error of this library. The client must not be used again, except to free it.
    Internal = 7,
}

/// Runs a call of the interface. A panic becomes a status.
pub(crate) fn guard(call: impl FnOnce() -> Result<(), HuginnStatus>) -> HuginnStatus {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => HuginnStatus::Ok,
        Ok(Err(status)) => status,
        Err(panic) => {
            forget(panic);
            HuginnStatus::Internal
        }
    }
}

/// Runs a call that returns a pointer. A panic becomes NULL.
pub(crate) fn guard_new<T>(call: impl FnOnce() -> T) -> Option<Box<T>> {
    catch_unwind(AssertUnwindSafe(|| Box::new(call()))).map_err(forget).ok()
}

/// The destructor of a panic's value could panic again.
fn forget(panic: Box<dyn std::any::Any + Send>) {
    std::mem::forget(panic);
}

#[cfg(test)]
#[allow(clippy::panic, reason = "the panics are what is tested")]
mod tests {
    use super::*;

    #[test]
    fn panics_become_results() {
        assert_eq!(guard(|| panic!("a fault")), HuginnStatus::Internal);
        assert!(guard_new(|| -> u8 { panic!("a fault") }).is_none());
        assert_eq!(guard(|| Err(HuginnStatus::Absent)), HuginnStatus::Absent);
        assert_eq!(guard_new(|| 1).as_deref(), Some(&1));
    }
}
