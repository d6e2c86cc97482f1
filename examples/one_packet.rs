//! One IP packet in hexadecimal on the command line, its TCP signature on standard output.
//!
//! `cargo run -p huginn-net-tcp --example one_packet 4500003c...`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;

use huginn_net_tcp::TcpSignature;

/// A SYN of Linux 6.18.
const SYN: &str = "4500003c8a3040004006000a0a4d00010a4d0002b0e20050d2f4b7e500000000a002faf0145b0000020405b40402080a\
                   6d0f00a10000000001030307";

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SYN.to_owned());
    let packet = bytes(&text).ok_or("not an even number of hexadecimal digits")?;
    match TcpSignature::from_ip_packet(&packet)? {
        Some(parsed) => println!("{}", parsed.value),
        None => println!("the packet is cut"),
    }
    Ok(())
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
