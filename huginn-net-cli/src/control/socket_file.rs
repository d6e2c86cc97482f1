//! Unix sockets with a file: bound with owner and permissions, removed at the end.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;

use super::ControlError;
use crate::paths::parent_directory;

/// Maximum number of stale directories, left by crashes, that a socket skips. It bounds the time of the start.
const MAX_STALE_DIRECTORIES: u32 = 1000;

/// Requested path, permissions and owner of the socket.
#[derive(Clone, Debug)]
pub(crate) struct SocketConfig {
    /// The option that names the path.
    pub(crate) option: &'static str,
    pub(crate) path: PathBuf,
    /// Permissions, such as `0o600`.
    pub(crate) mode: u32,
    /// User and group that own the socket; `None` means those of the process.
    pub(crate) owner: Option<(u32, u32)>,
}

/// Listening Unix socket; drop removes its file.
#[derive(Debug)]
pub(super) struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, to distinguish the socket from another file at the same path.
    id: Option<(u64, u64)>,
}

impl SocketFile {
    /// Binds the socket with its owner and permissions. Replaces a stale socket.
    pub(super) fn bind(wanted: &SocketConfig) -> Result<Self, ControlError> {
        let SocketConfig { option, path, .. } = wanted;
        let failed = |source| ControlError::Socket { option, path: path.into(), source };
        // Reject a path that is too long for clients, although it could be bound through /proc.
        SocketAddr::from_pathname(path).map_err(failed)?;
        if let Ok(there) = fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(ControlError::NotASocket { option, path: path.into() });
            }
            match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(failed(error)),
                Ok(_) => return Err(ControlError::SocketInUse { option, path: path.into() }),
            }
        }
        let listener = bind_in_private_directory(wanted).map_err(failed)?;
        Ok(Self { listener, path: path.into(), id: id_of(path) })
    }

    /// Returns a handle of the listener for the current runtime.
    pub(super) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        tokio::net::UnixListener::from_std(listener)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.id.is_some() && id_of(&self.path) == self.id {
            // May fail without privileges: the next start replaces the stale socket.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds in a private directory, sets the permissions, then renames the socket to its path. Clients cannot connect before
/// the rename, which also replaces a stale socket atomically.
fn bind_in_private_directory(wanted: &SocketConfig) -> io::Result<UnixListener> {
    let SocketConfig { path, mode, owner, .. } = wanted;
    let folder = create_private_directory(&parent_directory(path))?;
    let temporary = folder.join("s");
    let bound = bind_in_directory(&folder).and_then(|listener| {
        fs::set_permissions(&temporary, Permissions::from_mode(*mode))?;
        if let Some((uid, gid)) = owner {
            chown(&temporary, Some(*uid), Some(*gid))?;
        }
        fs::rename(&temporary, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    let _ = fs::remove_dir(&folder);
    bound
}

/// Creates a temporary directory. Skips stale ones: a process in another container may have the same process ID.
fn create_private_directory(place: &Path) -> io::Result<PathBuf> {
    let process = process::id();
    let mut number = 0_u32;
    loop {
        let folder = place.join(format!(".{process}.{number}"));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_STALE_DIRECTORIES => {
                number = number.saturating_add(1);
            }
            made => return made.map(|()| folder),
        }
    }
}

/// Binds `s` in `folder`. Linux offers a short path through /proc if the path is too long for a socket.
fn bind_in_directory(folder: &Path) -> io::Result<UnixListener> {
    let open = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    UnixListener::bind(if short.exists() { short.as_path() } else { folder }.join("s"))
}

fn id_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
