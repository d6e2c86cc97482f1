//! The file that events are appended to: rotated by size and by time, opened anew on request.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytesize::ByteSize;

/// What the names of files that were set aside bear: the time of UTC at which they were.
const STAMP: &[u8; 16] = b"YYYYMMDDTHHMMSSZ";

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
    fn is_wanted(&self) -> bool {
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

/// Why events cannot be written where they were to go.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum OutputError {
    /// The file could not be opened or made.
    #[error("{path}: {source}{}", Fix(.source))]
    Open { path: PathName, source: io::Error },
    /// Only regular files are rotated.
    #[error("{path}: not a regular file, which alone can be rotated")]
    NotRegular { path: PathName },
    /// New files could not be made beside this one.
    #[error("{path}: the file can be written, but not be rotated: {source}{}", Fix(.source))]
    Folder { path: PathName, source: io::Error },
    /// Standard output cannot be used.
    #[error("standard output: {0}")]
    Stdout(io::Error),
    /// The thread that writes could not be started.
    #[error("cannot start the thread that writes: {0}")]
    Thread(io::Error),
}

/// A path as text that is safe to show.
#[derive(Debug)]
pub(crate) struct PathName(PathBuf);

impl std::fmt::Display for PathName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", huginn_net::Escaped(self.0.as_os_str().as_encoded_bytes()))
    }
}

/// What to do about a file that cannot be made or written: nothing where neither rights nor a folder are lacking.
struct Fix<'a>(&'a io::Error);

impl std::fmt::Display for Fix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.kind() {
            io::ErrorKind::NotFound => f.write_str("; make a folder for it:")?,
            io::ErrorKind::PermissionDenied => {
                f.write_str("; rights are given up before it is opened. Give it a folder of its own:")?;
            }
            _ => return Ok(()),
        }
        write!(f, " `install -d{} -m 750 FOLDER`", Owner)
    }
}

/// Who runs on, as options of `install`.
struct Owner;

impl std::fmt::Display for Owner {
    #[cfg(target_os = "linux")]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, " -o {} -g {}", nix::unistd::getuid(), nix::unistd::getgid())
    }

    #[cfg(not(target_os = "linux"))]
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

/// The file that events are appended to.
#[derive(Debug)]
pub(crate) struct RotatingFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    /// Whether it can be rotated, cut off and looked into.
    regular: bool,
    len: u64,
    /// That of the first event in the file.
    period: u128,
}

