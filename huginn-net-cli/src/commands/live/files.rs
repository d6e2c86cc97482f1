//! The files that the watch writes: where they lie, and that no two are one.

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

/// What is written where.
#[derive(Debug)]
pub(super) struct Files {
    /// Events.
    pub(super) target: Target,
    /// What is known of hosts; standard error where there is none.
    pub(super) hosts: Option<PathBuf>,
    /// Where clients of p0f ask.
    pub(super) p0f_socket: Option<SocketConfig>,
}

impl Files {
    /// Finds them by what was typed, while rights are there to look.
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

    /// Which rights are needed for them, and which stay beside.
    pub(super) fn policy(&self, args: &LiveArguments) -> Policy {
        let output = self.output().map(Path::to_owned);
        Policy {
            user: args.service.user.clone(),
            writable: output.into_iter().chain(self.hosts.clone()).collect(),
            removable: self.p0f_socket.iter().map(|socket| socket.path.clone()).collect(),
            sandbox: !args.service.no_sandbox,
        }
    }

    /// Looks whether there is the right to write what is written only when it is asked for. To be called when rights have
    /// been given up.
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

/// Whether two names are those of one file. A device takes whatever comes.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => one == other,
    }
}

/// Under which name a file is written that replaces this one when it is whole.
pub(super) fn new_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}
