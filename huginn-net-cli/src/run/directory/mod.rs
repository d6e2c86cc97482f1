//! A directory that another program fills with captures.

mod closed;
mod digest;
mod processed;
mod writers;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use huginn_net::capture::is_capture_name;

use self::closed::ClosedFiles;
use self::digest::Digest;
use self::processed::ProcessedFiles;
use super::Interrupt;
use crate::failure::Failure;
use crate::limits::{MAX_WATCHED_FILES, OLDER_FILE_QUIET};
use crate::paths::name_of;
use crate::plan::InputFile;
use crate::state_lock::StateLock;

/// Minimum interval between two writes of a file of `--state`.
const STATE_INTERVAL: Duration = Duration::from_secs(1);

/// Interval between two looks at a watched directory in which nothing happens: network file systems report no events.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);

/// Time without a change after which the newest file counts as closed for `watch --once`.
const NEWEST_FILE_QUIET: Duration = Duration::from_secs(60);

/// Identity of a file with its content. A rename keeps it; a write changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
    size: u64,
    /// Time of the last change in nanoseconds since 1970.
    modified: i64,
}

/// Device and inode of a file.
type Inode = (u64, u64);

impl FileId {
    fn inode(self) -> Inode {
        (self.device, self.inode)
    }

    fn of(found: &Metadata) -> Self {
        let modified = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Self { device: found.dev(), inode: found.ino(), size: found.size(), modified }
    }

    /// Whether the file was not changed for so long.
    fn is_quiet(self, time: Duration, now: SystemTime) -> bool {
        let modified = u64::try_from(self.modified).unwrap_or(0);
        let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(modified));
        changed.and_then(|changed| now.duration_since(changed).ok()).is_some_and(|age| age >= time)
    }
}

/// A file of the directory.
#[derive(Clone, Debug)]
pub(crate) struct FoundFile {
    id: FileId,
    name: OsString,
}

/// A directory whose captures are read once they are closed, each once.
pub(crate) struct WatchedDirectory {
    path: PathBuf,
    closed: ClosedFiles,
    processed: ProcessedFiles,
    /// Where `processed` is kept.
    state: Option<PathBuf>,
    /// Held while this process uses `state`.
    _lock: Option<StateLock>,
    is_saved: bool,
    /// When `processed` may be saved again.
    save_after: Instant,
    /// Files of the last scan that were not closed.
    waiting: usize,
}

impl WatchedDirectory {
    /// Watches a directory. `state`: the file that remembers which captures were analysed.
    pub(crate) fn open(path: PathBuf, state: Option<PathBuf>) -> Result<Self, Failure> {
        let lock = state.as_deref().map(StateLock::take).transpose()?;
        let processed =
            state.as_deref().map_or_else(|| Ok(ProcessedFiles::default()), ProcessedFiles::read)?;
        // What is closed after this line is seen, and what was closed before is found.
        let closed = ClosedFiles::watch(&path);
        let directory = Self {
            path,
            closed,
            processed,
            state,
            _lock: lock,
            is_saved: true,
            save_after: Instant::now(),
            waiting: 0,
        };
        // An error now is better than one after the first capture.
        directory.write_state()?;
        Ok(directory)
    }

