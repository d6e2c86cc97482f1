//! Peak memory of the test process.

use std::fs;

/// Returns the peak resident memory of this process, in KiB (proc(5)).
pub(crate) fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
