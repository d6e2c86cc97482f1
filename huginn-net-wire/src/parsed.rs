//! The result of parsing bytes.

/// A parsed value, and the number of bytes that it consumed.
///
/// Parsers return `Ok(None)` if they need more bytes, and an error if no further bytes could help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// Number of bytes consumed. The parser did not read any bytes after them.
    pub consumed: usize,
}

impl<T> Parsed<T> {
    /// Creates a result.
    pub const fn new(value: T, consumed: usize) -> Self {
        Self { value, consumed }
    }
}
