//! `--p0f-socket`: p0f's queries and answers over a Unix socket.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use huginn_net::{P0fAnswer, P0fQuery};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::{task, time};

use super::clients::{Active, Clients};
use super::{AskError, PAUSE, TellHost};

/// A listening socket in the file system, which goes with it.
#[derive(Debug)]
pub(super) struct SocketFile {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, by which it is known from another that has taken its place.
    id: Option<(u64, u64)>,
}

impl SocketFile {
    /// Binds a socket with these permissions. One that nobody answers at any more is replaced.
    pub(super) fn bind(path: &Path, mode: u32) -> Result<Self, AskError> {
        let failed = |source| AskError::Socket { path: path.into(), source };
        if let Ok(there) = fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(AskError::NotASocket { path: path.into() });
            }
            match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(failed(error)),
                Ok(_) => return Err(AskError::SocketInUse { path: path.into() }),
            }
        }
        let listener = bind_unseen(path, mode).map_err(failed)?;
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

/// Binds in a directory that nobody else may enter and moves the socket to its place when its permissions are set: nobody
/// connects before, and what is replaced is so at once.
fn bind_unseen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let folder = path.parent().unwrap_or_else(|| Path::new("")).join(format!(".{}", process::id()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    let unseen = folder.join("s");
    let bound = UnixListener::bind(&unseen).and_then(|listener| {
        fs::set_permissions(&unseen, Permissions::from_mode(mode))?;
        fs::rename(&unseen, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        let _ = fs::remove_file(&unseen);
    }
    let _ = fs::remove_dir(&folder);
    bound
}

fn id_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Answers all who connect. A client may stay for as long as it likes, unless its place is needed.
pub(super) async fn serve(listener: tokio::net::UnixListener, hosts: TellHost) {
    let mut clients = Clients::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => clients.admit(|active| answer(stream, Arc::clone(&hosts), active)),
            Err(_) => time::sleep(PAUSE).await,
        }
    }
}

/// Answers one query after the other, until the client goes.
async fn answer(mut stream: tokio::net::UnixStream, hosts: TellHost, active: Active) {
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
