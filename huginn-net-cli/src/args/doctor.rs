//! `huginn-net doctor`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::ListFormat;

/// Explains the exit status.
const DOCTOR_HELP: &str = "\
Exit status: 0 if nothing is wrong, 1 otherwise. A note is not wrong.

Example:
  huginn-net doctor -i eth0 -o /var/log/huginn-net/events.json
  sudo -u huginn-net huginn-net doctor --test-alert \\
      --config /etc/huginn-net/huginn-net.toml";

#[derive(Args, Debug)]
#[command(after_help = DOCTOR_HELP)]
#[command(group = ArgGroup::new("outputs").args(["output", "config"]).multiple(true))]
pub(crate) struct DoctorArguments {
    /// Interface or pattern to check, or udp:PORT, tcp:HOST:PORT or file:DIR, which are opened; may be repeated [default: all interfaces that are up,
    /// without loopback]
    #[arg(short, long = "interface", value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,

    /// File that will be written, whose disk is checked, or a socket as 'live' takes it; may be repeated
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,

    /// Configuration file of 'live' whose interfaces and outputs are checked, too
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Send an alert that says that it is a test through each output of --config and -o, and check nothing else
    #[arg(long, requires = "outputs")]
    pub(crate) test_alert: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ListFormat,
}
