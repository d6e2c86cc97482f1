//! Captures of a directory that another program fills, such as `tcpdump -G` or `-C`: each file is read while it grows, until a newer
//! one begins.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use huginn_net_capture::{CaptureError, CaptureReader, is_capture_name};

use super::{Closed, Message, Output};
use crate::LiveError;
use crate::limits::{
    CAPTURE_HEAD_LEN, DIRECTORY_SCAN_INTERVAL, MAX_FOLLOWED_FILES, MAX_SCAN_PAUSE, SCAN_PAUSE_FACTOR,
};

/// A directory whose captures are read in the order in which they were begun.
pub(super) struct Directory {
    path: PathBuf,
    /// Files that are not read (again).
    passed: HashMap<Inode, Passed>,
    /// Files that grew after they were passed over, for the user.
    grown: Vec<OsString>,
    /// Files of the last scan that were not read yet, the oldest first.
    found: VecDeque<Found>,
    /// When the directory may be looked at again; `None` before the first time.
    next_scan: Option<Instant>,
}

type Inode = (u64, u64);

/// A file that was read, or was older than the newest one at the start.
struct Passed {
    name: OsString,
    size: u64,
    modified: (i64, i64),
    /// The first bytes, with the time of the first packet: a ring overwrites each file.
    head: Vec<u8>,
    /// Whether growth needs no message.
    may_grow: bool,
}

/// A file of the last scan.
pub(super) struct Found {
    name: OsString,
    inode: Inode,
    size: u64,
    modified: (i64, i64),
}

/// What is to be read next.
pub(super) enum Next {
    File(Found),
    Nothing,
    /// The last look at the directory was too short a time ago, whatever its outcome.
    NotLooked,
}

impl Found {
    fn new(name: OsString, metadata: &Metadata) -> Self {
        Self {
            name,
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl Found {
    /// Orders files by the time of their last change.
    fn age(&self) -> ((i64, i64), &OsStr) {
        (self.modified, &self.name)
    }
}

impl Directory {
    /// Passes over all files but the newest. `wait`: the directory may be absent. Also returns whether it is there.
    pub(super) fn open(name: &str, path: &Path, wait: bool) -> Result<(Self, bool), LiveError> {
        let failed = |source| LiveError::Open { name: name.to_owned(), source };
        // The program may change its folder.
        let path = std::path::absolute(path).map_err(failed)?;
        let mut directory =
            Self { path, passed: HashMap::new(), grown: Vec::new(), found: VecDeque::new(), next_scan: None };
        match directory.scan() {
            Ok(mut files) => {
                files.sort_unstable_by(|one, other| one.age().cmp(&other.age()));
                files.pop();
                files.into_iter().for_each(|file| directory.pass(file, false));
                Ok((directory, true))
            }
            Err(error) if wait && error.kind() == io::ErrorKind::NotFound => Ok((directory, false)),
            Err(error) => Err(failed(error)),
        }
    }

    /// Reads captures until the source is dropped.
    pub(super) fn run(self, output: Output) -> Result<(), Closed> {
        let output = Arc::new(output);
        let mut is_up = self.path.is_dir();
        let shared = Arc::new(Mutex::new(self));
        loop {
            match look(&shared, &output, Directory::next)? {
                Ok(Next::File(file)) => {
                    if !std::mem::replace(&mut is_up, true) {
                        output.send(Message::Connected)?;
                    }
                    follow(&shared, &output, file)?;
                    continue;
                }
                Ok(Next::Nothing) if !is_up => {
                    is_up = true;
                    output.send(Message::Connected)?;
                }
                Ok(Next::Nothing | Next::NotLooked) => {}
                Err(error) => {
                    if std::mem::replace(&mut is_up, false) {
                        output.send(Message::Interrupted(error.to_string()))?;
                    }
                }
            }
            output.pause(DIRECTORY_SCAN_INTERVAL)?;
        }
    }

    /// The regular files that are not hidden and not empty: the header of an empty file is still buffered.
    pub(super) fn scan(&self) -> io::Result<Vec<Found>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A file may be deleted or renamed at any time.
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name();
            if !metadata.is_file() || metadata.size() == 0 || name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if files.len() >= MAX_FOLLOWED_FILES {
                return Err(io::Error::other(format!("more than {MAX_FOLLOWED_FILES} files")));
            }
            files.push(Found::new(name, &metadata));
        }
        Ok(files)
    }

    /// Returns the oldest file that was not read.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        let has_looked = self.refresh(None)?;
        while let Some(file) = self.found.pop_front() {
            // It may have been compressed while the other file was read.
            let is_known = uncompressed(&file.name)
                .is_some_and(|name| self.passed.values().any(|passed| passed.name == name));
            if !is_known {
                return Ok(Next::File(file));
            }
            self.pass(file, true);
        }
        Ok(if has_looked { Next::Nothing } else { Next::NotLooked })
    }

