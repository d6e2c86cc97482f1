//! Writes a large capture file: repeats the captures of this project, or the named ones, with other addresses each
//! time.
//!
//! `cargo run --release -p huginn-net-benches --features tools --example big_capture -- OUT.pcap MEGABYTES [NAME]...`
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool of the benches may panic"
)]

#[path = "packets.rs"]
mod packets;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use packets::{Packets, Repeat, all_captures};

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next();
    let megabytes: Option<usize> = arguments.next().and_then(|number| number.parse().ok());
    let (Some(path), Some(megabytes)) = (path, megabytes) else {
        return Err(io::Error::other("wanted: OUT.pcap MEGABYTES [NAME]..."));
    };
    let named: Vec<_> = arguments.map(PathBuf::from).collect();
    let captures = if named.is_empty() { all_captures() } else { named };
    let packets = Packets::from_captures(&captures, Repeat::NewFlows, megabytes << 20, |_| true);
    println!("{} packets", packets.len());
    packets.write_pcap(Path::new(&path))
}
