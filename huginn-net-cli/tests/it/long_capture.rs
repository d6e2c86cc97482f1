//! A capture of so many packets that workers begin.

use std::fs;

use crate::captures;

/// Length of a file's header, with magic number and link type.
const HEADER_LEN: usize = 24;

/// The packets of these captures over and over, some 1 MiB.
pub(crate) fn write(path: &str, names: &[&str]) {
    let captures: Vec<_> = names.iter().map(|name| fs::read(captures::path(name)).unwrap()).collect();
    let header = &captures[0][..HEADER_LEN];
    assert!(captures.iter().all(|capture| capture[..4] == header[..4] && capture[20..24] == header[20..]));
    let mut bytes = header.to_vec();
    for capture in captures.iter().cycle() {
        bytes.extend(&capture[HEADER_LEN..]);
        if bytes.len() > 1 << 20 {
            break;
        }
    }
    fs::write(path, bytes).unwrap();
}
