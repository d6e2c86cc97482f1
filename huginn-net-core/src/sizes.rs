//! Sizes of state, printed by tests with the reason for each: `cargo test sizes_have_reasons -- --nocapture`.

/// Prints the size of a type, and checks that it is at most `maximum` bytes.
#[expect(clippy::print_stdout, reason = "the test is also a report")]
pub(crate) fn check_size<T>(maximum: usize, reason: &str) {
    let (name, size) = (std::any::type_name::<T>(), size_of::<T>());
    println!("{size:>5} of {maximum:>5} bytes: {name}, {reason}");
    assert!(size <= maximum, "{name} has {size} bytes, more than {maximum}: {reason}");
}
