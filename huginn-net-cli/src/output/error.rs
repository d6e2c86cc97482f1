//! Errors of output, each with a command that fixes it.

use std::io;
use std::path::Path;

use crate::paths::{PathName, check_directory_writable};

/// Reason why output cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum OutputError {
    /// The file could not be opened or made.
    #[error("{path}: {source}{}", Fix(.source))]
    Open { path: PathName, source: io::Error },
    /// The directory of the file that an option names is not writable.
    #[error("{option} {path}: cannot create a file in its directory: {source}{}", Fix(.source))]
    NewFile { option: &'static str, path: PathName, source: io::Error },
    /// The hosts file is not a regular file and cannot be replaced.
    #[error("--hosts-file {path}: not a regular file")]
    HostsKind { path: PathName },
    /// Only regular files are rotated.
    #[error("{path}: cannot be rotated: not a regular file")]
    NotRegular { path: PathName },
    /// The directory of the file is not writable.
    #[error("{path}: cannot be rotated: {source}{}", Fix(.source))]
    Folder { path: PathName, source: io::Error },
    /// The name of the host of a collector is unknown.
    #[error("{collector}: the name of the host has no address, or cannot be looked up")]
    Unresolved { collector: String },
    /// Standard output cannot be used.
    #[error("standard output: {0}")]
    Stdout(io::Error),
    /// The thread that writes could not be started.
    #[error("cannot start the output thread: {0}")]
    Thread(io::Error),
}

/// Checks that the file that an option names can be created or replaced. Call it after privileges are dropped.
pub(crate) fn check_new_file(option: &'static str, path: &Path) -> Result<(), OutputError> {
    check_directory_writable(path).map_err(|source| OutputError::NewFile {
        option,
        path: PathName(path.to_owned()),
        source,
    })
}

/// Displays a command that fixes a missing directory or permission; empty for other errors.
struct Fix<'a>(&'a io::Error);

impl std::fmt::Display for Fix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.kind() {
            io::ErrorKind::NotFound => f.write_str("; create its directory:")?,
            io::ErrorKind::PermissionDenied => {
                f.write_str("; privileges are dropped before it is opened. Create a directory for it:")?;
            }
            _ => return Ok(()),
        }
        write!(f, " `install -d{} -m 750 DIRECTORY`", Owner)
    }
}

/// User and group of the process, as options of `install`.
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
