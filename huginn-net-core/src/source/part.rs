//! Parts of a source that several threads read at once.

/// Reads the parts of a source, each by the thread that will [fill](crate::Source::fill) a block from it.
///
/// Parts follow each other. Threads read them at the same time, and the source takes them in order: only to find the frames in
/// them is done by one thread at a time.
pub trait Parts: Send + Sync {
    /// Returns the offset of the next part, in bytes. Calls are in the order of the blocks.
    fn claim(&self) -> u64;

    /// Reads the part at this offset into a buffer, whose content is arbitrary. What cannot be read is missing: the source reads there
    /// itself, and reports the error.
    fn read(&self, offset: u64, buffer: Vec<u8>) -> Part;
}

/// Bytes of a source that were read ahead of [`Source::fill`](crate::Source::fill).
#[derive(Debug)]
pub struct Part {
    /// The bytes; the source knows where they begin.
    pub buffer: Vec<u8>,
    /// The end of the bytes in the buffer.
    pub end: usize,
    /// Offset in the source of the first byte.
    pub offset: u64,
}