    /// Whether a file is known that was not read, other than `current`.
    fn has_next(&mut self, current: Inode) -> io::Result<bool> {
        self.refresh(Some(current))?;
        Ok(!self.found.is_empty())
    }

    /// Looks for files other than `current`, if none is known and a look takes a small part of the time. Returns whether it looked.
    fn refresh(&mut self, current: Option<Inode>) -> io::Result<bool> {
        let begun = Instant::now();
        if !self.found.is_empty() || self.next_scan.is_some_and(|next_scan| begun < next_scan) {
            return Ok(false);
        }
        let found = self.find(current);
        let pause = begun.elapsed().saturating_mul(SCAN_PAUSE_FACTOR).min(MAX_SCAN_PAUSE);
        self.next_scan = Instant::now().checked_add(pause);
        self.found = found?;
        Ok(true)
    }

    /// Forgets what was found: a file of it is gone, and another may have its content.
    fn look_anew(&mut self) {
        self.found.clear();
        self.next_scan = None;
    }

    /// Returns the files that were not read, other than `current`: the oldest first.
    fn find(&mut self, current: Option<Inode>) -> io::Result<VecDeque<Found>> {
        let files = self.scan()?;
        let mut present: HashSet<Inode> = files.iter().map(|file| file.inode).collect();
        present.extend(current);
        let mut new: Vec<Found> =
            files.into_iter().filter(|file| Some(file.inode) != current && self.is_new(file)).collect();
        // `tcpdump -z gzip` compresses a file after it was read.
        if new.iter().any(|file| uncompressed(&file.name).is_some()) {
            let names: HashSet<OsString> = self.passed.values().map(|passed| passed.name.clone()).collect();
            let is_known = |file: &Found| uncompressed(&file.name).is_some_and(|name| names.contains(name));
            let (known, others) = new.into_iter().partition(is_known);
            Vec::into_iter(known).for_each(|file| self.pass(file, true));
            new = others;
        }
        self.passed.retain(|inode, _| present.contains(inode));
        new.sort_unstable_by(|one, other| one.age().cmp(&other.age()));
        Ok(new.into())
    }

    /// Whether a file was not passed over, or was overwritten since.
    fn is_new(&mut self, file: &Found) -> bool {
        let Some(passed) = self.passed.get_mut(&file.inode) else { return true };
        if (passed.size, passed.modified) == (file.size, file.modified) {
            return false;
        }
        // The files of a ring may have the same place and head. A file that was short when it was passed over has more of a head
        // now.
        let is_shorter = file.size < passed.size;
        if is_shorter || !head(&self.path.join(&file.name)).is_ok_and(|head| head.starts_with(&passed.head)) {
            return true;
        }
        if file.size > passed.size && !std::mem::replace(&mut passed.may_grow, true) {
            self.grown.push(file.name.clone());
        }
        (passed.size, passed.modified) = (file.size, file.modified);
        false
    }

    /// Remembers that a file is not read again.
    fn pass(&mut self, file: Found, may_grow: bool) {
        let head = head(&self.path.join(&file.name)).unwrap_or_default();
        let Found { name, inode, size, modified } = file;
        self.passed.insert(inode, Passed { name, size, modified, head, may_grow });
    }
}

/// Looks at a directory, and reports files that grew too late.
fn look<T>(
    directory: &Mutex<Directory>,
    output: &Output,
    look: impl FnOnce(&mut Directory) -> io::Result<T>,
) -> Result<io::Result<T>, Closed> {
    let (found, grown) = {
        let mut directory = lock(directory);
        (look(&mut directory), std::mem::take(&mut directory.grown))
    };
    for name in grown {
        let name = name.to_string_lossy();
        output.send(Message::Skipped(format!(
            "{name} grew after a newer file was begun: the rest is not read"
        )))?;
    }
    Ok(found)
}

fn lock(directory: &Mutex<Directory>) -> std::sync::MutexGuard<'_, Directory> {
    directory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first bytes of a file.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open(path)?.take(CAPTURE_HEAD_LEN).read_to_end(&mut head)?;
    Ok(head)
}

/// The first bytes of an open file, whatever its position.
fn head_of(file: &File) -> io::Result<Vec<u8>> {
    let mut head = vec![0; usize::try_from(CAPTURE_HEAD_LEN).unwrap_or_default()];
    let read = file.read_at(&mut head, 0)?;
    head.truncate(read);
    Ok(head)
}

