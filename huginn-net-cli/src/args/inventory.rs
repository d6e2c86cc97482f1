//! `huginn-net inventory`.

use clap::{Args, ValueEnum};

use super::values::parse_number;
use super::{Category, DocumentArguments, FlowArguments, InputArguments};

const EXAMPLES: &str = "\
Examples:
  What needs attention, on one screen:
    huginn-net inventory captures/
  A line for each server and client:
    huginn-net inventory --format json captures/ -o inventory.json
  A CycloneDX CBOM:
    huginn-net inventory --format cyclonedx captures/ -o cbom.json

docs/inventory.md describes the formats.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InventoryArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Format of the inventory
    #[arg(long, value_enum, default_value = "human", help_heading = Category::OUTPUT.heading, value_name = "FORMAT")]
    pub(crate) format: InventoryFormat,

    /// List at most N servers and N clients in the human format [default: 8]
    #[arg(long, help_heading = Category::OUTPUT.heading, value_name = "N", value_parser = parse_number)]
    pub(crate) top: Option<usize>,

    #[command(flatten)]
    pub(crate) output: DocumentArguments,

    #[command(flatten)]
    pub(crate) flows: FlowArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InventoryFormat {
    /// Sentences and tables: what needs attention
    Human,
    /// JSON Lines: totals, then a line for each server and client
    Json,
    /// A cryptography bill of materials (CBOM): CycloneDX 1.6, JSON
    Cyclonedx,
}
