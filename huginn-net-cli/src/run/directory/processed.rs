//! The files that were analysed, kept as JSON Lines.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::{FileId, FoundFile, Inode, shown, uncompressed};
use crate::failure::Failure;
use crate::paths::{name_of, replace_file};
use crate::read::read_file;

/// Number of analysed files that are remembered after they left the directory, as they may come back under another name.
const MAX_GONE_FILES: usize = 10_000;

/// Maximum size of a file of `--state`, in bytes: more than `MAX_WATCHED_FILES` and `MAX_GONE_FILES` with usual names.
const MAX_STATE_BYTES: u64 = 256 << 20;

/// The version of the format, in the first line.
const VERSION: u32 = 1;

/// Files that were analysed.
#[derive(Debug, Default)]
pub(super) struct ProcessedFiles {
    files: HashMap<FileId, Entry, RandomState>,
    /// Names and seconds of the last change.
    names: HashSet<(String, i64), RandomState>,
    /// The last digest of each file and size.
    digests: HashMap<(Inode, u64), Digest, RandomState>,
    added: u64,
}

#[derive(Debug)]
struct Entry {
    name: String,
    /// Files are forgotten in the order in which they were added.
    number: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    huginn_net_watch: u32,
}

/// A line of the file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    size: u64,
    /// Nanoseconds since 1970.
    modified: i64,
    device: u64,
    inode: u64,
    /// In hexadecimal digits; not there if the file changed while it was analysed.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl ProcessedFiles {
    /// Reads a file; without one nothing was analysed.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = match read_file(path, MAX_STATE_BYTES) {
            Err(Failure::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            bytes => bytes?,
        };
        Self::parse(&bytes).map_err(|(line, source)| Failure::State { path: name_of(path), line, source })
    }

    fn parse(bytes: &[u8]) -> Result<Self, (usize, serde_json::Error)> {
        let mut lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
        let header = lines.next().map_or(&[][..], |(_, line)| line);
        let header: Header = serde_json::from_slice(header).map_err(|error| (1, error))?;
        if header.huginn_net_watch != VERSION {
            return Err((1, serde::de::Error::custom(format_args!("expected version {VERSION}"))));
        }
        let mut done = Self::default();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let line: Line = serde_json::from_slice(line).map_err(|error| (number, error))?;
            let Line { name, size, modified, device, inode, digest } = line;
            let digest = digest.map(|digits| {
                Digest::from_digits(&digits)
                    .ok_or_else(|| (number, serde::de::Error::custom("expected 16 hexadecimal digits")))
            });
            done.insert(FileId { device, inode, size, modified }, name, digest.transpose()?);
        }
        Ok(done)
    }

    /// Replaces a file.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let written = replace_file(path, |out| {
            serde_json::to_writer(&mut *out, &Header { huginn_net_watch: VERSION })?;
            out.write_all(b"\n")?;
            let mut files: Vec<_> = self.files.iter().collect();
            files.sort_unstable_by_key(|(_, done)| done.number);
            for (FileId { device, inode, size, modified }, done) in files {
                let (size, modified, device, inode) = (*size, *modified, *device, *inode);
                let digest = self.digests.get(&((device, inode), size)).map(Digest::to_string);
                let name = done.name.clone();
                serde_json::to_writer(&mut *out, &Line { name, size, modified, device, inode, digest })?;
                out.write_all(b"\n")?;
            }
            // After a loss of power, the file is the old or the new one.
            out.flush()?;
            out.get_ref().sync_data()
        });
        written.map_err(|source| Failure::Create { path: name_of(path), source })
    }

    pub(super) fn contains(&self, id: FileId) -> bool {
        self.files.contains_key(&id)
    }

    /// Whether a file is the compressed form of one that was analysed: `x.pcap.gz` of `x.pcap`, with its time.
    pub(super) fn has_compressed(&self, file: &FoundFile) -> bool {
        let name = shown(&file.name);
        uncompressed(&name).is_some_and(|name| self.names.contains(&(name.to_owned(), seconds(file.id))))
    }

    /// The digest of a file of this inode and size that was analysed.
    pub(super) fn digest(&self, id: FileId) -> Option<Digest> {
        self.digests.get(&(id.inode(), id.size)).copied()
    }

    /// Adds a file, with its digest unless it changed meanwhile.
    pub(super) fn add(&mut self, file: &FoundFile, digest: Option<Digest>) {
        self.insert(file.id, shown(&file.name), digest);
    }

    fn insert(&mut self, id: FileId, name: String, digest: Option<Digest>) {
        let contents = (id.inode(), id.size);
        match digest {
            Some(digest) => _ = self.digests.insert(contents, digest),
            None => _ = self.digests.remove(&contents),
        }
        self.added = self.added.saturating_add(1);
        self.names.insert((name.clone(), seconds(id)));
        self.files.insert(id, Entry { name, number: self.added });
    }

    /// Keeps files of the directory, and the last ones of those that it no longer has.
    pub(super) fn keep(&mut self, present: &HashSet<FileId>) {
        if self.files.len() <= present.len().saturating_add(MAX_GONE_FILES.saturating_mul(2)) {
            return;
        }
        let gone = self.files.iter().filter(|(id, _)| !present.contains(id));
        let mut gone: Vec<(u64, FileId)> = gone.map(|(id, done)| (done.number, *id)).collect();
        gone.sort_unstable_by_key(|(number, _)| *number);
        let forgotten = gone.len().saturating_sub(MAX_GONE_FILES);
        for (_, id) in gone.into_iter().take(forgotten) {
            if let Some(done) = self.files.remove(&id) {
                self.names.remove(&(done.name, seconds(id)));
            }
        }
        // A file whose time changed has several entries and one digest.
        let kept: HashSet<(Inode, u64)> = self.files.keys().map(|id| (id.inode(), id.size)).collect();
        self.digests.retain(|contents, _| kept.contains(contents));
    }
}

