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
    next: Arc<AtomicU64>,
}

impl FileChunks {
    /// Creates a reader of chunks from the offset in `next` on. The stream sets `next` where the file does not go on as the chunks do.
    pub(super) fn new(file: Arc<File>, chunk_len: usize, next: Arc<AtomicU64>) -> Self {
        Self { file, chunk_len, next }
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
