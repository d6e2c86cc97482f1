//! Prints the JSON Schema of events: `cargo run -p huginn-net --example events_schema > docs/events.schema.json`.

#![expect(clippy::print_stdout, reason = "an example prints")]

fn main() {
    println!("{:#}", huginn_net::record::events_schema(huginn_net::hosts::fields_of_host()));
}
