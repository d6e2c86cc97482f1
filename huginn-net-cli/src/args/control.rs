//! `huginn-net reload` and `huginn-net status`.

use std::path::PathBuf;

use clap::Args;

/// Explains the exit status.
const CONTROL_HELP: &str = "\
Exit status: 0 if all is well, 1 otherwise: the reason is on standard error.";

#[derive(Args, Debug)]
#[command(after_help = CONTROL_HELP)]
pub(crate) struct ControlArguments {
    /// Socket of the sensor
    #[arg(long, value_name = "PATH", default_value = "/run/huginn-net/control.sock")]
    pub(crate) control: PathBuf,
}
