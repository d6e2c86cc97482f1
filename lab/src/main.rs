//! `huginn-lab`: measures sensors under real traffic.
//!
//! `serve` answers HTTP requests with responses of any size, status and delay; `load` makes requests; `measure` runs both
//! beside a sensor and compares the sensor's events with the connections made; `ab` compares commands in turn.

mod ab;
mod load;
mod measure;
mod quantity;
mod serve;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "huginn-lab", version, about = "Measures sensors under real traffic")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer HTTP/1, HTTP/2 and HTTP/3 requests with responses of the size, status and delay that the URL asks for
    Serve(serve::Options),
    /// Make HTTP/1, HTTP/2 or HTTP/3 requests and report rates and latencies
    Load(load::Options),
    /// Run a server, a load and a sensor in network namespaces and compare the sensor's events with the connections
    Measure(measure::Options),
    /// Run commands in turn, several times, and compare what they cost
    Ab(ab::Options),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Serve(options) => serve::run(&options),
        Command::Load(options) => load::run(&options),
        Command::Measure(options) => measure::run(&options),
        Command::Ab(options) => ab::run(&options),
    }
}
