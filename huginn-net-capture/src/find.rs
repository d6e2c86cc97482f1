//! Captures that a directory or a pattern names, in the order in which they are read.

use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use walkdir::WalkDir;

use crate::is_capture_name;

/// A file that was found in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path.
    pub path: PathBuf,
    /// Whether the [name](is_capture_name) is that of a capture. A file with another name may be one.
    pub is_named_as_capture: bool,
}

/// A directory that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct FindError {
    /// Whether it is the directory that was asked for, not one below it.
    pub is_root: bool,
    /// The reason, with the path.
    pub source: io::Error,
}

/// Finds the regular files of a directory and of those below it, sorted by name in each. Symbolic links are not followed.
pub fn find_in_directory(directory: &Path) -> impl Iterator<Item = Result<FoundFile, FindError>> {
    WalkDir::new(directory).sort_by_file_name().into_iter().filter_map(|entry| match entry {
        Ok(entry) if entry.file_type().is_file() => {
            let is_named_as_capture = is_capture_name(entry.file_name());
            Some(Ok(FoundFile { path: entry.into_path(), is_named_as_capture }))
        }
        Ok(_) => None,
        Err(error) => Some(Err(FindError { is_root: error.depth() == 0, source: error.into() })),
    })
}

/// Whether a path has characters of a pattern: `*`, `?` or `[`.
pub fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// Finds what matches a pattern, sorted by name; nothing if it is malformed or not UTF-8. `**` stands for any number of directories.
pub fn find_matching(pattern: &Path) -> Vec<PathBuf> {
    let paths = pattern.to_str().and_then(|pattern| glob::glob(pattern).ok());
    paths.map_or_else(Vec::new, |paths| paths.flatten().collect())
}

/// Returns the names that match a pattern as [`find_matching`] has it: those of objects in a store. None matches a malformed pattern.
pub fn matching_names<'n>(pattern: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let Ok(pattern) = Pattern::new(pattern) else { return Vec::new() };
    names.filter(|name| pattern.matches_with(name, options)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_asterisk_matches_within_directory() {
        let names = ["a/x.pcap", "a/b/x.pcap", "a/b/c/y.pcap.gz", "x.pcap"];
        for (pattern, wanted) in [
            ("a/*.pcap", vec!["a/x.pcap"]),
            ("a/*/*", vec!["a/b/x.pcap"]),
            ("a/**/*.pcap*", vec!["a/x.pcap", "a/b/x.pcap", "a/b/c/y.pcap.gz"]),
            ("?.pcap", vec!["x.pcap"]),
            ("[!a]*", vec!["x.pcap"]),
            ("a/[", vec![]),
        ] {
            assert_eq!(matching_names(pattern, names.into_iter()), wanted, "{pattern}");
        }
    }
}
