//! Files that are written one after the other, with the time in their names.

use std::io;
use std::path::{Path, PathBuf};

use huginn_net::Timestamp;

use super::rotated_file::{RotatedFile, stamp};
use crate::paths::{parent_directory, unused_path};

/// Names of files: `events.parquet` becomes `events.20261123T220000Z.parquet`.
#[derive(Clone, Debug)]
pub(crate) struct StampedFiles {
    /// The path that the user gave.
    path: PathBuf,
    /// The extension of the files, which the path may have, with its dot.
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
        let stem = format!("{}.{}", self.stem().display(), stamp(begin));
        let path = |number: &str| folder.join(format!("{stem}{number}{}", self.extension));
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
        RotatedFile::remove_oldest(&path, self.extension, keep, last, now)
    }

    /// The name of the given path without the extension.
    fn stem(&self) -> &Path {
        let name = Path::new(self.path.file_name().unwrap_or_default());
        let text = name.to_str().and_then(|name| name.strip_suffix(self.extension));
        text.filter(|stem| !stem.is_empty()).map_or(name, Path::new)
    }
}
