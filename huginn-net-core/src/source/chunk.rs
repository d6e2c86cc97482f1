//! Chunks of a source that several threads read at once.

/// Reads the chunks of a source, each in the thread that then [fills](crate::Source::fill) a block from it.
///
/// Chunks follow each other. Threads read them at the same time. One thread at a time finds the frames in them, in the order of the
/// chunks.
pub trait ChunkReader: Send + Sync {
    /// Returns the offset of the next chunk, in bytes. The analysis calls it once for each block, in order.
    fn claim(&self) -> u64;

    /// Reads the chunk at this offset into a buffer, whose content is arbitrary. A chunk ends early at the end of the source or at an
    /// error. The source then reads from there, and reports the error.
    fn read(&self, offset: u64, buffer: Vec<u8>) -> Chunk;
}

/// Bytes of a source that were read before [`Source::fill`](crate::Source::fill).
#[derive(Debug)]
pub struct Chunk {
    /// The bytes, after as many others as their source chooses.
    pub buffer: Vec<u8>,
    /// The end of the bytes in the buffer.
    pub end: usize,
    /// Offset in the source of the first byte.
    pub offset: u64,
}
