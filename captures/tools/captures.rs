//! Finds the captures of this project; a part of several tests and benches.
#![allow(dead_code, clippy::panic, clippy::unwrap_used, reason = "tests may panic, and each uses a part")]

use std::fs;
use std::path::{Path, PathBuf};

/// The path of a capture or golden, such as `tls-go.pcap`.
pub(crate) fn path(file: &str) -> PathBuf {
    let name = file.split('.').next().unwrap_or(file);
    let found = entries(&folder()).into_iter().map(|protocol| protocol.join(name).join(file));
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no capture {file}"))
}

/// The paths of all captures and goldens with one of these extensions, sorted by file name.
pub(crate) fn with_extension(extensions: &[&str]) -> Vec<PathBuf> {
    let captures = entries(&folder()).into_iter().flat_map(|protocol| entries(&protocol));
    let mut files: Vec<PathBuf> = captures.flat_map(|capture| entries(&capture)).collect();
    files.retain(|file| {
        extensions.iter().any(|wanted| file.extension().is_some_and(|found| found == *wanted))
    });
    files.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
    files
}

/// The folder `captures`.
pub(crate) fn folder() -> PathBuf {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.map(|folder| folder.join("captures")).find(|folder| folder.is_dir()).unwrap()
}

/// The entries of a folder; none of a file.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |all| all.map(|entry| entry.unwrap().path()).collect())
}
