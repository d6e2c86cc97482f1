//! Chunks of a plain file that several threads read at once.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use huginn_net_core::{Chunk, ChunkReader};

use super::limits::PREFIX_ROOM;

/// Reads chunks of one length. The bytes of each begin at [`PREFIX_ROOM`] of its buffer.
pub(super) struct FileChunks {
    file: Arc<File>,
    chunk_len: usize,
    /// The offset of the next chunk to be claimed.
    next: AtomicU64,
}

impl FileChunks {
    /// Creates a reader of chunks from an offset on.
    pub(super) fn new(file: Arc<File>, chunk_len: usize, start: u64) -> Self {
        Self { file, chunk_len, next: AtomicU64::new(start) }
    }

    /// Lets chunks go on at an offset, after one at `dropped` that is not there.
    pub(super) fn continue_at(&self, offset: u64, dropped: u64) {
        // A chunk that was claimed may be there.
        let ahead = offset.checked_sub(dropped).and_then(|ahead| ahead.checked_rem(self.chunk_len as u64));
        if ahead != Some(0) || offset >= self.next.load(Ordering::Relaxed) {
            self.next.store(offset, Ordering::Relaxed);
        }
    }
}

impl ChunkReader for FileChunks {
    fn claim(&self) -> u64 {
        self.next.fetch_add(self.chunk_len as u64, Ordering::Relaxed)
    }

    fn read(&self, offset: u64, mut buffer: Vec<u8>) -> Chunk {
        let len = PREFIX_ROOM.saturating_add(self.chunk_len);
        if buffer.is_empty() {
            buffer = vec![0; len];
        } else if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let mut end = PREFIX_ROOM;
        while let Some(room @ [_, ..]) = buffer.get_mut(end..len) {
            let reached = offset.saturating_add(end.saturating_sub(PREFIX_ROOM) as u64);
            match read_at(&self.file, reached, room) {
                Ok(read @ 1..) => end = end.saturating_add(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        Chunk { buffer, end, offset }
    }
}

/// Reads a file at an offset.
#[cfg(unix)]
pub(super) fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

/// Reads a file at an offset.
#[cfg(windows)]
pub(super) fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, offset)
}
