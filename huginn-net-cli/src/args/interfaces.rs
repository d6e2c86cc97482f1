//! `huginn-net interfaces`.

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct InterfacesArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// A table
    Human,
    /// JSON Lines, one object per row
    Json,
}
