//! A capture with enough packets to start worker threads.

use std::fs;

use crate::captures;

/// Length of the pcap file header, in bytes.
const HEADER_LEN: usize = 24;

/// Writes the packets of these captures repeatedly, until the file has more than 1 MiB.
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
