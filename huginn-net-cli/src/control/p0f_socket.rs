//! `--p0f-socket`: p0f's queries and answers over a Unix socket.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use huginn_net::p0f::{P0fAnswer, P0fQuery};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::{task, time};

use super::clients::{Active, Clients};
use super::{ACCEPT_RETRY_DELAY, ControlError, QueryHost};
use crate::output::parent_directory;

/// Folders of a crash at most that are passed over.
const MAX_STALE_DIRECTORIES: u32 = 1000;

/// A socket as it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct SocketConfig {
    pub(crate) path: PathBuf,
    /// Its permissions, as `0o600`.
    pub(crate) mode: u32,
    /// The user and the group that it shall belong to, if not to who runs the program.
    pub(crate) owner: Option<(u32, u32)>,
}

/// A listening socket in the file system, which goes with it.
#[derive(Debug)]
pub(super) struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, by which it is known from another that has taken its place.
    id: Option<(u64, u64)>,
}

impl SocketFile {
    /// Binds a socket with this owner and these permissions. One that nobody answers at any more is replaced.
    pub(super) fn bind(wanted: &SocketConfig) -> Result<Self, ControlError> {
        let path = wanted.path.as_path();
        let failed = |source| ControlError::Socket { path: path.into(), source };
        // Whose path is too long for clients could be bound, by a way around.
        SocketAddr::from_pathname(path).map_err(failed)?;
        if let Ok(there) = fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(ControlError::NotASocket { path: path.into() });
            }
            match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(failed(error)),
                Ok(_) => return Err(ControlError::SocketInUse { path: path.into() }),
            }
        }
        let listener = bind_in_private_directory(wanted).map_err(failed)?;
        Ok(Self { listener, path: path.into(), id: id_of(path) })
    }

    /// A handle of the listener for the runtime that is entered.
    pub(super) fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        tokio::net::UnixListener::from_std(listener)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.id.is_some() && id_of(&self.path) == self.id {
            // The right to do so may be gone by now: who comes next replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds in a folder that nobody else may enter and moves the socket to its place when its permissions are set: nobody
/// connects before, and what is replaced is so at once.
fn bind_in_private_directory(wanted: &SocketConfig) -> io::Result<UnixListener> {
    let SocketConfig { path, mode, owner } = wanted;
    let folder = create_private_directory(&parent_directory(path))?;
    let unseen = folder.join("s");
    let bound = bind_in_directory(&folder).and_then(|listener| {
        fs::set_permissions(&unseen, Permissions::from_mode(*mode))?;
        if let Some((uid, gid)) = owner {
            chown(&unseen, Some(*uid), Some(*gid))?;
        }
        fs::rename(&unseen, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        let _ = fs::remove_file(&unseen);
    }
    let _ = fs::remove_dir(&folder);
    bound
}

/// Makes a folder for the moment. One that a crash left behind stays: another process may have the same number in a
/// container of its own.
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

/// Binds `s` in this folder, of which the path may be too long for a socket: Linux knows a shorter one while it is open.
fn bind_in_directory(folder: &Path) -> io::Result<UnixListener> {
    let open = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    UnixListener::bind(if short.exists() { short.as_path() } else { folder }.join("s"))
}

fn id_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Answers all who connect. A client may stay for as long as it likes, unless its place is needed.
pub(super) async fn serve(listener: tokio::net::UnixListener, hosts: QueryHost) {
    let mut clients = Clients::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => clients.admit(|active| answer(stream, Arc::clone(&hosts), active)),
            Err(_) => time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Answers one query after the other, until the client goes.
async fn answer(mut stream: tokio::net::UnixStream, hosts: QueryHost, active: Active) {
    let mut query = [0; P0fQuery::LEN];
    while stream.read_exact(&mut query).await.is_ok() {
        active.note();
        let answer = match P0fQuery::parse(&query) {
            None => P0fAnswer::BadQuery,
            Some(query) => {
                let hosts = Arc::clone(&hosts);
                let asked = task::spawn_blocking(move || hosts(query.ip)).await;
                asked.unwrap_or(P0fAnswer::NoMatch)
            }
        };
        if stream.write_all(&answer.to_bytes()).await.is_err() {
            return;
        }
        active.note();
    }
}
