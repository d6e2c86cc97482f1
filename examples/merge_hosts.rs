//! One table of hosts from several captures of the same time, each analysed in a thread of its own.
//!
//! `cargo run -p huginn-net --example merge_hosts CAPTURE...`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;

use huginn_net::core::{Analyzer, Route, SharedState};
use huginn_net::hosts::Hosts;
use huginn_net::observers::WithoutHosts;
use huginn_net::{CaptureReader, Configure, Observers};

/// Analyses the flows of each capture, and applies what all of them say of hosts in the order of time.
pub(crate) fn merge(captures: &[String]) -> Result<Hosts, Box<dyn Error>> {
    let observers = || Observers::default().profiles(true);
    let mut runs = Vec::new();
    for capture in captures {
        let analyzer = Analyzer::builder_with(WithoutHosts::new(observers())).build();
        runs.push(analyzer.spawn(CaptureReader::open(capture)?));
    }
    let mut updates = Vec::new();
    for mut run in runs {
        updates.extend(run.by_ref().filter_map(|event| match event.into_route() {
            Route::Update(update) => Some(update),
            Route::Report(_) => None,
        }));
        run.finish().1?;
    }
    updates.sort_by_key(|update| update.ts);
    let mut hosts = observers().host_table();
    for update in updates {
        hosts.on_update(update, &mut |event| println!("{:?}", event.kind));
    }
    Ok(hosts)
}

#[allow(dead_code, reason = "a test calls merge")]
fn main() -> Result<(), Box<dyn Error>> {
    let captures: Vec<String> = std::env::args().skip(1).collect();
    for host in merge(&captures)?.profiles() {
        println!("{} {:?}", host.ip, host.verdict());
    }
    Ok(())
}
