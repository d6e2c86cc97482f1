//! Files that a process has open to write, as `/proc` shows them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::{FileId, Inode};

/// Mask and values of the access mode in `flags` of `/proc/PID/fdinfo/FD`: those of open(2).
const ACCESS_MODE: u32 = 0o3;
const READ_ONLY: u32 = 0;

/// Returns those of some files that a process has open to write. It misses processes that this one may not look at, those of other
/// machines, and all where there is no `/proc`.
pub(super) fn open_to_write(files: &HashSet<Inode>) -> HashSet<Inode> {
    let mut open = HashSet::new();
    if files.is_empty() {
        return open;
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in
        processes.filter(|entry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
    {
        let process = process.path();
        for descriptor in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            // Follows the link to the open file, without opening it.
            let Ok(found) = fs::metadata(descriptor.path()) else { continue };
            let inode = FileId::of(&found).inode();
            let info = process.join("fdinfo").join(descriptor.file_name());
            if files.contains(&inode) && is_writable(&info) {
                open.insert(inode);
            }
        }
    }
    open
}

/// Whether a descriptor is open to write; one that is closed meanwhile is not.
fn is_writable(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != READ_ONLY)
}
