//! Sizes of what the SSH parser has per connection and direction.

use super::*;
use crate::SshPeers;

#[test]
fn sizes_have_reasons() {
    check_size::<SshParser>(16, "per connection with payload: most do not use SSH, so the rest is boxed");
    check_size::<Connection>(104, "per connection that may use SSH: both sides");
    check_size::<Direction>(48, "per side: the start of an incomplete line or packet");
    check_size::<SshPeers>(8, "per flow: boxed, because few flows use SSH");
    check_size::<SshStreamEvent>(48, "per event: a string or a list of names");
}

/// Prints the size of a type, and checks that it is at most `maximum` bytes.
#[expect(clippy::print_stdout, reason = "the test is also a report")]
fn check_size<T>(maximum: usize, reason: &str) {
    let (name, size) = (std::any::type_name::<T>(), size_of::<T>());
    println!("{size:>5} of {maximum:>5} bytes: {name}, {reason}");
    assert!(size <= maximum, "{name} has {size} bytes, more than {maximum}: {reason}");
}
