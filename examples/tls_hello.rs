//! The first bytes that a TLS client sent, its fingerprints on standard output: as a proxy has them, from its socket.
//!
//! `cargo run -p huginn-net-tls --example tls_hello huginn-net-tls/hellos/curl-openssl.bin`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::io::Read;

use huginn_net_tls::{ClientHello, HelloReader};

/// What curl with OpenSSL sends.
const CURL: &[u8] = include_bytes!("../huginn-net-tls/hellos/curl-openssl.bin");

fn main() -> Result<(), Box<dyn Error>> {
    let mut stream: Box<dyn Read> = match std::env::args_os().nth(1) {
        Some(path) => Box::new(std::fs::File::open(path)?),
        None => Box::new(CURL),
    };
    let (mut reader, mut piece) = (HelloReader::client(), [0; 512]);
    loop {
        let len = stream.read(&mut piece)?;
        if let Some(hello) = reader.push(piece.get(..len).unwrap_or_default())?.value() {
            print(&hello);
            return Ok(());
        }
        if len == 0 {
            return Err("the stream ends within the hello".into());
        }
    }
}

fn print(hello: &ClientHello<'_>) {
    if let Some(name) = hello.server_name() {
        println!("server name  {}", name.escape_ascii());
    }
    for protocol in hello.alpn() {
        println!("protocol     {}", protocol.escape_ascii());
    }
    // The hashes come cheapest from the lists.
    let lists = hello.ja4_r();
    println!("ja4          {}", lists.ja4());
    println!("ja4_r        {lists}");
    println!("ja4_o        {}", hello.ja4_o());
    println!("ja4_stable   {}", hello.ja4_stable());
    println!("ja3          {}", hello.ja3_hash());
}
