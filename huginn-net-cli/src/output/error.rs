//! Why nothing can be written, with the way to mend it.

use std::io;
use std::path::PathBuf;

/// Why events cannot be written where they were to go.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum OutputError {
    /// The file could not be opened or made.
    #[error("{path}: {source}{}", Fix(.source))]
    Open { path: PathName, source: io::Error },
    /// What is known of hosts could not be written.
    #[error("--hosts-file {path}: no file can be made in its folder: {source}{}", Fix(.source))]
    HostsFolder { path: PathName, source: io::Error },
    /// Nor could it be replaced by a file.
    #[error("--hosts-file {path}: not a regular file, which alone can be replaced")]
    HostsKind { path: PathName },
    /// Only files are rotated.
    #[error("standard output: not a regular file, which alone can be rotated")]
    StdoutRotated,
    /// Only regular files are rotated.
    #[error("{path}: not a regular file, which alone can be rotated")]
    NotRegular { path: PathName },
    /// New files could not be made beside this one.
    #[error("{path}: the file can be written, but not be rotated: {source}{}", Fix(.source))]
    Folder { path: PathName, source: io::Error },
    /// Standard output cannot be used.
    #[error("standard output: {0}")]
    Stdout(io::Error),
    /// The thread that writes could not be started.
    #[error("cannot start the thread that writes: {0}")]
    Thread(io::Error),
}

/// A path as text that is safe to show.
#[derive(Clone, Debug)]
pub(crate) struct PathName(pub(crate) PathBuf);

impl std::fmt::Display for PathName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", huginn_net::Escaped(self.0.as_os_str().as_encoded_bytes()))
    }
}

/// What to do about a file that cannot be made or written: nothing where neither rights nor a folder are lacking.
struct Fix<'a>(&'a io::Error);

impl std::fmt::Display for Fix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.kind() {
            io::ErrorKind::NotFound => f.write_str("; make a folder for it:")?,
            io::ErrorKind::PermissionDenied => {
                f.write_str("; rights are given up before it is opened. Give it a folder of its own:")?;
            }
            _ => return Ok(()),
        }
        write!(f, " `install -d{} -m 750 FOLDER`", Owner)
    }
}

/// Who runs on, as options of `install`.
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
