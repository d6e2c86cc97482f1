//! Dropping of privileges after interfaces and sockets are open: user, capabilities and, by Landlock, file access.

mod account;
mod confinement;
mod policy;

use std::fmt;
use std::fs;
use std::path::PathBuf;

use caps::CapSet;
use caps::errors::CapsError;
use landlock::{PathFdError, RulesetError};
use nix::sys::prctl;
use nix::unistd::{self, Gid, Uid};

use self::account::Account;
use self::confinement::confine;
pub(crate) use self::confinement::{Confinement, supported};
pub(crate) use self::policy::Policy;

/// Privileges after dropping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    uid: Uid,
    gid: Gid,
    /// Number of capabilities left in the bounding set, which only CAP_SETPCAP can clear. With no-new-privs the process
    /// cannot regain them.
    bounding: usize,
    /// `None` with --no-sandbox.
    confinement: Option<Confinement>,
}

/// Error of dropping privileges.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PrivilegeError {
    /// There is no such user.
    #[error("--user {name}: no such user; for an unlisted user give UID:GID")]
    NoUser { name: String },
    /// The user could not be looked up.
    #[error("--user {name}: {source}")]
    LookUp { name: String, source: nix::Error },
    /// Only root can switch to another user.
    #[error("--user {name}: only root can switch users; this is uid {uid}")]
    NotRoot { name: String, uid: Uid },
    /// Privileges belong to threads: a running thread would keep its own.
    #[error("cannot drop privileges: {threads} threads are already running")]
    Threads { threads: usize },
    /// A step that the system refused.
    #[error("cannot drop privileges: {step}: {source}")]
    Refused { step: &'static str, source: nix::Error },
    /// Capabilities that the system would not take.
    #[error("cannot drop capabilities: {0}")]
    Capabilities(#[from] CapsError),
    /// A step that the system reported as done but did not do.
    #[error("the kernel did not drop {what}")]
    Kept { what: &'static str },
    /// An output directory does not exist or is not accessible to the user.
    #[error("{option}: {}: {}", crate::paths::PathName(.path.clone()), reason(.source))]
    Unreachable { option: &'static str, path: PathBuf, source: PathFdError },
    /// Landlock failed, in a kernel that has it.
    #[error("cannot set up Landlock (skip it with --no-sandbox): {0}")]
    Landlock(#[from] RulesetError),
}

/// Returns the message of the system without the path.
fn reason(error: &PathFdError) -> String {
    match error {
        PathFdError::OpenCall { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

impl PrivilegeError {
    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::NoUser { .. })
    }
}

/// Permanently drops all privileges except those in `policy`, also for later threads and child processes.
///
/// Call it before the first thread starts.
///
/// # Errors
/// Some privileges may be dropped already: the program must end.
pub(crate) fn drop(policy: &Policy) -> Result<Dropped, PrivilegeError> {
    // Without /proc, the number of threads is unknown and taken as 1.
    match fs::read_dir("/proc/self/task").map_or(1, Iterator::count) {
        1 => {}
        threads => return Err(PrivilegeError::Threads { threads }),
    }
    drop_in_this_thread(policy)
}

fn drop_in_this_thread(policy: &Policy) -> Result<Dropped, PrivilegeError> {
    let account = policy.user.as_deref().map(Account::find).transpose()?;
    // Needs CAP_SETPCAP. Without it the bounding set stays as it is.
    let _ = caps::clear(None, CapSet::Bounding);
    if let Some(account) = &account {
        account.assume()?;
    }
    clear_capabilities()?;
    forgo_new_privileges()?;
    let confinement = if policy.sandbox { Some(confine(policy)?) } else { None };
    Ok(Dropped {
        uid: unistd::getuid(),
        gid: unistd::getgid(),
        bounding: caps::read(None, CapSet::Bounding)?.len(),
        confinement,
    })
}

fn clear_capabilities() -> Result<(), PrivilegeError> {
    // The permitted set comes last: it must contain the other sets.
    let sets = [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted];
    for set in sets {
        caps::clear(None, set)?;
    }
    for set in sets {
        if !caps::read(None, set)?.is_empty() {
            return Err(PrivilegeError::Kept { what: "capabilities" });
        }
    }
    Ok(())
}

fn forgo_new_privileges() -> Result<(), PrivilegeError> {
    let refused = |source| PrivilegeError::Refused { step: "no-new-privs", source };
    prctl::set_no_new_privs().map_err(refused)?;
    if prctl::get_no_new_privs().map_err(refused)? {
        Ok(())
    } else {
        Err(PrivilegeError::Kept { what: "new privileges of other programs" })
    }
}

impl Dropped {
    /// Returns a warning with advice if the sandbox is incomplete; `None` if it is complete or disabled.
    pub(crate) fn warning(&self) -> Option<String> {
        let mut text = match self.confinement? {
            Confinement::Full => return None,
            Confinement::Partial => "confined by Landlock only as far as this kernel can".to_owned(),
            Confinement::Unsupported => "not confined: there is no Landlock in this kernel".to_owned(),
        };
        if self.uid.is_root() {
            text.push_str(
                "; still runs as root, without capabilities: switch to another user with --user NAME",
            );
        }
        text.push_str(" (--no-sandbox silences this warning)");
        Some(text)
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runs as uid {}, gid {}, without capabilities, with no-new-privs", self.uid, self.gid)?;
        if self.bounding > 0 {
            write!(f, " (the bounding set keeps {}, which cannot be used)", self.bounding)?;
        }
        f.write_str(match self.confinement {
            None => "; not confined (--no-sandbox)",
            Some(Confinement::Unsupported) => "; not confined: there is no Landlock in this kernel",
            Some(Confinement::Partial) => "; confined by Landlock as far as this kernel can",
            Some(Confinement::Full) => "; confined by Landlock",
        })
    }
}

/// Returns the owner of files that the program creates before it switches users; `None` if it does not switch.
pub(crate) fn owner(user: Option<&str>) -> Result<Option<(u32, u32)>, PrivilegeError> {
    match user {
        Some(name) if unistd::geteuid().is_root() => Ok(Some(Account::find(name)?.ids())),
        _ => Ok(None),
    }
}

/// Returns the command that grants the permission to capture.
pub(crate) fn how_to_get_rights() -> String {
    let program =
        std::env::current_exe().map_or_else(|_| "huginn-net".into(), |path| path.display().to_string());
    format!("run it as root, or once: sudo setcap cap_net_raw=eip '{program}'")
}

#[cfg(test)]
mod tests;
