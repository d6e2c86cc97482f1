//! Output file with rotation by size and time, and reopening on request.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::append_file::{AppendFile, FileId, is_pipe, is_without_reader, without_reader};
use super::compression::Compression;
use super::stamped::StampedFiles;
use crate::output::error::OutputError;
use crate::paths::{PathName, check_directory_writable, parent_directory};

/// Rotation policy. By default, files are not rotated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// Maximum file size in bytes. A single longer line is allowed.
    pub(crate) max_bytes: Option<u64>,
    /// Rotation interval, aligned to 1970-01-01T00:00:00Z: a day ends at midnight UTC.
    pub(crate) every: Option<Duration>,
    /// Number of rotated files to keep; `None` keeps all.
    pub(crate) keep: Option<usize>,
}

impl Rotation {
    pub(in crate::output) fn is_enabled(&self) -> bool {
        self.max_bytes.is_some() || self.every.is_some()
    }

    /// Returns the number of the interval that contains `now`.
    pub(in crate::output) fn period(&self, now: SystemTime) -> u128 {
        since_epoch(now).as_millis().checked_div(self.millis()).unwrap_or(0)
    }

    /// Returns the time until the current interval ends.
    pub(in crate::output) fn rest_of_period(&self, now: SystemTime) -> Option<Duration> {
        let passed = since_epoch(now).as_millis().checked_rem(self.millis())?;
        let rest = u64::try_from(self.millis().saturating_sub(passed)).unwrap_or(u64::MAX);
        Some(Duration::from_millis(rest))
    }

    /// Returns the interval in milliseconds; zero without an interval.
    fn millis(&self) -> u128 {
        self.every.map_or(0, |every| every.as_millis())
    }
}

/// Output file that events are appended to.
#[derive(Debug)]
pub(crate) struct RotatingFile {
    names: StampedFiles,
    /// What is written is compressed already.
    compression: Option<Compression>,
    rotation: Rotation,
    opened: AppendFile,
    /// Length at which the file still had its name, at the last check.
    checked_len: u64,
    /// Interval of the first event in the file.
    period: u128,
}

