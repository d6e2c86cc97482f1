//! Finds the capture files of `db learn`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::commands::pcap::name_of;
use crate::failure;

/// The files to read.
pub(super) struct Inputs {
    pub(super) files: Vec<PathBuf>,
    /// Whether a directory could not be read, or has no capture.
    pub(super) failed: bool,
}

impl Inputs {
    /// Replaces each directory by the capture files in it, recursively and sorted by name. Reports directories that
    /// cannot be read.
    pub(super) fn find(paths: &[PathBuf]) -> Self {
        let mut inputs = Self { files: Vec::new(), failed: false };
        for path in paths {
            if path.is_dir() {
                inputs.add_directory(path);
            } else {
                inputs.files.push(path.clone());
            }
        }
        inputs
    }

    fn add_directory(&mut self, root: &Path) {
        let mut found = Vec::new();
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            if let Err(error) = list(&directory, &mut directories, &mut found) {
                self.fail(&directory, &error);
            }
        }
        if found.is_empty() {
            self.fail(root, &"no capture files (.pcap, .pcapng, .cap, also .gz and .zst)");
        }
        found.sort();
        self.files.append(&mut found);
    }

    fn fail(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        failure::report(&format_args!("{}: {error}", name_of(path)));
        self.failed = true;
    }
}

/// Lists a directory. Symbolic links to directories are not followed: they may form a loop.
fn list(directory: &Path, directories: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            directories.push(path);
        } else if path.file_name().is_some_and(is_capture_name) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a name is that of a capture: `x.pcap`, `x.pcapng.gz`, and `x.pcap3` as `tcpdump -C` writes.
fn is_capture_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, extension)| {
        let extension = extension.trim_end_matches(|digit: char| digit.is_ascii_digit());
        matches!(extension, "pcap" | "pcapng" | "cap")
    })
}
