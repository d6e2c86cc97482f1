//! The files of `--fingerprints`.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use huginn_net::watch::{WatchListHandle, WatchListSummary, WatchLists};

use crate::failure::Failure;
use crate::paths::name_of;
use crate::read::read_file;

/// Maximum size of a file of `--fingerprints`, in bytes: several million entries. The file is read into memory.
const MAX_LIST_BYTES: u64 = 256 << 20;

/// The files of watch lists, and what they have. Clones share the lists.
#[derive(Clone, Debug)]
pub(crate) struct WatchFiles {
    paths: Vec<PathBuf>,
    pub(crate) handle: WatchListHandle,
}

/// What was read of the files.
#[derive(Debug)]
pub(crate) struct LoadedLists {
    pub(crate) entries: usize,
    pub(crate) took: Duration,
    pub(crate) warnings: Vec<LeftOut>,
}

impl WatchFiles {
    /// Reads the files.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<(Self, LoadedLists), Failure> {
        let (lists, loaded) = read_lists(paths)?;
        Ok((Self { paths: paths.to_vec(), handle: WatchListHandle::new(lists) }, loaded))
    }

    /// Reads the files again. The lists stay as they are if one is invalid.
    #[cfg(unix)]
    pub(crate) fn reload(&self) -> Result<LoadedLists, Failure> {
        let (lists, loaded) = read_lists(&self.paths)?;
        self.handle.replace(lists);
        Ok(loaded)
    }
}

/// Reads lists, and does not use them yet.
pub(crate) fn read_lists(paths: &[PathBuf]) -> Result<(WatchLists, LoadedLists), Failure> {
    let start = Instant::now();
    let mut lists = WatchLists::default();
    for path in paths {
        let name = name_of(path);
        let text = read_file(path, MAX_LIST_BYTES)?;
        lists.add(&name, &text).map_err(|source| Failure::List { path: name, source })?;
    }
    let warnings = lists.summaries().iter().filter_map(LeftOut::of).collect();
    let loaded = LoadedLists { entries: lists.len(), took: start.elapsed(), warnings };
    Ok((lists, loaded))
}

/// What a list has that is not watched.
#[derive(Debug)]
pub(crate) struct LeftOut(WatchListSummary);

impl LeftOut {
    fn of(list: &WatchListSummary) -> Option<Self> {
        (list.entries == 0 || list.foreign > 0 || list.excluded > 0).then(|| Self(list.clone()))
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WatchListSummary { name, entries, without_value, foreign, excluded, .. } = &self.0;
        if [entries, without_value, foreign, excluded].iter().all(|count| **count == 0) {
            return write!(f, "{name}: no entries");
        }
        write!(f, "{name}: {entries} entries")?;
        for (count, what) in [
            (without_value, "without a value"),
            (foreign, "that are not compared (hashes of files, URLs, other types and patterns)"),
            (excluded, "that the list excludes"),
        ] {
            if *count > 0 {
                write!(f, "; left out {count} {what}")?;
            }
        }
        Ok(())
    }
}
