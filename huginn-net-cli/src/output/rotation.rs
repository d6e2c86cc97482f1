//! The file that events are appended to: rotated by size and by time, opened anew on request.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytesize::ByteSize;

use super::append_file::{AppendFile, FileId, is_pipe, is_without_reader, without_reader};
use super::error::{OutputError, PathName};
use super::paths::{check_directory_writable, parent_directory};
use super::rotated_file::{RotatedFile, stamp};

/// When a file is set aside and a new one begun. The default is never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rotation {
    /// Before a file would become longer than this, in bytes. A single line may be longer.
    pub(crate) max_bytes: Option<u64>,
    /// When a multiple of this since 1970-01-01T00:00:00Z has passed: a day ends at midnight UTC.
    pub(crate) every: Option<Duration>,
    /// How many files that were set aside are kept, the newest; all where none is said.
    pub(crate) keep: Option<usize>,
}

impl Rotation {
    pub(super) fn is_enabled(&self) -> bool {
        self.max_bytes.is_some() || self.every.is_some()
    }

    /// The number of the interval that this time lies in.
    fn period(&self, now: SystemTime) -> u128 {
        since_epoch(now).as_millis().checked_div(self.millis()).unwrap_or(0)
    }

    /// Until the interval ends that this time lies in.
    fn rest_of_period(&self, now: SystemTime) -> Option<Duration> {
        let passed = since_epoch(now).as_millis().checked_rem(self.millis())?;
        let rest = u64::try_from(self.millis().saturating_sub(passed)).unwrap_or(u64::MAX);
        Some(Duration::from_millis(rest))
    }

    /// The interval; zero where there is none.
    fn millis(&self) -> u128 {
        self.every.map_or(0, |every| every.as_millis())
    }
}

/// The file that events are appended to.
#[derive(Debug)]
pub(crate) struct RotatingFile {
    path: PathBuf,
    rotation: Rotation,
    /// None while nobody reads the pipe.
    file: Option<File>,
    /// By what it is known, whatever its name is.
    id: Option<FileId>,
    /// Whether it can be rotated, cut off and looked into.
    regular: bool,
    len: u64,
    /// That of the first event in the file.
    period: u128,
}

