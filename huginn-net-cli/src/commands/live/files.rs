//! Paths that `live` writes to; no two options may name the same file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::args::LiveArguments;
use crate::control::SocketConfig;
use crate::failure::Failure;
use crate::output::{OutputError, PathName, Target, check_directory_writable, resolved};
use crate::privileges::{self, Policy};

/// Names of standard output.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Output paths.
#[derive(Debug)]
pub(super) struct Files {
    /// Events.
    pub(super) target: Target,
    /// File of host profiles; `None` means standard error.
    pub(super) hosts: Option<PathBuf>,
    /// Socket of p0f's query API.
    pub(super) p0f_socket: Option<SocketConfig>,
}

impl Files {
    /// Resolves the paths of the command line, before privileges are dropped.
    pub(super) fn from_args(args: &LiveArguments) -> Result<Self, Failure> {
        let typed = args.output.output.as_deref();
        let file = typed.filter(|path| STDOUT.iter().all(|name| *path != Path::new(name)));
        let hosts = args.service.hosts_file.as_deref().map(resolved);
        let socket = args.service.p0f_socket.as_deref();
        let files = Self {
            target: file.map_or(Target::Stdout, |path| Target::File(resolved(path))),
            hosts,
            p0f_socket: match socket {
                Some(path) => Some(SocketConfig {
                    path: path.to_owned(),
                    mode: args.service.p0f_socket_mode,
                    owner: privileges::owner(args.service.user.as_deref())?,
                }),
                None => None,
            },
        };
        files.check_distinct()?;
        Ok(files)
    }

    /// Returns the privileges that these files need.
    pub(super) fn policy(&self, args: &LiveArguments) -> Policy {
        let output = self.output().map(Path::to_owned);
        Policy {
            user: args.service.user.clone(),
            writable: output.into_iter().chain(self.hosts.clone()).collect(),
            #[cfg(feature = "parquet")]
            makes_folders: args.rotation.hour_folders,
            #[cfg(not(feature = "parquet"))]
            makes_folders: false,
            removable: self.p0f_socket.iter().map(|socket| socket.path.clone()).collect(),
            sandbox: !args.service.no_sandbox,
        }
    }

    /// Checks that the hosts file, which is written on request only, can be created.
    ///
    /// Call it after privileges are dropped.
    pub(super) fn check_rights(&self) -> Result<(), Failure> {
        let Some(path) = &self.hosts else { return Ok(()) };
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(OutputError::HostsKind { path: PathName(path.clone()) }.into());
        }
        let failed = |source| OutputError::HostsFolder { path: PathName(path.clone()), source };
        Ok(check_directory_writable(path).map_err(failed)?)
    }

    fn output(&self) -> Option<&Path> {
        match &self.target {
            Target::Stdout => None,
            Target::File(path) => Some(path),
        }
    }

    fn check_distinct(&self) -> Result<(), Failure> {
        let hosts = self.hosts.as_deref();
        let new = hosts.map(new_name);
        let socket = self.p0f_socket.as_ref().map(|socket| resolved(&socket.path));
        let mut seen: Vec<(&str, &Path)> = Vec::new();
        for (option, path) in [
            ("--output", self.output()),
            ("--hosts-file", hosts),
            ("the new file of --hosts-file", new.as_deref()),
            ("--p0f-socket", socket.as_deref()),
        ] {
            let Some(path) = path else { continue };
            if let Some((first, _)) = seen.iter().find(|(_, other)| is_same_file(path, other)) {
                return Err(Failure::SameFile { path: PathName(path.to_owned()), first, second: option });
            }
            seen.push((option, path));
        }
        Ok(())
    }
}

/// Whether two paths name the same regular file. Two options may share a device.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => one == other,
    }
}

/// Returns the temporary path of a file that replaces `path` once it is complete.
pub(super) fn new_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}
