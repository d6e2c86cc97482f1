//! Parts of a plain file that several threads read at once.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use huginn_net_core::{Part, Parts};

use super::limits::PREFIX_ROOM;

/// Parts of one length; the bytes of each begin at [`PREFIX_ROOM`] of its buffer.
pub(super) struct FileParts {
    file: Arc<File>,
    part_len: usize,
    next: Arc<AtomicU64>,
}

impl FileParts {
    /// Creates parts from the offset in `next` on, which the user of the parts may set again.
    pub(super) fn new(file: Arc<File>, part_len: usize, next: Arc<AtomicU64>) -> Self {
        Self { file, part_len, next }
    }
}

impl Parts for FileParts {
    fn claim(&self) -> u64 {
        self.next.fetch_add(self.part_len as u64, Ordering::Relaxed)
    }

    fn read(&self, offset: u64, mut buffer: Vec<u8>) -> Part {
        let len = PREFIX_ROOM.saturating_add(self.part_len);
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let mut end = PREFIX_ROOM;
        while let Some(room @ [_, ..]) = buffer.get_mut(end..len) {
            let reached = offset.saturating_add(end.saturating_sub(PREFIX_ROOM) as u64);
            match read_at(&self.file, reached, room) {
                Ok(read @ 1..) => end = end.saturating_add(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The reader of the capture reads there again.
                Ok(0) | Err(_) => break,
            }
        }
        Part { buffer, end, offset }
    }
}

/// Reads a file at an offset.
#[cfg(unix)]
pub(super) fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

/// Reads a file at an offset; by one thread at a time.
#[cfg(not(unix))]
pub(super) fn read_at(mut file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    use std::io::{Read, Seek};

    file.seek(io::SeekFrom::Start(offset))?;
    file.read(out)
}
