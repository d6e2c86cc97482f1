//! SYNs that the kernel saved of connections over the loopback interface.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;

use huginn_net_db::Database;
use huginn_net_proxy::SavedSyn;
use huginn_net_tcp::{IpVersion, Quirks};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt};

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

/// Runs a test in a network namespace of its own, with these settings of TCP over IPv4.
fn in_namespace(settings: &[(&str, &str)], test: fn()) {
    std::thread::scope(|scope| {
        let test = || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
            for (name, value) in settings {
                std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value).unwrap();
            }
            test();
        };
        scope.spawn(test).join().unwrap();
    });
}

#[test]
#[ignore = "needs root"]
fn syn_cookies_leave_no_syn() {
    in_namespace(&[("tcp_syncookies", "2")], || {
        let (stream, _client) = accepted("127.0.0.1:0", true);
        assert_eq!(SavedSyn::take(&stream).unwrap(), None);
    });
    in_namespace(&[("tcp_syncookies", "1")], || {
        let (stream, _client) = accepted("127.0.0.1:0", true);
        assert!(SavedSyn::take(&stream).unwrap().is_some());
    });
}

#[test]
#[ignore = "needs root"]
fn fast_open_syn_shows_its_data() {
    // Both sides send data in the SYN, without a cookie, and the listener needs no option (ip-sysctl.rst).
    in_namespace(&[("tcp_fastopen", "1543")], || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        SavedSyn::enable(&listener).unwrap();
        let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
        setsockopt(&client, sockopt::TcpFastOpenConnect, &true).unwrap();
        let address = listener.local_addr().unwrap().port();
        connect(client.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, address)).unwrap();
        TcpStream::from(client).write_all(b"data").unwrap();
        let (stream, _) = listener.accept().unwrap();
        let syn = SavedSyn::take(&stream).unwrap().unwrap();
        assert!(!syn.as_bytes().ends_with(b"data"));
        assert!(syn.signature().unwrap().unwrap().has_payload);
    });
}
