//! A state belongs to one process.

use std::path::Path;

use crate::failure::Failure;

/// A lock of a state that ends with the process.
#[derive(Debug)]
pub(crate) struct StateLock {
    #[cfg(target_os = "linux")]
    _file: nix::fcntl::Flock<std::fs::File>,
}

impl StateLock {
    /// Locks the file `PATH.lock`: the state itself is replaced at each write. Other systems than Linux have no lock.
    ///
    /// # Errors
    /// Another process has it, or the file cannot be created.
    #[cfg(target_os = "linux")]
    pub(crate) fn take(path: &Path) -> Result<Self, Failure> {
        use std::path::PathBuf;

        use nix::errno::Errno;
        use nix::fcntl::{Flock, FlockArg, OFlag};

        use crate::paths::{name_of, open_output};

        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let failed = |source| Failure::Create { path: name_of(&name), source };
        let options = &mut std::fs::File::options();
        let file =
            open_output(&name, options.write(true).create(true), OFlag::O_NONBLOCK.bits()).map_err(failed)?;
        let locked = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
            Errno::EWOULDBLOCK => Failure::StateInUse { path: name_of(path) },
            error => failed(error.into()),
        });
        Ok(Self { _file: locked? })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn take(_: &Path) -> Result<Self, Failure> {
        Ok(Self {})
    }
}