impl RotatingFile {
    /// Opens a file to be appended to, and makes it with mode 0640 if there is none. Where it ends within a line, the
    /// line is ended first.
    pub(crate) fn open(path: &Path, rotation: Rotation, now: SystemTime) -> Result<Self, OutputError> {
        let name = || PathName(path.to_owned());
        let opened = Opened::append(path).map_err(|source| OutputError::Open { path: name(), source })?;
        if rotation.is_wanted() {
            if !opened.regular {
                return Err(OutputError::NotRegular { path: name() });
            }
            may_make_files_beside(path).map_err(|source| OutputError::Folder { path: name(), source })?;
        }
        // Of a file that a run before this one left, the time of its last event is known, not that of its first.
        let last = if opened.len > 0 { opened.modified.unwrap_or(now) } else { now };
        Ok(Self {
            path: path.to_owned(),
            rotation,
            file: opened.file,
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
    /// a new one. Where it fails the old file stays in use.
    pub(crate) fn rotate(&mut self, now: SystemTime) -> io::Result<()> {
        let aside = self.unused_name(now)?;
        fs::rename(&self.path, &aside)?;
        match Opened::append(&self.path) {
            Ok(opened) => {
                self.take(opened, now);
                Ok(())
            }
            Err(error) => {
                // The file is written on, and so shall be found.
                let _ = fs::rename(&aside, &self.path);
                Err(error)
            }
        }
    }

    /// Removes of the files that were set aside those that are too many, the oldest.
    pub(crate) fn remove_oldest(&self) -> io::Result<()> {
        let Some(keep) = self.rotation.keep else { return Ok(()) };
        let mut all = SetAside::from(&self.path)?;
        all.sort_unstable_by(|a, b| b.cmp(a));
        for aside in all.iter().skip(keep) {
            fs::remove_file(folder_of(&self.path).join(&aside.name))?;
        }
        Ok(())
    }

    /// Closes the file and opens, or makes, the one that now has its name. Where that fails the old one stays in use.
    pub(crate) fn reopen(&mut self, now: SystemTime) -> io::Result<()> {
        let opened = Opened::append(&self.path)?;
        self.take(opened, now);
        Ok(())
    }

    /// Writes the beginning of these bytes, of which the length is returned.
    pub(crate) fn write(&mut self, bytes: &[u8], now: SystemTime) -> io::Result<usize> {
        if self.len == 0 {
            self.period = self.rotation.period(now);
        }
        let written = self.file.write(bytes)?;
        self.len = self.len.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        Ok(written)
    }

    /// Takes back the bytes written last, which are the beginning of a line.
    pub(crate) fn cut(&mut self, bytes: u64) -> io::Result<()> {
        if !self.regular {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // Somebody else may have cut the file already.
        let len = self.file.metadata()?.len().saturating_sub(bytes);
        self.file.set_len(len)?;
        self.len = len;
        Ok(())
    }

    fn take(&mut self, opened: Opened, now: SystemTime) {
        self.file = opened.file;
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

/// A file that was opened to be appended to.
struct Opened {
    file: File,
    regular: bool,
    len: u64,
    modified: Option<SystemTime>,
}

impl Opened {
    fn append(path: &Path) -> io::Result<Self> {
        // To open a pipe for reading, too, would mean never to learn that its reader has gone.
        let look_into = fs::metadata(path).map_or(true, |found| found.is_file());
        let mut options = OpenOptions::new();
        options.append(true).create(true).read(look_into);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
        let mut file = options.open(path)?;
        let found = file.metadata()?;
        let regular = found.is_file();
        let mut len = if regular { found.len() } else { 0 };
        if len > 0 && !ends_a_line(&mut file)? {
            file.write_all(b"\n")?;
            len = len.saturating_add(1);
        }
        Ok(Self { file, regular, len, modified: found.modified().ok() })
    }
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Whether this process may make and rename files in the folder of this one.
#[cfg(target_os = "linux")]
fn may_make_files_beside(path: &Path) -> io::Result<()> {
    use nix::unistd::{AccessFlags, access};
    Ok(access(&folder_of(path), AccessFlags::W_OK | AccessFlags::X_OK)?)
}

/// Elsewhere it is seen when the time has come.
#[cfg(not(target_os = "linux"))]
fn may_make_files_beside(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// A file that was set aside, ordered by its age.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SetAside {
    stamp: Vec<u8>,
    number: u32,
    name: OsString,
}

impl SetAside {
    /// All that were set aside from this file.
    fn from(path: &Path) -> io::Result<Vec<Self>> {
        let mut prefix = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        prefix.push(b'.');
        let mut all = Vec::new();
        for entry in fs::read_dir(folder_of(path))? {
            let name = entry?.file_name();
            let suffix = name.as_encoded_bytes().strip_prefix(prefix.as_slice());
            if let Some((stamp, number)) = suffix.and_then(Self::read) {
                all.push(Self { stamp: stamp.to_vec(), number, name });
            }
        }
        Ok(all)
    }

    /// The stamp and the number in what follows the name of the file.
    fn read(suffix: &[u8]) -> Option<(&[u8], u32)> {
        let (stamp, number) = suffix.split_at_checked(STAMP.len())?;
        let like = |(byte, model): (&u8, &u8)| match model {
            b'T' | b'Z' => byte == model,
            _ => byte.is_ascii_digit(),
        };
        if !stamp.iter().zip(STAMP).all(like) {
            return None;
        }
        let number = match number.strip_prefix(b".") {
            Some(digits) => std::str::from_utf8(digits).ok()?.parse().ok()?,
            None if number.is_empty() => 0,
            None => return None,
        };
        Some((stamp, number))
    }
}

/// The folder that a file lies in.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A time of UTC in the form of [`STAMP`].
fn stamp(now: SystemTime) -> String {
    let mut text = String::new();
    let _ = write!(text, "{}", humantime::format_rfc3339_seconds(now.max(UNIX_EPOCH)));
    text.retain(|character| !matches!(character, '-' | ':'));
    text
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