    /// The closed files that were not analysed, the oldest first. `once`: a file that was not changed for some time
    /// is closed, although no newer one follows.
    pub(crate) fn closed_files(&mut self, once: bool) -> Result<Vec<FoundFile>, Failure> {
        self.closed.update(&self.path);
        let (files, inodes) = self.scan()?;
        // A log or a note beside captures does not show that a capture is complete.
        let newest_of = |is_capture: bool| {
            let files = files.iter().filter(|file| !is_capture || is_capture_name(&file.name));
            files.map(|file| file.id.modified).max()
        };
        let (newest, newest_capture) = (newest_of(false), newest_of(true));
        let present: HashSet<FileId> = files.iter().map(|file| file.id).collect();
        self.closed.keep(&inodes);
        self.processed.keep(&present);
        let now = SystemTime::now();
        let is_closed = |file: &FoundFile| {
            let id = file.id;
            let newest = if is_capture_name(&file.name) { newest_capture } else { newest };
            let has_newer = newest.is_some_and(|newest| id.modified < newest);
            match self.closed.is_closed(id, now) {
                Some(is_closed) => is_closed,
                None if has_newer => id.is_quiet(OLDER_FILE_QUIET, now),
                None => once && id.is_quiet(NEWEST_FILE_QUIET, now),
            }
        };
        let has_report = |file: &FoundFile| self.closed.is_closed(file.id, now).is_some();
        // An empty file is one whose header is still buffered.
        let new = files.into_iter().filter(|file| file.id.size > 0 && !self.processed.contains(file.id));
        let (ready, waiting): (Vec<_>, Vec<_>) = new.partition(is_closed);
        // A file that is quiet may still be open.
        let without_report =
            ready.iter().filter(|file| !has_report(file)).map(|file| file.id.inode()).collect();
        let open = writers::open_to_write(&without_report);
        let (open, ready): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|file| open.contains(&file.id.inode()));
        self.waiting = waiting.len().saturating_add(open.len());
        let (touched, ready): (Vec<_>, Vec<_>) = ready.into_iter().partition(|file| self.is_touched(file));
        touched.iter().for_each(|file| self.set_processed(file));
        let (compressed, mut ready): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|file| self.processed.has_compressed(file));
        compressed.iter().for_each(|file| self.set_processed(file));
        ready.sort_unstable_by(|one, other| {
            (one.id.modified, &one.name).cmp(&(other.id.modified, &other.name))
        });
        Ok(ready)
    }

    /// Whether a file was analysed, and only its time has changed since.
    fn is_touched(&self, file: &FoundFile) -> bool {
        let known = self.processed.digest(file.id);
        known.is_some() && known == Digest::of_file(&self.path.join(&file.name), file.id)
    }

    /// Number of files that were not closed at the last scan.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The regular files of the directory without hidden ones, and the inodes of all.
    fn scan(&self) -> Result<(Vec<FoundFile>, HashSet<Inode>), Failure> {
        let failed = |source| Failure::Read { path: name_of(&self.path), source };
        let (mut files, mut inodes) = (Vec::new(), HashSet::new());
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            // A file may be deleted or renamed at any time.
            let Ok(found) = entry.metadata() else { continue };
            if !found.is_file() {
                continue;
            }
            if inodes.len() >= MAX_WATCHED_FILES {
                let error = format!("more than {MAX_WATCHED_FILES} files");
                return Err(failed(io::Error::other(error)));
            }
            let id = FileId::of(&found);
            inodes.insert(id.inode());
            if !name.as_encoded_bytes().starts_with(b".") {
                files.push(FoundFile { id, name });
            }
        }
        Ok((files, inodes))
    }

    /// The capture of a file; `None` if it was deleted, renamed or changed since it was found, or analysed under another name.
    pub(crate) fn capture(&self, file: &FoundFile) -> Option<InputFile> {
        let path = self.path.join(&file.name);
        let is_same = fs::symlink_metadata(&path).is_ok_and(|found| FileId::of(&found) == file.id);
        (is_same && !self.processed.contains(file.id)).then(|| InputFile::found(path))
    }

    /// Remembers that a file was analysed.
    pub(crate) fn set_processed(&mut self, file: &FoundFile) {
        let digest = Digest::of_file(&self.path.join(&file.name), file.id);
        self.processed.add(file, digest);
        self.is_saved = false;
    }

    /// Whether [`Self::save`] is due.
    pub(crate) fn is_save_due(&self) -> bool {
        !self.is_saved && Instant::now() >= self.save_after
    }

    /// Saves which files were analysed. What was written of them shall be safe before.
    pub(crate) fn save(&mut self) -> Result<(), Failure> {
        if self.is_saved {
            return Ok(());
        }
        let begin = Instant::now();
        self.write_state()?;
        // A long state takes a small part of the time.
        let pause = begin.elapsed().saturating_mul(20).max(STATE_INTERVAL);
        self.save_after = Instant::now().checked_add(pause).unwrap_or(begin);
        self.is_saved = true;
        Ok(())
    }

    fn write_state(&self) -> Result<(), Failure> {
        self.state.as_deref().map_or(Ok(()), |path| self.processed.write(path))
    }

    /// Waits until something happens in the directory, for some time, or until `stop` is set.
    pub(crate) fn wait(&mut self, stop: &Interrupt) {
        let end = Instant::now().checked_add(WATCH_INTERVAL);
        while !stop.is_set() && end.is_some_and(|end| Instant::now() < end) {
            if self.closed.wait() {
                return;
            }
        }
    }
}

/// The name of a compressed file without the ending of its compression.
fn uncompressed(name: &str) -> Option<&str> {
    name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst"))
}

fn shown(name: &OsString) -> String {
    name_of(Path::new(name))
}
