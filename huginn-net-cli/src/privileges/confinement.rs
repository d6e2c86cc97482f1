//! What stays within reach under Landlock (`landlock(7)`): the folders that are written to, and the counters of
//! interfaces.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};

use super::{Policy, PrivilegeError};
use crate::output::parent_directory;

/// The rights that are ruled over: those of Linux 6.12. Older kernels rule over fewer.
const KNOWN: ABI = ABI::V6;
/// What is read while packets are watched: the states and the counters of interfaces. All of `/proc`, as a rule about
/// the folder of the process in it is forgotten whenever the kernel makes that anew.
const READABLE: [&str; 3] = ["/proc", "/sys/class/net", "/sys/devices"];

/// How much of it the kernel can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confinement {
    /// It has no Landlock, or a container keeps it from us.
    Unsupported,
    /// It rules over some of the rights only.
    Partial,
    Full,
}

/// Puts out of reach of this thread, and of those that it starts, what is not listed here: files, TCP connections and
/// ports, and (from Linux 6.12) signals to other processes and their abstract sockets. What is open stays open.
pub(super) fn confine(policy: &Policy) -> Result<Confinement, PrivilegeError> {
    let mut rules = Vec::new();
    for path in READABLE {
        // Without it there is nothing to be read.
        if let Ok(folder) = PathFd::new(path) {
            rules.push(PathBeneath::new(folder, make_bitflags!(AccessFs::{ReadFile | ReadDir})));
        }
    }
    for path in &policy.removable {
        // Who cannot get there cannot remove it either.
        if let Ok(folder) = PathFd::new(parent_directory(path)) {
            rules.push(PathBeneath::new(folder, make_bitflags!(AccessFs::{RemoveFile})));
        }
    }
    for path in &policy.writable {
        for (path, rights) in places(path) {
            let place = PathFd::new(&path).map_err(|source| PrivilegeError::Unreachable { path, source })?;
            rules.push(PathBeneath::new(place, rights));
        }
    }
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Confinement::Full,
        RulesetStatus::PartiallyEnforced => Confinement::Partial,
        RulesetStatus::NotEnforced => Confinement::Unsupported,
    })
}

/// Where rights are needed to write this file, which is no link to one, to rename and to replace it.
fn places(path: &Path) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let in_file = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});
    let in_folder = in_file | make_bitflags!(AccessFs::{ReadDir | MakeReg | RemoveFile});
    let kind = fs::metadata(path).map(|found| found.file_type());
    // A device or a pipe is neither renamed nor replaced, and its neighbours are none of our business.
    if kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device() || kind.is_fifo()) {
        return vec![(path.to_owned(), in_file)];
    }
    vec![(parent_directory(path), in_folder)]
}
