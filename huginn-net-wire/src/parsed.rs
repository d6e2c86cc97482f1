//! What a parser read.

/// A value that was read from the first of some bytes.
///
/// Parsers from bytes return `Ok(None)` while more bytes are needed, and an error where no further bytes could help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// How many bytes it took. Those behind them were not looked at.
    pub consumed: usize,
}

impl<T> Parsed<T> {
    /// A value that took so many bytes.
    pub const fn new(value: T, consumed: usize) -> Self {
        Self { value, consumed }
    }
}
