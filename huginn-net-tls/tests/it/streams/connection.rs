//! A simulated TCP connection, and hellos for it.

use huginn_net_core::{Counters, Event, Side, StreamObserverCounters, TcpFlags};
use huginn_net_tls::{HuginnNetTls, TlsCounters, TlsEvent};

use super::packet::{self, Endpoint};

/// The stream of curl 7.88.1 with OpenSSL 3.0, from `captures/tls/tls-curl/tls-curl.pcap`.
pub(crate) const CURL: &[u8] = include_bytes!("../../../hellos/curl-openssl.bin");
/// Its JA4, computed by the definition from the output of tshark (`captures/tls/tls-curl/tls-curl.ja4`).
pub(crate) const CURL_JA4: &str = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6";

pub(crate) const CLIENT: Endpoint = ([10, 0, 0, 1], 40_000);
pub(crate) const SERVER: Endpoint = ([192, 0, 2, 1], 443);

/// A TCP connection that passes segments to an analyzer in any order.
pub(crate) struct Connection {
    pub(crate) analyzer: HuginnNetTls,
    pub(crate) events: Vec<Event<TlsEvent>>,
    pub(crate) client: Endpoint,
    /// Initial sequence numbers of client and server.
    pub(crate) first: [u32; 2],
}

impl Connection {
    /// Creates a connection whose SYN and SYN+ACK are captured.
    pub(crate) fn open(first: [u32; 2]) -> Self {
        let mut connection = Self::midstream(first);
        connection.syns();
        connection
    }

    pub(crate) fn midstream(first: [u32; 2]) -> Self {
        let analyzer = HuginnNetTls::builder().build();
        Self { analyzer, events: Vec::new(), client: CLIENT, first }
    }

    pub(crate) fn syns(&mut self) {
        let [client, server] = self.first;
        self.send(Side::Client, TcpFlags::SYN, client, 0, b"");
        self.send(Side::Server, TcpFlags::SYN | TcpFlags::ACK, server, client.wrapping_add(1), b"");
    }

    /// Sends a segment at this offset of a side's stream, with an acknowledgement up to another offset.
    ///
    /// Data segments have the PSH flag, because six zero bytes in a bare ACK are Ethernet padding.
    pub(crate) fn segment(&mut self, side: Side, offset: usize, acknowledged: usize, payload: &[u8]) {
        let [client, server] = self.first.map(|first| first.wrapping_add(1));
        let (seq, ack) = match side {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let (seq, ack) = (seq.wrapping_add(offset as u32), ack.wrapping_add(acknowledged as u32));
        let push = if payload.is_empty() { TcpFlags::empty() } else { TcpFlags::PSH };
        self.send(side, TcpFlags::ACK | push, seq, ack, payload);
    }

    /// Passes a segment to the analyzer.
    pub(crate) fn send(&mut self, side: Side, flags: TcpFlags, seq: u32, ack: u32, payload: &[u8]) {
        let (src, dst) = match side {
            Side::Client => (self.client, SERVER),
            Side::Server => (SERVER, self.client),
        };
        let packet = packet::tcp(src, dst, flags, [seq, ack], &[], payload);
        assert!(
            self.analyzer.push(&packet::frame(1, &packet), |event| self.events.push(event)).is_continue()
        );
    }

    /// Sends all bytes in segments of 1,400 bytes.
    pub(crate) fn send_data(&mut self, side: Side, offset: usize, acknowledged: usize, bytes: &[u8]) {
        for (n, piece) in bytes.chunks(1400).enumerate() {
            self.segment(side, offset + n * 1400, acknowledged, piece);
        }
    }

    /// Returns the hellos found: sender, JA4 or cipher, and whether it is a second hello.
    pub(crate) fn found(&self) -> Vec<(Side, String, bool)> {
        let describe = |event: &Event<TlsEvent>| match &event.kind {
            TlsEvent::Client(client) => (event.subject, client.hello.ja4().to_string(), client.retry),
            TlsEvent::Server(server) => (
                event.subject,
                format!("{:04x}", server.hello.cipher_suite()),
                server.hello.is_retry_request(),
            ),
            other => panic!("{other:?}"),
        };
        self.events.iter().map(describe).collect()
    }

    pub(crate) fn counters(&self) -> (Counters, StreamObserverCounters<TlsCounters>) {
        (self.analyzer.counters(), self.analyzer.protocol().counters())
    }
}

pub(crate) fn one_client() -> Vec<(Side, String, bool)> {
    vec![(Side::Client, CURL_JA4.to_owned(), false)]
}

/// Wraps a handshake message in records of `step` bytes.
pub(crate) fn records(message: &[u8], step: usize) -> Vec<u8> {
    message
        .chunks(step)
        .flat_map(|part| [&[22, 3, 3][..], &(part.len() as u16).to_be_bytes(), part].concat())
        .collect()
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32).to_be_bytes()[1..], body].concat()
}

/// Builds a ServerHello of TLS 1.3 with cipher suite 1301 (RFC 8446, section 4.1.3), in a record.
pub(crate) fn server_hello(random: [u8; 32]) -> Vec<u8> {
    let body = [&[3, 3][..], &random, &[0, 0x13, 0x01, 0, 0, 6, 0, 0x2b, 0, 2, 3, 4]].concat();
    records(&message(2, &body), 1 << 14)
}

/// The random of a HelloRetryRequest (RFC 8446, section 4.1.3).
pub(crate) const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Builds a ClientHello with only padding extensions (RFC 7685): `len` bytes in extensions of at most 60,000 bytes.
pub(crate) fn long_hello(len: usize) -> Vec<u8> {
    let mut body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 0x01, 1, 0]].concat();
    body.extend((len as u16 + 4).to_be_bytes());
    body.extend([0, 21]);
    body.extend((len as u16).to_be_bytes());
    body.resize(body.len() + len, 0);
    message(1, &body)
}