impl RotatingFile {
    /// Opens a file for appending; creates it with mode 0640 if it does not exist. Terminates a partial last line.
    /// Never blocks on a FIFO without a reader. Sets a compressed file aside: what a crash left at its end may be incomplete, and
    /// would hide what follows.
    pub(crate) fn open(path: &Path, rotation: Rotation, now: SystemTime) -> Result<Self, OutputError> {
        let name = || PathName(path.to_owned());
        let compression = Compression::of(path);
        let names = StampedFiles::new(path.to_owned(), compression.map_or("", Compression::suffix));
        if compression.is_some() && fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
            let set_aside =
                names.unused_name(&parent_directory(path), now).and_then(|name| fs::rename(path, name));
            set_aside.map_err(|source| OutputError::Folder { path: name(), source })?;
        }
        let opened = match AppendFile::append(path, compression.is_none()) {
            // A socket returns the same error.
            Err(error) if is_without_reader(&error) && is_pipe(path) => AppendFile::default(),
            opened => opened.map_err(|source| OutputError::Open { path: name(), source })?,
        };
        check_rotation(path, rotation, opened.regular)?;
        // An existing file shows the time of its last event only, not of its first.
        let last = if opened.len > 0 { opened.modified.unwrap_or(now) } else { now };
        let (checked_len, period) = (opened.len, rotation.period(last));
        Ok(Self { names, compression, rotation, opened, checked_len, period })
    }

    pub(crate) fn path(&self) -> &Path {
        self.names.path()
    }

    /// Rotates by another policy from now on.
    pub(crate) fn rotate_by(&mut self, rotation: Rotation, now: SystemTime) -> Result<(), OutputError> {
        check_rotation(self.names.path(), rotation, self.opened.regular)?;
        self.rotation = rotation;
        self.period = rotation.period(now);
        Ok(())
    }

    /// Whether the file must be rotated before a line of `line` bytes is written. An empty file is never due.
    pub(crate) fn is_due(&self, line: u64, now: SystemTime) -> bool {
        let full = self.rotation.max_bytes.is_some_and(|most| self.opened.len.saturating_add(line) > most);
        self.opened.len > 0 && full || self.is_period_over(now)
    }

    /// Whether the period of what the file has is over.
    pub(crate) fn is_period_over(&self, now: SystemTime) -> bool {
        // Compare with `!=`: a clock that was set back must not stop rotation.
        self.opened.len > 0 && self.rotation.period(now) != self.period
    }

    /// Returns the number of bytes that fit into the file.
    pub(crate) fn room(&self) -> u64 {
        self.rotation.max_bytes.map_or(u64::MAX, |most| most.saturating_sub(self.opened.len))
    }

    /// Returns the time until the file is due without further writes.
    pub(crate) fn due_in(&self, now: SystemTime) -> Option<Duration> {
        match self.opened.len {
            0 => None,
            _ if self.is_due(0, now) => Some(Duration::ZERO),
            _ => self.rotation.rest_of_period(now),
        }
    }

    /// The compression of what is written.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Renames the file to `FILE.YYYYMMDDTHHMMSSZ`, with a suffix `.1`, `.2` and so on if that name exists, and opens a
    /// new one. The ending of a compressed file stays at the end. Returns the path of the rotated file. After an error the old file stays in use.
    pub(crate) fn rotate(&mut self, now: SystemTime) -> io::Result<PathBuf> {
        let rotated = self.names.unused_name(&parent_directory(self.names.path()), now)?;
        fs::rename(self.names.path(), &rotated)?;
        match AppendFile::append(self.names.path(), self.compression.is_none()) {
            Ok(opened) => {
                self.take(opened, now);
                Ok(rotated)
            }
            Err(error) => {
                // The old file stays in use and gets its name back.
                let _ = fs::rename(&rotated, self.names.path());
                Err(error)
            }
        }
    }

    /// Removes the oldest rotated files beyond the number to keep, but never `last`. Tries all of them and returns the
    /// first error.
    pub(crate) fn remove_oldest(&self, last: &Path, now: SystemTime) -> io::Result<()> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        self.names.remove_oldest(keep, last, now)
    }

    /// Whether the file was deleted, or its name is that of another file. A file that was moved keeps what is written to
    /// it, until [`Self::reopen`]; but nothing else moves a file that the program rotates.
    pub(crate) fn is_replaced(&mut self) -> bool {
        if !self.opened.regular {
            return false;
        }
        let is_other = match fs::metadata(self.names.path()) {
            Ok(found) => Some(FileId::from(&found)) != self.opened.id,
            Err(error) => error.kind() == io::ErrorKind::NotFound && self.rotation.is_enabled(),
        };
        let is_replaced = is_other || self.is_deleted();
        if !is_replaced {
            self.checked_len = self.opened.len;
        }
        is_replaced
    }

    pub(crate) fn is_deleted(&self) -> bool {
        let found = self.opened.file.as_ref().map(File::metadata);
        self.opened.regular && found.is_some_and(|found| found.is_ok_and(|found| found.nlink() == 0))
    }

    /// Closes the file and opens or creates the file at its path. Returns whether that is a different file. If the old file
    /// was deleted, what was written to it since the last check is written again. After an error the old file stays in use.
    pub(crate) fn reopen(&mut self, now: SystemTime) -> io::Result<bool> {
        let mut opened = AppendFile::append(self.names.path(), self.compression.is_none())?;
        let is_another = opened.id != self.opened.id;
        if is_another && self.is_deleted() {
            self.copy_unchecked(&mut opened)?;
        }
        self.take(opened, now);
        Ok(is_another)
    }

    /// Appends to a file what was written to this one since the last check; nothing after an error.
    fn copy_unchecked(&mut self, to: &mut AppendFile) -> io::Result<()> {
        let Some(target) = &mut to.file else { return Ok(()) };
        let copied = self.unchecked().and_then(|mut tail| io::copy(&mut tail, target));
        match copied {
            Ok(bytes) => {
                to.len = to.len.saturating_add(bytes);
                Ok(())
            }
            Err(error) => {
                if to.regular {
                    let _ = target.set_len(to.len);
                }
                Err(error)
            }
        }
    }

    /// Returns what was written since the last check.
    fn unchecked(&mut self) -> io::Result<impl Read> {
        let file = self.opened.file.as_mut().ok_or_else(without_reader)?;
        // Appending does not use the position.
        file.seek(SeekFrom::Start(self.checked_len))?;
        Ok(Read::take(file, self.opened.len.saturating_sub(self.checked_len)))
    }

    /// Writes a prefix of `bytes` and returns its length.
    pub(crate) fn write(&mut self, bytes: &[u8], now: SystemTime) -> io::Result<usize> {
        if self.opened.len == 0 {
            self.period = self.rotation.period(now);
        }
        let written = self.opened.file.as_mut().ok_or_else(without_reader)?.write(bytes)?;
        self.opened.len = self.opened.len.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        Ok(written)
    }

    /// Truncates the last `bytes` bytes, which are a partial line.
    pub(crate) fn truncate_tail(&mut self, bytes: u64) -> io::Result<()> {
        let Some(file) = self.opened.file.as_ref().filter(|_| self.opened.regular) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        // Another process may have truncated the file.
        let len = file.metadata()?.len().saturating_sub(bytes);
        file.set_len(len)?;
        self.opened.len = len;
        Ok(())
    }

    fn take(&mut self, opened: AppendFile, now: SystemTime) {
        self.checked_len = opened.len;
        self.opened = opened;
        self.period = self.rotation.period(now);
    }
}

/// Checks that a file can be rotated.
fn check_rotation(path: &Path, rotation: Rotation, is_regular: bool) -> Result<(), OutputError> {
    let name = || PathName(path.to_owned());
    if !rotation.is_enabled() {
        return Ok(());
    }
    if !is_regular {
        return Err(OutputError::NotRegular { path: name() });
    }
    check_directory_writable(path).map_err(|source| OutputError::Folder { path: name(), source })
}

fn since_epoch(now: SystemTime) -> Duration {
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
pub(in crate::output) mod tests;
