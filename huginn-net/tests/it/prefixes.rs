//! Every protocol of TCP is found after everything that a proxy may put before it.

use huginn_net::core::{Frame, LinkType, TcpFlags, Timestamp};
use huginn_net::record::JsonEvent;
use huginn_net::{Event, HuginnNet, Side};

const TLS: &[u8] = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin");
const SSH: &[u8] = include_bytes!("../../../huginn-net-ssh/streams/openssh-client.bin");
const SSH_SERVER: &[u8] = include_bytes!("../../../huginn-net-ssh/streams/openssh-server.bin");

/// A protocol: its event, a value of the event, and the bytes of client and server.
type Protocol = (&'static str, &'static str, Vec<u8>, Vec<u8>);

fn protocols() -> Vec<Protocol> {
    // The preface, SETTINGS, and a request for / with fields of the static table (RFC 7541, appendix A).
    let http2 = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &[0, 0, 0, 4, 0, 0, 0, 0, 0],
        &[0, 0, 3, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x86],
    ];
    let settings = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
    let answer = b"HTTP/1.1 204 None\r\n\r\n".to_vec();
    vec![
        ("tls_client", r#""ja4":"t13d"#, TLS.to_vec(), Vec::new()),
        ("http_request", r#""version":"1.1""#, b"GET /in HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), answer),
        ("http_request", r#""version":"2""#, http2.concat(), settings),
        ("ssh_client", r#""hassh":"472b5de333ad665af5cbf10ff892c4df""#, SSH.to_vec(), SSH_SERVER.to_vec()),
    ]
}

/// What a side sends.
type Sent = (Side, Vec<u8>);

/// What precedes a protocol: its name, and the steps of client and server.
fn prefixes() -> Vec<(&'static str, Vec<Sent>)> {
    let [client, server] = [Side::Client, Side::Server];
    let v2 = [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[0x21, 0x11, 0, 15], &[1; 12], &[3, 0, 0]].concat();
    let v1 = b"PROXY TCP4 192.0.2.7 192.0.2.2 40000 22\r\n".to_vec();
    let connect = vec![
        (client, b"CONNECT a.example:22 HTTP/1.1\r\nHost: a.example:22\r\n\r\n".to_vec()),
        (server, b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec()),
    ];
    vec![
        ("nothing", Vec::new()),
        ("PROXY 1", vec![(client, v1.clone())]),
        ("PROXY 2", vec![(client, v2)]),
        ("CONNECT", connect.clone()),
        ("PROXY 1 and CONNECT", [vec![(client, v1)], connect].concat()),
        (
            "SOCKS 4",
            vec![
                (client, b"\x04\x01\0\x16\xc0\0\x02\x01user\0".to_vec()),
                (server, b"\0\x5a\0\0\0\0\0\0".to_vec()),
            ],
        ),
        (
            "SOCKS 4a",
            vec![
                (client, b"\x04\x01\0\x16\0\0\0\x01\0a.example\0".to_vec()),
                (server, b"\0\x5a\0\0\0\0\0\0".to_vec()),
            ],
        ),
        (
            "SOCKS 5",
            vec![
                (client, vec![5, 1, 0]),
                (server, vec![5, 0]),
                (client, b"\x05\x01\0\x03\x09a.example\0\x16".to_vec()),
                (server, b"\x05\0\0\x01\0\0\0\0\0\0".to_vec()),
            ],
        ),
        (
            "SOCKS 5 with a password",
            vec![
                (client, vec![5, 2, 0, 2]),
                (server, vec![5, 2]),
                (client, b"\x01\x04user\x04pass".to_vec()),
                (server, vec![1, 0]),
                (client, [&[5, 1, 0, 4][..], &[0x20; 16], &[0, 22]].concat()),
                (server, [&[5, 0, 0, 4][..], &[0; 18]].concat()),
            ],
        ),
    ]
}

/// The events of a connection that sends these bytes, in segments of at most `step` bytes.
fn events(sent: &[Sent], step: usize) -> Vec<String> {
    let (mut analyzer, mut events) = (HuginnNet::builder().build(), Vec::<Event>::new());
    let mut next = [1000_u32, 5000];
    let mut send = |side: Side, flags: TcpFlags, payload: &[u8]| {
        let own = usize::from(side == Side::Server);
        let ports: [u16; 2] = side.choose([40_000, 8123], [8123, 40_000]);
        let hosts: [u8; 2] = side.choose([1, 2], [2, 1]);
        let mut packet =
            vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, hosts[0], 10, 0, 0, hosts[1]];
        packet.extend(ports.map(u16::to_be_bytes).concat());
        packet.extend([next[own].to_be_bytes(), next[1 - own].to_be_bytes()].concat());
        packet.extend([0x50, flags.bits() as u8, 0x20, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        next[own] += payload.len() as u32 + u32::from(flags.contains(TcpFlags::SYN));
        let frame =
            Frame { ts: Timestamp::new(1, 0, 6), link: LinkType::RAW, data: &packet, wire_len: len.into() };
        let _ = analyzer.push(&frame, |event| events.push(event));
    };
    send(Side::Client, TcpFlags::SYN, b"");
    send(Side::Server, TcpFlags::SYN | TcpFlags::ACK, b"");
    for (side, bytes) in sent {
        bytes.chunks(step).for_each(|piece| send(*side, TcpFlags::ACK, piece));
    }
    events.iter().map(|event| JsonEvent::new(event).to_string()).collect()
}

#[test]
fn every_protocol_is_found_after_every_prefix() {
    for (prefix, steps) in prefixes() {
        for (event, value, client, server) in protocols() {
            let sent = [&steps[..], &[(Side::Client, client), (Side::Server, server)]].concat();
            for step in [40, 1400] {
                let found = events(&sent, step);
                let event = format!(r#""event":"{event}""#);
                let is_found = found.iter().any(|text| text.contains(&event) && text.contains(value));
                assert!(is_found, "{event} after {prefix} in steps of {step}: {found:#?}");
            }
        }
    }
}
