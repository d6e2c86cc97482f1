//! Prints the page about the schema: `cargo run -p huginn-net-arrow --example schema > docs/schema.md`.

#![expect(clippy::print_stdout, reason = "an example prints")]

fn main() {
    print!("{}", huginn_net_arrow::schema_page());
}
