//! What is inside QUIC, decrypted with logged secrets.

use huginn_net_core::Side;
use huginn_net_decrypt::{QuicDecryptor, QuicReader, Secrets};
use huginn_net_http::http3::Http3Connection;
use huginn_net_http::{HttpCounters, HttpEvent, Role};
use huginn_net_tls::{DecryptedHandshake, HandshakeCounters, TlsEvent, Transport};

use super::decryption::{ContentEvent, DecryptionCounters, count};
use crate::limits::MAX_QUIC_CONNECTIONS;

/// The connections of one flow, the newest one first.
#[derive(Debug, Default)]
pub(super) struct QuicConnections(Vec<Connection>);

#[derive(Debug)]
struct Connection {
    decryptor: QuicDecryptor,
    /// None if the client does not offer HTTP/3.
    http: Option<Http3Connection>,
    handshake: DecryptedHandshake,
    client: Side,
}

/// Where the content of a datagram is counted.
pub(super) struct QuicContent<'a> {
    /// None if HTTP is not read.
    pub(super) http: Option<&'a mut HttpCounters>,
    pub(super) handshakes: &'a mut HandshakeCounters,
    pub(super) decryption: &'a mut DecryptionCounters,
}

impl QuicConnections {
    /// Starts a connection with a ClientHello, which this datagram completed, or notes the ServerHello.
    pub(super) fn on_hello(
        connections: &mut Option<Box<Self>>,
        sender: Side,
        datagram: &[u8],
        event: &TlsEvent,
    ) {
        match event {
            TlsEvent::Client(client) if client.hello.transport() == Transport::Quic && !client.retry => {
                let Some(random) = client.hello.random().first_chunk() else { return };
                let Some(decryptor) = QuicDecryptor::new(sender, datagram, random) else { return };
                let offers_http = client.hello.alpn().any(|name| name.starts_with(b"h3"));
                let mut handshake = DecryptedHandshake::new();
                handshake.on_hello(sender, event);
                let http = offers_http.then(Http3Connection::new);
                let Self(connections) = &mut **connections.get_or_insert_default();
                connections.truncate(MAX_QUIC_CONNECTIONS.saturating_sub(1));
                connections.insert(0, Connection { decryptor, http, handshake, client: sender });
            }
            TlsEvent::Client(_) | TlsEvent::Server(_) => {
                if let Some(connection) =
                    connections.as_mut().and_then(|connections| connections.0.first_mut())
                {
                    connection.handshake.on_hello(sender, event);
                }
            }
            _ => {}
        }
    }

    /// Starts the newest connection again with the random of another ClientHello, after a Retry.
    pub(super) fn renew(&mut self, datagram: &[u8], random: &[u8; 32]) {
        if let Some(Connection { decryptor, client, .. }) = self.0.first_mut()
            && decryptor.packets() == 0
            && let Some(renewed) = QuicDecryptor::new(*client, datagram, random)
        {
            *decryptor = renewed;
        }
    }

    /// Decrypts a datagram of the connection to which it belongs.
    pub(super) fn on_datagram(
        &mut self,
        sender: Side,
        datagram: &[u8],
        secrets: &Secrets,
        content: &mut QuicContent<'_>,
        reads_handshakes: bool,
        emit: &mut impl FnMut(Side, ContentEvent),
    ) {
        for connection in &mut self.0 {
            let Connection { decryptor, http, handshake, client } = connection;
            let (had_packets, had_stopped) = (decryptor.packets() > 0, decryptor.stopped().is_some());
            let lacked_side = decryptor.lacks_side();
            let QuicContent { http: counters, handshakes, .. } = content;
            let mut reader = Reader {
                http: http.as_mut().zip(counters.as_deref_mut()),
                handshake: reads_handshakes.then_some((handshake, &mut **handshakes)),
                client: *client,
                emit,
            };
            let belongs = decryptor.push(sender, datagram, secrets, &mut reader);
            if !had_packets && decryptor.packets() > 0 {
                content.decryption.connections = content.decryption.connections.saturating_add(1);
            }
            if !lacked_side && decryptor.lacks_side() {
                content.decryption.one_side = content.decryption.one_side.saturating_add(1);
            }
            if let Some(stop) = decryptor.stopped().filter(|_| !had_stopped) {
                count(stop, content.decryption);
                *http = None;
            }
            if belongs {
                return;
            }
        }
    }

    /// Returns the heap memory, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.0.iter().fold(0, |sum, connection| {
            let Connection { decryptor, http, handshake, .. } = connection;
            size_of::<Connection>()
                .saturating_add(sum)
                .saturating_add(decryptor.buffered_bytes())
                .saturating_add(http.as_ref().map_or(0, Http3Connection::buffered_bytes))
                .saturating_add(handshake.buffered_bytes())
        })
    }
}

/// Passes the content of a connection to its parsers.
struct Reader<'a, F> {
    http: Option<(&'a mut Http3Connection, &'a mut HttpCounters)>,
    handshake: Option<(&'a mut DecryptedHandshake, &'a mut HandshakeCounters)>,
    client: Side,
    emit: &'a mut F,
}

impl<F> Reader<'_, F> {
    fn role(&self, side: Side) -> Role {
        if side == self.client { Role::Request } else { Role::Response }
    }
}

impl<F: FnMut(Side, ContentEvent)> QuicReader for Reader<'_, F> {
    fn on_handshake(&mut self, side: Side, kind: u8, body: &[u8]) {
        if let Some((handshake, counters)) = &mut self.handshake {
            handshake.on_message(side, kind, body, counters, &mut |side, event| {
                (self.emit)(side, ContentEvent::Tls(event));
            });
        }
    }

    fn on_stream(&mut self, side: Side, stream: u64, bytes: &[u8]) {
        let role = self.role(side);
        if let Some((http, counters)) = &mut self.http {
            http.push(role, stream, bytes, &mut |event| {
                if let Some(event) = HttpEvent::from_http3(event, counters) {
                    (self.emit)(side, ContentEvent::Http(event));
                }
            });
        }
    }

    fn on_stream_end(&mut self, side: Side, stream: u64) {
        let role = self.role(side);
        if let Some((http, _)) = &mut self.http {
            http.end(role, stream);
        }
    }

    fn reads_stream(&self, side: Side, stream: u64) -> bool {
        self.http.as_ref().is_some_and(|(http, _)| http.reads(self.role(side), stream))
    }

    fn on_early_data_rejected(&mut self) {
        if let Some((http, _)) = &mut self.http {
            **http = Http3Connection::new();
        }
    }
}