impl RotatingFile {
    /// Opens a file to be appended to, and makes it with mode 0640 if there is none. Where it ends within a line, the
    /// line is ended first. For somebody to read a pipe nobody waits here.
    pub(crate) fn open(path: &Path, rotation: Rotation, now: SystemTime) -> Result<Self, OutputError> {
        let name = || PathName(path.to_owned());
        let opened = match AppendFile::append(path) {
            // So says a socket, too.
            Err(error) if is_without_reader(&error) && is_pipe(path) => AppendFile::default(),
            opened => opened.map_err(|source| OutputError::Open { path: name(), source })?,
        };
        if rotation.is_enabled() {
            if !opened.regular {
                return Err(OutputError::NotRegular { path: name() });
            }
            check_directory_writable(path).map_err(|source| OutputError::Folder { path: name(), source })?;
        }
        // Of a file that a run before this one left, the time of its last event is known, not that of its first.
        let last = if opened.len > 0 { opened.modified.unwrap_or(now) } else { now };
        Ok(Self {
            path: path.to_owned(),
            rotation,
            file: opened.file,
            id: opened.id,
            regular: opened.regular,
            len: opened.len,
            period: rotation.period(last),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file must be set aside before a line of this length is written. Never where it is empty.
    pub(crate) fn is_due(&self, line: u64, now: SystemTime) -> bool {
        let full = self.rotation.max_bytes.is_some_and(|most| self.len.saturating_add(line) > most);
        // Not only later: a clock that was set back would else stop rotation until it is where it was.
        self.len > 0 && (full || self.rotation.period(now) != self.period)
    }

    /// How many more bytes the file may hold.
    pub(crate) fn room(&self) -> u64 {
        self.rotation.max_bytes.map_or(u64::MAX, |most| most.saturating_sub(self.len))
    }

    /// Until the file is due even if nothing is written.
    pub(crate) fn due_in(&self, now: SystemTime) -> Option<Duration> {
        match self.len {
            0 => None,
            _ if self.is_due(0, now) => Some(Duration::ZERO),
            _ => self.rotation.rest_of_period(now),
        }
    }

    /// Sets the file aside as `FILE.YYYYMMDDTHHMMSSZ`, with `.1`, `.2` and so on where there is such a file, and begins
    /// a new one. Where it fails the old file stays in use. Returns where the old one is.
    pub(crate) fn rotate(&mut self, now: SystemTime) -> io::Result<PathBuf> {
        let aside = self.unused_name(now)?;
        fs::rename(&self.path, &aside)?;
        match AppendFile::append(&self.path) {
            Ok(opened) => {
                self.take(opened, now);
                Ok(aside)
            }
            Err(error) => {
                // The file is written on, and so shall be found.
                let _ = fs::rename(&aside, &self.path);
                Err(error)
            }
        }
    }

    /// Removes of the files that were set aside those that are too many, the oldest; never this one, which was set aside
    /// last. All are tried; of those that could not be removed the first tells why.
    pub(crate) fn remove_oldest(&self, last: &Path, now: SystemTime) -> io::Result<()> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        let mut all = RotatedFile::from(&self.path, now)?;
        all.retain(|aside| Some(aside.name.as_os_str()) != last.file_name());
        all.sort_unstable_by(|a, b| b.cmp(a));
        let mut outcome = Ok(());
        for aside in all.iter().skip(keep.saturating_sub(1)) {
            match fs::remove_file(parent_directory(&self.path).join(&aside.name)) {
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => outcome = outcome.and(removed),
            }
        }
        outcome
    }

    /// Closes the file and opens, or makes, the one that now has its name. Whether that is another one. Where it fails
    /// the old one stays in use.
    pub(crate) fn reopen(&mut self, now: SystemTime) -> io::Result<bool> {
        let opened = AppendFile::append(&self.path)?;
        let is_another = opened.id != self.id;
        self.take(opened, now);
        Ok(is_another)
    }

    /// Writes the beginning of these bytes, of which the length is returned.
    pub(crate) fn write(&mut self, bytes: &[u8], now: SystemTime) -> io::Result<usize> {
        if self.len == 0 {
            self.period = self.rotation.period(now);
        }
        let written = self.file.as_mut().ok_or_else(without_reader)?.write(bytes)?;
        self.len = self.len.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        Ok(written)
    }

    /// Takes back the bytes written last, which are the beginning of a line.
    pub(crate) fn truncate_tail(&mut self, bytes: u64) -> io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| self.regular) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        // Somebody else may have cut the file already.
        let len = file.metadata()?.len().saturating_sub(bytes);
        file.set_len(len)?;
        self.len = len;
        Ok(())
    }

    fn take(&mut self, opened: AppendFile, now: SystemTime) {
        self.file = opened.file;
        self.id = opened.id;
        self.regular = opened.regular;
        self.len = opened.len;
        self.period = self.rotation.period(now);
    }

    fn unused_name(&self, now: SystemTime) -> io::Result<PathBuf> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{}", stamp(now)));
        let plain = name.clone();
        let mut number = 0_u32;
        // A link that leads nowhere is a name in use, too.
        while fs::symlink_metadata(&name).is_ok() {
            number = number.checked_add(1).ok_or(io::ErrorKind::AlreadyExists)?;
            name.clone_from(&plain);
            name.push(format!(".{number}"));
        }
        Ok(name.into())
    }
}

fn since_epoch(now: SystemTime) -> Duration {
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A number of bytes from 1, such as `100M`, `1G` or `64MiB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse::<ByteSize>() {
        Ok(size) if size.0 > 0 => Ok(size.0),
        _ => Err("not a size such as 100M (million bytes), 1G or 64MiB".to_owned()),
    }
}

/// A time from one second, such as `30m`, `1h` or `1d`; a number alone is seconds.
pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs).ok();
    match seconds.or_else(|| humantime::parse_duration(text).ok()) {
        Some(every) if every >= Duration::from_secs(1) => Ok(every),
        _ => Err("not a time from one second such as 30s, 15m, 1h or 1d".to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests;
