//! Rights that are given up once everything is open: the user, capabilities, and by Landlock the rest of the system.

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
use self::confinement::{Confinement, confine};
pub(crate) use self::policy::Policy;

/// What holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    uid: Uid,
    gid: Gid,
    /// The capabilities that no set holds but the bounding one, which only who has CAP_SETPCAP can empty. With
    /// no-new-privs they cannot be had again.
    bounding: usize,
    /// Nothing where it was not wanted.
    confinement: Option<Confinement>,
}

/// Rights could not be given up, or would not suffice for what is to be done without them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PrivilegeError {
    /// There is no such user.
    #[error("--user {name}: no such user; numbers of which the system knows nothing are given as UID:GID")]
    NoUser { name: String },
    /// The user could not be looked up.
    #[error("--user {name}: {source}")]
    LookUp { name: String, source: nix::Error },
    /// Only root may become somebody else.
    #[error("--user {name}: only root can become another user; this is uid {uid}")]
    NotRoot { name: String, uid: Uid },
    /// Rights belong to threads: one that runs already would keep its own.
    #[error("rights must be given up before threads are started; {threads} run")]
    Threads { threads: usize },
    /// A step that the system refused.
    #[error("cannot give up rights: {step}: {source}")]
    Refused { step: &'static str, source: nix::Error },
    /// Capabilities that the system would not take.
    #[error("cannot give up capabilities: {0}")]
    Capabilities(#[from] CapsError),
    /// A step that the system claims to have done, and has not.
    #[error("rights are still there that were given up: {what}")]
    Kept { what: &'static str },
    /// A folder that is to be written to is not there, or the user has no right to reach it.
    #[error("{}: {}", .path.display(), reason(.source))]
    Unreachable { path: PathBuf, source: PathFdError },
    /// Landlock failed, in a kernel that has it.
    #[error("cannot confine the program with Landlock (--no-sandbox does without): {0}")]
    Landlock(#[from] RulesetError),
}

/// What the system says, without the path again.
fn reason(error: &PathFdError) -> String {
    match error {
        PathFdError::OpenCall { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

impl PrivilegeError {
    /// Whether what was asked for cannot be done by anybody.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::NoUser { .. })
    }
}

/// Gives up all rights but those that the policy names. For good: of all threads that are started from now on, and of
/// all programs. To be called before the first thread is started.
///
/// Where it fails, some rights may be gone; the program must not go on.
pub(crate) fn drop(policy: &Policy) -> Result<Dropped, PrivilegeError> {
    // Where /proc is not mounted, the caller is believed.
    match fs::read_dir("/proc/self/task").map_or(1, Iterator::count) {
        1 => {}
        threads => return Err(PrivilegeError::Threads { threads }),
    }
    drop_in_this_thread(policy)
}

fn drop_in_this_thread(policy: &Policy) -> Result<Dropped, PrivilegeError> {
    let account = policy.user.as_deref().map(Account::find).transpose()?;
    // While CAP_SETPCAP is there. Without it the set stays as it is.
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
    // What is permitted last: no other set may hold more.
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
    /// What is still within reach that should not be, with the way to do better. Nothing where all was done that was
    /// wanted.
    pub(crate) fn warning(&self) -> Option<String> {
        let mut text = match self.confinement? {
            Confinement::Full => return None,
            Confinement::Partial => "confined by Landlock only as far as this kernel can".to_owned(),
            Confinement::Unsupported => "not confined: there is no Landlock here".to_owned(),
        };
        if self.uid.is_root() {
            text.push_str(
                "; runs on as root, without capabilities: --user NAME has it run on as somebody else",
            );
        }
        text.push_str(" (--no-sandbox takes it as it is)");
        Some(text)
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runs as uid {}, gid {}, without capabilities, with no-new-privs", self.uid, self.gid)?;
        if self.bounding > 0 {
            write!(f, " (the bounding set keeps {}, which are of no use)", self.bounding)?;
        }
        f.write_str(match self.confinement {
            None => "; not confined (--no-sandbox)",
            Some(Confinement::Unsupported) => "; not confined: there is no Landlock here",
            Some(Confinement::Partial) => "; confined by Landlock as far as this kernel can",
            Some(Confinement::Full) => "; confined by Landlock",
        })
    }
}

/// Whose the files are to be that are made before this user takes over; None where that makes no difference.
pub(crate) fn owner(user: Option<&str>) -> Result<Option<(u32, u32)>, PrivilegeError> {
    match user {
        Some(name) if unistd::geteuid().is_root() => Ok(Some(Account::find(name)?.ids())),
        _ => Ok(None),
    }
}

/// What to do where the right to capture is lacking, as a command.
pub(crate) fn how_to_get_rights() -> String {
    let program =
        std::env::current_exe().map_or_else(|_| "huginn-net".into(), |path| path.display().to_string());
    format!("run it as root, or once: sudo setcap cap_net_raw=eip '{program}'")
}

#[cfg(test)]
mod tests;
