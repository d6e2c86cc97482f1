//! IP packets that a program already has, pushed one by one: no file, no thread, no clock. Prints the lines of p0f.
//!
//! `cargo run -p huginn-net --example push_frames <PACKETS`: a packet on each line of standard input, as nanoseconds since 1970 and its
//! bytes in hexadecimal.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::io;

use huginn_net::p0f::P0fLine;
use huginn_net::{Event, Frame, HuginnNet, LinkType, Timestamp};

fn main() -> Result<(), Box<dyn Error>> {
    let mut analyzer = HuginnNet::builder().build();
    let mut print = |event: Event| {
        for line in P0fLine::lines_from_event(&event) {
            println!("{line}");
        }
    };
    for line in io::stdin().lines() {
        let line = line?;
        let (nanos, packet) = line.split_once(' ').ok_or("NANOSECONDS BYTES")?;
        let (ts, packet) = (Timestamp::from_nanos(nanos.parse()?, 6), bytes(packet)?);
        let wire_len = packet.len().try_into()?;
        let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: &packet, wire_len }, &mut print);
    }
    analyzer.finish(&mut print);
    println!("{:?}", analyzer.counters().flows);
    Ok(())
}

fn bytes(hex: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let byte = |pair: &[u8]| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    hex.as_bytes().chunks(2).map(byte).collect()
}
