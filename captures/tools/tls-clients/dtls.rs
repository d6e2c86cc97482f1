//! DTLS 1.3 with dimpl: `dtls serve ADDRESS` serves one client after another; `dtls connect ADDRESS 13|auto|12` makes
//! a handshake with only DTLS 1.3, with 1.3 and 1.2, or with only 1.2.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dimpl::{Config, Dtls, Output, certificate};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let serving = arguments[1] == "serve";
    let socket = UdpSocket::bind(if serving { arguments[2].as_str() } else { "0.0.0.0:0" }).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let config = Arc::new(Config::builder().mtu(1200).build().unwrap());
    let identity = certificate::generate_self_signed_certificate().unwrap();
    if !serving {
        let begin = match arguments[3].as_str() {
            "13" => Dtls::new_13,
            "12" => Dtls::new_12,
            _ => Dtls::new_auto,
        };
        let mut client = begin(config, identity, Instant::now());
        client.set_active(true);
        shake_hands(client, &socket, arguments[2].parse().unwrap(), None);
        return;
    }
    loop {
        let mut datagram = [0; 2048];
        if let Ok((len, peer)) = socket.recv_from(&mut datagram) {
            let server = Dtls::new_auto(config.clone(), identity.clone(), Instant::now());
            shake_hands(server, &socket, peer, Some(&datagram[..len]));
        }
    }
}

/// Runs until the handshake is done, at most two seconds.
fn shake_hands(mut end: Dtls, socket: &UdpSocket, peer: SocketAddr, first: Option<&[u8]>) {
    let give_up = Instant::now() + Duration::from_secs(2);
    end.handle_timeout(Instant::now()).unwrap();
    if let Some(datagram) = first {
        end.handle_packet(datagram).unwrap();
    }
    let mut connected = false;
    while Instant::now() < give_up {
        let mut buffer = [0; 4096];
        loop {
            match end.poll_output(&mut buffer) {
                Output::Packet(packet) => _ = socket.send_to(packet, peer).unwrap(),
                Output::Connected => connected = true,
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        if connected {
            return;
        }
        let mut datagram = [0; 2048];
        match socket.recv_from(&mut datagram) {
            Ok((len, from)) if from == peer => end.handle_packet(&datagram[..len]).unwrap(),
            _ => end.handle_timeout(Instant::now()).unwrap(),
        }
    }
}
