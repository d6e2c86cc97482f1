//! Resident memory; shared by several benches.

use std::fs;

/// Returns the resident memory of this process in bytes, if the system reports it (proc(5)).
pub(crate) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}
