//! The fingerprints of QUIC clients, from the datagrams of a UDP socket.
//!
//! `cargo run -p huginn-net-tls --example quic_datagrams 127.0.0.1:4433`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::HashMap;
use std::error::Error;
use std::net::{SocketAddr, UdpSocket};

use huginn_net_tls::QuicFingerprint;
use huginn_net_tls::quic::ClientInitials;

/// Clients whose hello is incomplete. Forged addresses can be any number.
const MAX_CLIENTS: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(std::env::args().nth(1).ok_or("usage: ADDRESS")?)?;
    let mut clients: HashMap<SocketAddr, ClientInitials> = HashMap::new();
    let mut buffer = [0; 1 << 16];
    loop {
        let (len, address) = socket.recv_from(&mut buffer)?;
        let datagram = buffer.get(..len).unwrap_or_default();
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let initials = clients.entry(address).or_default();
        // A damaged or forged datagram hides nothing.
        let Some(hello) = initials.push(datagram).ok().and_then(|progress| progress.value()) else {
            continue;
        };
        let version = initials.client().map(|client| client.version);
        let quic = version.map(|version| QuicFingerprint::sorted(version, hello.transport_parameters()));
        println!("{address} {} {}", hello.ja4(), quic.map_or_else(String::new, |quic| quic.to_string()));
        clients.remove(&address);
    }
}
