//! Measurement of sensors under real traffic.

mod events;
mod network;
mod process;
mod reader;
mod row;
mod run;
mod sensor;
mod truth;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::quantity::parse_size;
use network::Network;
use row::HEAD;
use run::{Case, Laboratory};
use sensor::{Programs, Sensor};

#[derive(Args)]
pub(crate) struct Options {
    /// Versions of HTTP: 1 in the clear, 2 over TLS, 3 over QUIC
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,3", value_parser = clap::value_parser!(u8).range(1..=3))]
    http: Vec<u8>,
    /// Sizes of responses
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "0,1k,16k,256k", value_parser = checked_size)]
    sizes: Vec<String>,
    /// Use of connections
    #[arg(long, value_name = "MODE", value_delimiter = ',', value_enum, default_value = "churn,keep-alive")]
    modes: Vec<Mode>,
    /// Sensors, in turn
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_enum,
        default_value = "none,huginn-net,tcpdump,p0f,tshark,huginn-net-2.2.1"
    )]
    sensors: Vec<Sensor>,
    /// Duration of each load, in seconds
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    duration: u32,
    /// Number of connections open at a time
    #[arg(short, long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: u16,
    /// Requests per second [default: as many as complete]
    #[arg(long, value_name = "R", conflicts_with = "gbps")]
    rate: Option<f64>,
    /// Make as many requests per second as fill this rate on the interface; a short run without a sensor finds out
    #[arg(long, value_name = "GBPS")]
    gbps: Option<f64>,
    /// Use one namespace and its loopback interface instead of two and a veth pair
    #[arg(long)]
    loopback: bool,
    /// Leave segmentation to the interface: packets of up to 64 KiB instead of those of a wire
    #[arg(long)]
    offload: bool,
    /// File that tcpdump writes
    #[arg(long, value_name = "FILE", default_value = "/dev/null")]
    capture: PathBuf,
    /// Further argument of 'huginn-net live'; may be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    option: Vec<String>,
    /// Further argument of 'huginn-lab serve'; may be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    serve_option: Vec<String>,
    /// Program huginn-net [default: beside this program]
    #[arg(long, value_name = "FILE")]
    huginn_net: Option<PathBuf>,
    /// Live analyzer of huginn-net 2.2.1 [default: live of benches/peers, built in release mode]
    #[arg(long, value_name = "FILE", default_value = "benches/peers/target/release/live")]
    published: PathBuf,
    /// Print a JSON object for each measurement instead of a table
    #[arg(long)]
    json: bool,
    /// Fail if huginn-net drops a packet, or misses, doubles or confuses an event
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// A new connection for every request
    Churn,
    /// All requests on the same connections
    KeepAlive,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Churn => "churn",
            Self::KeepAlive => "keep-alive",
        }
    }
}

fn checked_size(text: &str) -> anyhow::Result<String> {
    parse_size(text).map(|_| text.to_owned())
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let own = std::env::current_exe()?;
    let programs = Programs {
        huginn_net: options.huginn_net.clone().unwrap_or_else(|| own.with_file_name("huginn-net")),
        published: options.published.clone(),
        capture: options.capture.clone(),
        options: options.option.clone(),
    };
    let sensors: Vec<Sensor> =
        options.sensors.iter().copied().filter(|sensor| sensor.is_installed(&programs)).collect();
    for missing in options.sensors.iter().filter(|sensor| !sensors.contains(sensor)) {
        writeln!(io::stderr(), "not installed, left out: {}", missing.name())?;
    }
    let network = Network::create(options.loopback, options.offload)?;
    let mut laboratory = Laboratory::open(network, own, programs, options)?;
    if !options.json {
        writeln!(io::stdout(), "{HEAD}")?;
    }
    let mut faults = 0_u32;
    for (&http, size, &mode) in cases(options) {
        let rate = match options.gbps {
            Some(gbps) => Some(laboratory.rate_of(gbps, http, size, mode)?),
            None => options.rate,
        };
        for &sensor in &sensors {
            let row =
                laboratory.measure(&Case { http, size, mode, sensor, rate, seconds: options.duration })?;
            if interrupted.load(Ordering::Relaxed) {
                bail!("interrupted");
            }
            let line = if options.json { serde_json::to_string(&row)? } else { row.markdown() };
            writeln!(io::stdout(), "{line}")?;
            if sensor == Sensor::HuginnNet && !row.is_faultless() {
                faults = faults.saturating_add(1);
                writeln!(
                    io::stderr(),
                    "huginn-net: {}",
                    serde_json::to_string(&row).context("a row without text")?
                )?;
            }
        }
    }
    if options.check && faults > 0 {
        bail!("huginn-net dropped packets or reported other events than connections were made");
    }
    Ok(())
}

/// Returns all combinations of protocol, size and mode.
fn cases(options: &Options) -> impl Iterator<Item = (&u8, &str, &Mode)> {
    options.http.iter().flat_map(move |http| {
        options
            .sizes
            .iter()
            .flat_map(move |size| options.modes.iter().map(move |mode| (http, size.as_str(), mode)))
    })
}
