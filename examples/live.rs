//! Says for some seconds, as they come, which operating systems connect over an interface.
//!
//! `cargo build -p huginn-net-live --example live && sudo target/debug/examples/live 60 eth0`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "that is what it is for")]

use std::error::Error;
use std::thread;
use std::time::Duration;

use huginn_net::{HuginnNet, Observation};
use huginn_net_live::{LiveOptions, LiveSource};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, interfaces @ ..] = &*arguments else {
        return Err("usage: live SECONDS INTERFACE...".into());
    };
    let time = Duration::from_secs(seconds.parse()?);
    let mut source = LiveSource::open(interfaces, &LiveOptions::default())?;
    source.on_notice(|notice| eprintln!("{notice}"));
    let (stopper, stats) = (source.stopper(), source.stats());
    thread::spawn(move || {
        thread::sleep(time);
        stopper.stop();
    });
    let counters = HuginnNet::builder().build().analyze(source, |event| {
        if let Observation::Tcp(observation) = &event.kind {
            let system = observation.label().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            println!("{} {} {system}", event.ts, event.subject_addr());
        }
    })?;
    println!("{} frames, {} segments dropped by slow workers", counters.frames, counters.segments_dropped);
    for interface in stats.interfaces() {
        println!("{}: {} received, {} dropped", interface.name, interface.received, interface.kernel_dropped);
    }
    Ok(())
}