/// Opens a file that may have become another kind of file since the scan, which must not block.
fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}

/// The name of a compressed file without the ending of its compression.
fn uncompressed(name: &OsStr) -> Option<&OsStr> {
    let path = Path::new(name);
    path.extension().filter(|ending| ["gz", "zst"].iter().any(|known| ending == known))?;
    path.file_stem()
}

/// Reads a file to its end.
fn follow(directory: &Arc<Mutex<Directory>>, output: &Arc<Output>, file: Found) -> Result<(), Closed> {
    let path = lock(directory).path.join(&file.name);
    let shown = file.name.to_string_lossy().into_owned();
    let opened = open(&path).and_then(|opened| Ok((opened.metadata()?, opened)));
    let (metadata, opened) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            // A file may be deleted, renamed or compressed at any time.
            if error.kind() == io::ErrorKind::NotFound {
                lock(directory).look_anew();
                return output.pause(DIRECTORY_SCAN_INTERVAL);
            }
            lock(directory).pass(file, true);
            return output.send(Message::Skipped(format!("{shown}: {error}")));
        }
    };
    // The file may have been replaced since the scan.
    let file = Found::new(file.name, &metadata);
    let is_begun_anew = Arc::new(AtomicBool::new(false));
    let reader = GrowingFile {
        head: head_of(&opened).unwrap_or_default(),
        file: opened,
        inode: file.inode,
        position: 0,
        has_ended: false,
        has_waited: false,
        has_failed: false,
        is_begun_anew: Arc::clone(&is_begun_anew),
        directory: Arc::clone(directory),
        output: Arc::clone(output),
    };
    let ended = match CaptureReader::from_reader(&*shown, reader) {
        Ok(mut capture) => output.send_capture(&mut capture)?,
        Err(error) => Err(error),
    };
    if output.is_closed() {
        return Err(Closed);
    }
    let is_optional = !is_capture_name(&file.name);
    let now = fs::symlink_metadata(&path).map(|found| Found::new(file.name.clone(), &found));
    let now = now.ok().filter(|now| now.inode == file.inode).unwrap_or(file);
    if is_begun_anew.load(Ordering::Relaxed) {
        lock(directory).passed.remove(&now.inode);
    } else {
        lock(directory).pass(now, false);
    }
    match ended {
        Ok(()) => Ok(()),
        // A log beside captures is not one.
        Err(CaptureError::NotACapture { .. } | CaptureError::Empty { .. }) if is_optional => Ok(()),
        Err(error) => output.send(Message::Skipped(error.to_string())),
    }
}

/// A file that ends once a newer one is there and all of it was read.
struct GrowingFile {
    /// Its first bytes when it was opened.
    head: Vec<u8>,
    file: File,
    inode: Inode,
    position: u64,
    has_ended: bool,
    /// Whether time has passed since the last read.
    has_waited: bool,
    /// Whether a failure to look for newer files was reported.
    has_failed: bool,
    /// Whether the file was overwritten: a ring of one file does that.
    is_begun_anew: Arc<AtomicBool>,
    directory: Arc<Mutex<Directory>>,
    output: Arc<Output>,
}

impl GrowingFile {
    /// Whether the file was overwritten since it was opened.
    fn is_overwritten(&self) -> io::Result<bool> {
        let is_shorter = self.file.metadata()?.size() < self.position;
        Ok(is_shorter || !head_of(&self.file)?.starts_with(&self.head))
    }
}

impl Read for GrowingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if std::mem::take(&mut self.has_waited) && self.is_overwritten()? {
                self.is_begun_anew.store(true, Ordering::Relaxed);
                self.has_ended = true;
                return Ok(0);
            }
            let read = self.file.read(buffer)?;
            self.position = self.position.saturating_add(read as u64);
            if read > 0 || self.has_ended || self.output.is_closed() {
                return Ok(read);
            }
            // Its writer closed this file before it began the next one: whatever it has to say can be read now.
            let inode = self.inode;
            let looked = look(&self.directory, &self.output, |directory| directory.has_next(inode));
            let Ok(looked) = looked else { return Ok(0) };
            self.has_ended = match &looked {
                Ok(has_next) => *has_next,
                // Without the directory nothing more can come. Otherwise the file may still grow.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            self.has_waited = true;
            if let Err(error) = looked
                && !self.has_ended
                && !std::mem::replace(&mut self.has_failed, true)
            {
                let message = Message::Skipped(format!("cannot look for newer files: {error}"));
                if self.output.send(message).is_err() {
                    return Ok(0);
                }
            }
            if !self.has_ended && self.output.pause(DIRECTORY_SCAN_INTERVAL).is_err() {
                return Ok(0);
            }
        }
    }
}
