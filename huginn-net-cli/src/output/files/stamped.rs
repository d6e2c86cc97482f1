//! Files that are written one after the other, with the time in their names.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use huginn_net::Timestamp;

use super::rotated_file::{RotatedFile, StampForm};
use crate::paths::{parent_directory, unused_path};

/// Names of files: `events.parquet` becomes `events.20261123T220000Z.parquet`.
#[derive(Clone, Debug)]
pub(crate) struct StampedFiles {
    /// The path that the user gave.
    path: PathBuf,
    /// The extension of the files, which the path may have, with its dot; empty without one.
    extension: &'static str,
}

impl StampedFiles {
    pub(crate) fn new(path: PathBuf, extension: &'static str) -> Self {
        Self { path, extension }
    }

    /// The path that the user gave.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of a file in a folder that begins at this time.
    pub(crate) fn unused_name(&self, folder: &Path, begin: impl Into<Timestamp>) -> io::Result<PathBuf> {
        let stamp = StampForm::Own.format(begin);
        let path = |number: &str| {
            let mut name = self.stem().to_owned();
            name.push(format!(".{stamp}{number}{}", self.extension));
            folder.join(name)
        };
        unused_path(u32::MAX, path).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }

    /// Removes the oldest files beyond the number to keep. A file that begins after `now` is older than all others.
    pub(crate) fn remove_oldest(
        &self,
        keep: usize,
        last: &Path,
        now: impl Into<Timestamp>,
    ) -> io::Result<()> {
        let path = parent_directory(&self.path).join(self.stem());
        RotatedFile::remove_oldest(&path, StampForm::Own, self.extension, keep, last, now)
    }

    /// The name of the given path without the extension.
    fn stem(&self) -> &OsStr {
        let own = self.extension.strip_prefix('.').map(OsStr::new);
        let has_extension = own.is_some() && self.path.extension() == own;
        let stem = if has_extension { self.path.file_stem() } else { self.path.file_name() };
        stem.unwrap_or_default()
    }
}
