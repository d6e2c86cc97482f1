//! Sizes of what the HTTP parser has per connection.

use super::*;

#[test]
fn sizes_have_reasons() {
    check_size::<HttpParser>(
        16,
        "per connection with payload: most do not use HTTP, so its readers are boxed",
    );
    check_size::<Http1>(224, "per HTTP/1 connection: a reader for each side, pending requests");
    check_size::<Http2>(680, "per HTTP/2 connection: a frame and the HPACK table of each side");
    check_size::<HttpEvent>(112, "per event, moved once: a head, and two shared fingerprints");
}

/// Prints the size of a type, and checks that it is at most `maximum` bytes.
#[expect(clippy::print_stdout, reason = "the test is also a report")]
fn check_size<T>(maximum: usize, reason: &str) {
    let (name, size) = (std::any::type_name::<T>(), size_of::<T>());
    println!("{size:>5} of {maximum:>5} bytes: {name}, {reason}");
    assert!(size <= maximum, "{name} has {size} bytes, more than {maximum}: {reason}");
}
