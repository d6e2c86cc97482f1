//! Checks that a device that ends all connections of a client is named once, and its servers are left unnamed.

use huginn_net::core::Frames;
use huginn_net::hosts::{HostProfile, JsonHost, Verdict};
use huginn_net::{Configure, Event, HuginnNet};

use crate::captures;
use crate::packet::{self, Packet};

/// Returns the packet with a server of the network of these first eight bits in place of 192.0.2.2. The sums of both
/// addresses are equal, so that the checksums hold.
fn move_server(packet: &Packet, network: u8) -> Packet {
    let mut moved = packet.clone();
    let high = u16::from(network) << 8;
    let low = 0xc202 - high;
    let place = moved.data[26..34].windows(4).position(|ip| ip == [192, 0, 2, 2]).unwrap() + 26;
    moved.data[place..place + 2].copy_from_slice(&high.to_be_bytes());
    moved.data[place + 2..place + 4].copy_from_slice(&low.to_be_bytes());
    moved
}

/// The hosts of a capture in which every network has a server that answers as nginx of `curl-nginx.pcap` does.
fn hosts(networks: &[u8]) -> Vec<HostProfile> {
    let (packets, _) = packet::read(&captures::path("curl-nginx.pcap")).unwrap();
    let packets: Vec<Packet> = packets
        .iter()
        .flat_map(|packet| networks.iter().map(|network| move_server(packet, *network)))
        .collect();
    let mut analyzer = HuginnNet::builder().profiles(true).build();
    analyzer.analyze(Frames::new(packets.iter().map(Packet::frame)), &mut |_: Event| {}).unwrap();
    analyzer.shared_state().profiles().cloned().collect()
}

/// The sentences about devices, and the verdicts of the servers.
fn conclusions(hosts: &[HostProfile]) -> (Vec<String>, Vec<Verdict>) {
    let devices = hosts.iter().filter_map(|host| host.one_device().map(ToString::to_string)).collect();
    let servers = hosts.iter().filter(|host| host.as_server.handshakes > 0);
    (devices, servers.map(HostProfile::verdict).collect())
}

#[test]
fn device_that_answers_for_eight_networks_is_named_once() {
    let (devices, servers) = conclusions(&hosts(&[20, 30, 40, 50, 60, 70, 80, 90]));
    assert_eq!(
        devices,
        ["8 servers of 8 networks answer alike from 0 hops: one device ends their connections"]
    );
    assert_eq!(servers.len(), 8);
    for verdict in servers {
        assert_eq!(verdict.system, None);
        assert_eq!(verdict.behind.as_deref(), Some("a device that answers for several servers"));
    }
}

#[test]
fn json_has_device_of_client_and_its_servers() {
    let hosts = hosts(&[20, 30, 40, 50, 60, 70, 80, 90]);
    let json = |host| serde_json::from_str::<serde_json::Value>(&JsonHost::new(host).to_string()).unwrap();
    let client = hosts.iter().find(|host| host.one_device().is_some()).map(json).unwrap();
    let device = &client["one_device"];
    assert_eq!(
        (&device["servers"], &device["networks"], &device["distance"]),
        (&8.into(), &8.into(), &0.into())
    );
    assert_eq!((&client["ip"], &device["has_more_servers"]), (&"192.0.2.1".into(), &false.into()));
    let server = hosts.iter().find(|host| host.as_server.handshakes > 0).map(json).unwrap();
    assert_eq!(server["one_device"], serde_json::Value::Null);
    assert_eq!(server["verdict"]["behind"], "a device that answers for several servers");
}

#[test]
fn servers_of_seven_networks_keep_their_system() {
    let (devices, servers) = conclusions(&hosts(&[20, 30, 40, 50, 60, 70, 80]));
    assert!(devices.is_empty());
    assert_eq!(servers.len(), 7);
    assert!(servers.iter().all(|verdict| verdict.system.as_deref() == Some("Linux")));
}