fn seconds(id: FileId) -> i64 {
    id.modified.div_euclid(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u64) -> FoundFile {
        let id = FileId { device: 1, inode: number, size: 100, modified: 1_700_000_000_500_000_000 };
        FoundFile { id, name: format!("{number}.pcap").into() }
    }

    #[test]
    fn state_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut done = ProcessedFiles::read(&path).unwrap();
        let digest = Digest::from_digits("00ff00ff00ff00ff");
        (0..3).for_each(|number| done.add(&file(number), digest.filter(|_| number > 0)));
        done.write(&path).unwrap();
        let read = ProcessedFiles::read(&path).unwrap();
        assert_eq!((read.digest(file(0).id), read.digest(file(1).id)), (None, digest));
        assert!(digest.is_some());
        assert!((0..3).all(|number| read.contains(file(number).id)) && !read.contains(file(3).id));
        let compressed =
            FoundFile { name: "1.pcap.gz".into(), id: FileId { inode: 9, size: 50, ..file(1).id } };
        assert!(read.has_compressed(&compressed));
        let later = FileId { modified: 1_700_000_001_000_000_000, ..compressed.id };
        assert!(!read.has_compressed(&FoundFile { id: later, ..compressed }));
        for text in ["", "{}", "{\"huginn_net_watch\":2}", "{\"huginn_net_watch\":1}\n{\"name\":1}"] {
            std::fs::write(&path, text).unwrap();
            assert!(ProcessedFiles::read(&path).is_err(), "{text}");
        }
    }

    #[test]
    fn files_that_are_gone_are_bounded() {
        let mut done = ProcessedFiles::default();
        let count = MAX_GONE_FILES as u64 * 2 + 2;
        let digest = Digest::from_digits("00ff00ff00ff00ff");
        (0..count).for_each(|number| done.add(&file(number), digest));
        let present = HashSet::from([file(0).id]);
        done.keep(&present);
        assert_eq!(done.files.len(), MAX_GONE_FILES + 1);
        assert_eq!(done.names.len(), MAX_GONE_FILES + 1);
        assert_eq!(done.digests.len(), MAX_GONE_FILES + 1);
        assert!(done.contains(file(0).id) && !done.contains(file(1).id) && done.contains(file(count - 1).id));
    }
}
