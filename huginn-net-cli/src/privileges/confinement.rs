//! Landlock sandbox (`landlock(7)`): allows only the output directories, those of watch lists and captures, the counters of interfaces, and connections to
//! servers of captures.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};

use super::{Policy, PrivilegeError};
use crate::paths::parent_directory;

/// Newest Landlock ABI that is requested, of Linux 6.12. Older kernels enforce the access rights that they support.
const KNOWN: ABI = ABI::V6;
/// Paths read during capture: states and counters of interfaces. The rule covers all of `/proc`, because a rule for the
/// directory of the process is lost whenever the kernel recreates that directory.
const READABLE: [&str; 3] = ["/proc", "/sys/class/net", "/sys/devices"];

/// Extent of the sandbox that the kernel supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// The kernel has no Landlock, or a container blocks it.
    Unsupported,
    /// The kernel restricts only some of the access rights.
    Partial,
    Full,
}

/// Extent of the sandbox that the kernel supports. Makes rules that are never used: this needs no rights and restricts nothing.
pub(crate) fn supported() -> Confinement {
    let supports = |abi: ABI| {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let rules = rules.handle_access(AccessFs::from_all(abi));
        let rules = match AccessNet::from_all(abi) {
            none if none.is_empty() => rules,
            rights => rules.and_then(|rules| rules.handle_access(rights)),
        };
        let rules = match Scope::from_all(abi) {
            none if none.is_empty() => rules,
            scope => rules.and_then(|rules| rules.scope(scope)),
        };
        rules.and_then(Ruleset::create).is_ok()
    };
    match (supports(KNOWN), supports(ABI::V1)) {
        (true, _) => Confinement::Full,
        (false, true) => Confinement::Partial,
        (false, false) => Confinement::Unsupported,
    }
}

/// Denies this thread, and threads that it starts, everything that is not listed: files, TCP connections and ports, and
/// (from Linux 6.12) signals to other processes and their abstract sockets. Open descriptors stay usable.
pub(super) fn confine(policy: &Policy) -> Result<Confinement, PrivilegeError> {
    let mut rules = Vec::new();
    for path in READABLE.iter().map(Path::new).chain(policy.folders.iter().map(PathBuf::as_path)) {
        // A missing path needs no rule.
        if let Ok(folder) = PathFd::new(path) {
            rules.push(PathBeneath::new(folder, make_bitflags!(AccessFs::{ReadFile | ReadDir})));
        }
    }
    for path in &policy.readable {
        // Editors replace files, so the rule covers the folders of the file and of what a link points to.
        let target = fs::canonicalize(path).ok();
        for path in std::iter::once(path).chain(&target) {
            if let Ok(folder) = PathFd::new(parent_directory(path)) {
                rules.push(PathBeneath::new(folder, make_bitflags!(AccessFs::{ReadFile})));
            }
        }
    }
    for path in &policy.removable {
        // A process without access to the directory cannot remove the file either.
        if let Ok(folder) = PathFd::new(parent_directory(path)) {
            rules.push(PathBeneath::new(folder, make_bitflags!(AccessFs::{RemoveFile})));
        }
    }
    for (option, path) in &policy.writable {
        for (path, rights) in places(path) {
            let rights = if policy.makes_folders { rights | AccessFs::MakeDir } else { rights };
            let place =
                PathFd::new(&path).map_err(|source| PrivilegeError::Unreachable { option, path, source })?;
            rules.push(PathBeneath::new(place, rights));
        }
    }
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(rules.into_iter().map(Ok::<_, RulesetError>))?
        .add_rules(
            policy.ports.iter().map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp))),
        )?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Confinement::Full,
        RulesetStatus::PartiallyEnforced => Confinement::Partial,
        RulesetStatus::NotEnforced => Confinement::Unsupported,
    })
}

/// Returns the paths and the access rights that writing, renaming and replacing this file need. The file is not a
/// symbolic link.
fn places(path: &Path) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let in_file = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate});
    let in_folder = in_file | make_bitflags!(AccessFs::{ReadDir | MakeReg | RemoveFile});
    let kind = fs::metadata(path).map(|found| found.file_type());
    // A device or a pipe is neither renamed nor replaced, so the rule covers only the file itself.
    if kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device() || kind.is_fifo()) {
        return vec![(path.to_owned(), in_file)];
    }
    vec![(parent_directory(path), in_folder)]
}
