//! How many hosts of each operating system a capture holds.
//!
//! `cargo run -p huginn-net --example count_systems captures/tcp/curl-nginx/curl-nginx.pcap`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use huginn_net::{CaptureReader, HuginnNet, Observation};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which capture?")?;
    let mut hosts: BTreeMap<String, BTreeSet<_>> = BTreeMap::new();
    let mut analyzer = HuginnNet::builder().build();
    let counters = analyzer.analyze(CaptureReader::open(path)?, |event| {
        if let Observation::Tcp(observation) = &event.kind {
            let system = observation.label().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            hosts.entry(system).or_default().insert(event.subject_addr().ip());
        }
    })?;
    for (system, addresses) in &hosts {
        println!("{:6} {system}", addresses.len());
    }
    println!("{:6} packets", counters.frames);
    Ok(())
}
