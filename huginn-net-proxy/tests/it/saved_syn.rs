//! SYNs that the kernel saved of connections over the loopback interface.

use std::net::{TcpListener, TcpStream};

use huginn_net::Database;
use huginn_net::tcp::{IpVersion, Quirks};
use huginn_net_proxy::SavedSyn;

use crate::HELLO;

fn accepted(address: &str, enable: bool) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(address).unwrap();
    if enable {
        SavedSyn::enable(&listener).unwrap();
    }
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, client)
}

#[test]
fn syn_of_ipv4_and_ipv6_has_signature() {
    for (address, version) in [("127.0.0.1:0", IpVersion::V4), ("[::1]:0", IpVersion::V6)] {
        let (stream, _client) = accepted(address, true);
        let syn = SavedSyn::take(&stream).unwrap().unwrap();
        let signature = syn.signature().unwrap().unwrap();
        assert_eq!(signature.version, version);
        assert!(!signature.quirks.contains(Quirks::BAD), "{signature}");
        let found = Database::builtin().match_syn(&signature).unwrap();
        assert_eq!((&*found.label.name, found.distance.hops), ("Linux", 0), "{signature}");
    }
}

#[test]
fn ipv4_client_of_ipv6_listener_has_ipv4_syn() {
    let listener = TcpListener::bind("[::]:0").unwrap();
    SavedSyn::enable(&listener).unwrap();
    let port = listener.local_addr().unwrap().port();
    let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let syn = SavedSyn::take(&stream).unwrap().unwrap();
    assert_eq!(syn.signature().unwrap().unwrap().version, IpVersion::V4);
}

#[test]
fn kernel_keeps_syn_until_it_is_taken() {
    let (stream, client) = accepted("127.0.0.1:0", true);
    assert!(SavedSyn::take(&stream).unwrap().is_some());
    assert_eq!(SavedSyn::take(&stream).unwrap(), None);
    assert_eq!(SavedSyn::take(&client).unwrap(), None, "a client has no SYN of its peer");
    let (stream, _client) = accepted("127.0.0.1:0", false);
    assert_eq!(SavedSyn::take(&stream).unwrap(), None, "the listener saves no SYN");
}

#[test]
fn other_sockets_are_errors() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(SavedSyn::enable(&socket).is_err());
    assert!(SavedSyn::take(&socket).is_err());
}

#[test]
fn cut_and_foreign_bytes_have_no_signature() {
    let (stream, _client) = accepted("127.0.0.1:0", true);
    let syn = SavedSyn::take(&stream).unwrap().unwrap();
    for len in 0..syn.as_bytes().len() {
        assert!(
            matches!(SavedSyn::from_ip_packet(&syn.as_bytes()[..len]).signature(), Ok(None)),
            "{len} bytes"
        );
    }
    assert!(SavedSyn::from_ip_packet(HELLO).signature().is_err());
}
