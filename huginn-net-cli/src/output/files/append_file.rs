//! Opening of regular files, pipes and devices for appending.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::SystemTime;

use crate::paths::open_output;

/// File opened for appending.
#[derive(Debug, Default)]
pub(super) struct AppendFile {
    /// `None` while the pipe has no reader.
    pub(super) file: Option<File>,
    /// Identity of the file, independent of its name.
    pub(super) id: Option<FileId>,
    /// Whether it is a regular file, which can be rotated, truncated and read.
    pub(super) regular: bool,
    pub(super) len: u64,
    pub(super) modified: Option<SystemTime>,
}

/// Device and inode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::output) struct FileId(u64, u64);

impl From<&Metadata> for FileId {
    fn from(found: &Metadata) -> Self {
        Self(found.dev(), found.ino())
    }
}

impl AppendFile {
    /// Opens a file for appending, or creates it. `has_lines`: whether a last line without an end gets one.
    pub(super) fn append(path: &Path, has_lines: bool) -> io::Result<Self> {
        // A pipe that is also open for reading would never report that its reader has closed it.
        let is_readable = fs::metadata(path).map_or(true, |found| found.is_file());
        let mut options = OpenOptions::new();
        options.append(true).create(true).read(is_readable);
        let mut file = open_output(path, &mut options, if is_pipe(path) { NONBLOCK } else { 0 })?;
        let found = file.metadata()?;
        let regular = found.is_file();
        let mut len = if regular { found.len() } else { 0 };
        if len > 0 && has_lines && !ends_a_line(&mut file)? {
            file.write_all(b"\n")?;
            len = len.saturating_add(1);
        }
        let id = Some(FileId::from(&found));
        Ok(Self { file: Some(file), id, regular, len, modified: found.modified().ok() })
    }
}

/// Opens a regular file for appending, or creates it. Returns whether it has text, too.
pub(in crate::output) fn append(path: &Path) -> io::Result<(File, bool)> {
    let AppendFile { file, len, .. } = AppendFile::append(path, true)?;
    Ok((file.ok_or(io::ErrorKind::NotFound)?, len > 0))
}

pub(super) fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opens a pipe without blocking on its reader.
#[cfg(target_os = "linux")]
const NONBLOCK: i32 = nix::fcntl::OFlag::O_NONBLOCK.bits();
/// Other systems block on the reader.
#[cfg(not(target_os = "linux"))]
const NONBLOCK: i32 = 0;

/// Whether the pipe has no reader.
#[cfg(target_os = "linux")]
pub(in crate::output) fn is_without_reader(error: &io::Error) -> bool {
    error.raw_os_error() == without_reader().raw_os_error()
}

#[cfg(not(target_os = "linux"))]
pub(in crate::output) fn is_without_reader(_error: &io::Error) -> bool {
    false
}

#[cfg(target_os = "linux")]
pub(super) fn without_reader() -> io::Error {
    nix::errno::Errno::ENXIO.into()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn without_reader() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
