//! `huginn-net interfaces`.

use clap::Args;

use super::ListFormat;

#[derive(Args, Debug)]
pub(crate) struct InterfacesArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ListFormat,
}
