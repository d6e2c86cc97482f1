//! Prints the page about formats: `cargo run -p huginn-net --example formats > docs/formats.md`.

#![expect(clippy::print_stdout, reason = "an example prints")]

fn main() {
    print!("{}", huginn_net::record::formats::formats_page());
}
