//! The result of parsing bytes.

/// A parsed value, and the number of bytes that it consumed.
///
/// Parsers of a slice return `Ok(None)` if they need more bytes, readers of pieces [`Progress::NeedMore`](crate::Progress), and
/// both an error if no further bytes could help.
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
