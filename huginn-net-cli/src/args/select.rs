//! Conditions on events.

use clap::Args;
use huginn_net::Timestamp;
use huginn_net::select::parse_time;

use super::Category;

/// Selects events by their fields and their time.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = Category::SELECTION.heading)]
pub(crate) struct SelectArguments {
    /// Only events whose fields fulfil this condition, such as "sni ~ '*.ru' and client.ip in 10.0.0.0/8" (docs/select.md)
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) condition: Option<String>,

    /// Only events from this time on, in UTC, such as '2022-03-17 08:38'
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Timestamp>,

    /// Only events before this time, in UTC
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<Timestamp>,
}

impl SelectArguments {
    /// Whether events are selected.
    pub(crate) fn is_set(&self) -> bool {
        self.condition.is_some() || self.from.is_some() || self.to.is_some()
    }
}

fn time(text: &str) -> Result<Timestamp, &'static str> {
    parse_time(text)
        .ok_or("expected a time in UTC, such as '2022-03-17', '2022-03-17 08:38' or 2022-03-17T08:38:09.5Z")
}
