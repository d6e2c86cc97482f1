//! What is inside QUIC, decrypted with logged secrets.

use huginn_net_core::{FlowId, PacketRef, Side};
use huginn_net_decrypt::{QuicDecryptor, QuicReader, Secrets};
use huginn_net_http::http3::Http3Connection;
use huginn_net_http::{HttpCounters, HttpEvent, Role};
use huginn_net_tls::{DecryptedHandshake, HandshakeCounters, TlsEvent, Transport};

use super::FlowOutput;
use super::decryption::{ContentEvent, DecryptionCounters, count};
use crate::parser_events::ParserEvents;

/// Maximum number of QUIC connections of a flow that are decrypted at once: a client that starts another one on the same ports has ended
/// the one before.
#[cfg(feature = "decrypt")]
const MAX_QUIC_CONNECTIONS: usize = 4;

/// The connections of one flow, the newest one first.
#[derive(Debug, Default)]
pub(super) struct QuicConnections {
    connections: Vec<Connection>,
    /// The last datagram and its flow, while datagrams wait for a secret.
    last: Option<Box<(PacketRef, FlowId)>>,
}

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
    /// None if handshakes are not read.
    pub(super) handshakes: Option<&'a mut HandshakeCounters>,
    pub(super) decryption: &'a mut DecryptionCounters,
}

impl QuicConnections {
    /// Starts a connection with a ClientHello, which this datagram completed, or notes the ServerHello.
    pub(super) fn on_hello(
        connections: &mut Option<Box<Self>>,
        sender: Side,
        datagram: &[u8],
        event: &TlsEvent,
        certificate_bytes: bool,
    ) {
        match event {
            TlsEvent::Client(client) if client.hello.transport() == Transport::Quic && !client.retry => {
                let Some(random) = client.hello.random().first_chunk() else { return };
                let Some(decryptor) = QuicDecryptor::new(sender, datagram, random) else { return };
                let offers_http = client.hello.alpn().any(|name| name.starts_with(b"h3"));
                let mut handshake = DecryptedHandshake::new(certificate_bytes);
                handshake.on_hello(sender, event);
                let http = offers_http.then(Http3Connection::new);
                let Self { connections, .. } = &mut **connections.get_or_insert_default();
                connections.insert(0, Connection { decryptor, http, handshake, client: sender });
            }
            TlsEvent::Client(_) | TlsEvent::Server(_) => {
                if let Some(connection) =
                    connections.as_mut().and_then(|connections| connections.owner_of(sender, datagram))
                {
                    connection.handshake.on_hello(sender, event);
                }
            }
            _ => {}
        }
    }

    /// The connection whose ids a datagram has.
    fn owner_of(&mut self, sender: Side, datagram: &[u8]) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|connection| connection.decryptor.owns(sender, datagram))
    }

    /// Starts a connection again with the random of another ClientHello, after a Retry.
    pub(super) fn renew(&mut self, sender: Side, datagram: &[u8], random: &[u8; 32]) {
        if let Some(Connection { decryptor, client, .. }) = self.owner_of(sender, datagram)
            && *client == sender
            && decryptor.packets() == 0
            && !decryptor.has_random(random)
            && let Some(renewed) = QuicDecryptor::new(sender, datagram, random)
        {
            *decryptor = renewed;
        }
    }

    /// Decrypts a datagram of the connection to which it belongs. Of more connections than are kept, the oldest ones end.
    pub(super) fn on_datagram(
        &mut self,
        sender: Side,
        datagram: &[u8],
        secrets: &Secrets,
        content: &mut QuicContent<'_>,
        emit: &mut impl FnMut(Side, ContentEvent),
    ) {
        while self.connections.len() > MAX_QUIC_CONNECTIONS
            && let Some(mut oldest) = self.connections.pop()
        {
            oldest.push(content, emit, |decryptor, reader| decryptor.finish(secrets, reader));
        }
        // A datagram with an id of one connection announces no id of another.
        let is_owned = self.owner_of(sender, datagram).is_some();
        for connection in &mut self.connections {
            if is_owned && !connection.decryptor.owns(sender, datagram) {
                continue;
            }
            let belongs = connection
                .push(content, emit, |decryptor, reader| decryptor.push(sender, datagram, secrets, reader));
            if belongs {
                return;
            }
        }
    }

    /// Whether datagrams wait for a secret.
    pub(super) fn has_end(&self) -> bool {
        self.connections.iter().any(|connection| connection.decryptor.waits_for_secret())
    }

    /// Notes the datagram that waits for a secret, and its flow.
    pub(super) fn note_last(&mut self, last: impl FnOnce() -> (PacketRef, FlowId)) {
        self.last = self.has_end().then(|| Box::new(last()));
    }

    /// Takes the last datagram that waits for a secret, and its flow.
    pub(super) fn take_last(&mut self) -> Option<(PacketRef, FlowId)> {
        self.last.take().map(|last| *last)
    }

    /// Reads the datagrams that wait for a secret at the end of the flow.
    pub(super) fn on_end(
        &mut self,
        secrets: &Secrets,
        content: &mut QuicContent<'_>,
        emit: &mut impl FnMut(Side, ContentEvent),
    ) {
        for connection in &mut self.connections {
            connection.push(content, emit, |decryptor, reader| decryptor.finish(secrets, reader));
        }
    }

    /// Returns the heap memory, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.connections.iter().fold(0, |sum, connection| {
            let Connection { decryptor, http, handshake, .. } = connection;
            size_of::<Connection>()
                .saturating_add(sum)
                .saturating_add(decryptor.buffered_bytes())
                .saturating_add(http.as_ref().map_or(0, Http3Connection::buffered_bytes))
                .saturating_add(handshake.buffered_bytes())
        })
    }
}

impl Connection {
    /// Changes the state of the decryption, and counts what comes of it.
    fn push<F: FnMut(Side, ContentEvent), T>(
        &mut self,
        content: &mut QuicContent<'_>,
        emit: &mut F,
        change: impl FnOnce(&mut QuicDecryptor, &mut Reader<'_, F>) -> T,
    ) -> T {
        let Self { decryptor, http, handshake, client } = self;
        let state = |decryptor: &QuicDecryptor| {
            let (has_lost, is_stopped) = (decryptor.has_lost_track(), decryptor.stopped().is_some());
            [decryptor.packets() > 0, decryptor.lacks_side(), decryptor.has_given_up(), has_lost, is_stopped]
        };
        let before = state(decryptor);
        let QuicContent { http: counters, handshakes, decryption } = content;
        let mut reader = Reader {
            http: http.as_mut().zip(counters.as_deref_mut()),
            handshake: handshakes.as_deref_mut().map(|counters| (handshake, counters)),
            client: *client,
            emit,
        };
        let outcome = change(decryptor, &mut reader);
        let after = state(decryptor);
        if before == after {
            return outcome;
        }
        let DecryptionCounters { connections, one_side, gave_up_waiting, not_authentic, .. } = decryption;
        let counters = [connections, one_side, gave_up_waiting, not_authentic];
        for (counter, (before, after)) in counters.into_iter().zip(before.into_iter().zip(after)) {
            *counter = counter.saturating_add(u64::from(after && !before));
        }
        if let (Some(stop), [.., false]) = (decryptor.stopped(), before) {
            count(stop, decryption);
            *http = None;
        }
        outcome
    }
}

/// Passes what was decrypted on as events.
pub(super) fn report(
    parser_events: &ParserEvents<'_>,
    side: Side,
    event: ContentEvent,
    emit: &mut impl FnMut(Side, FlowOutput),
) {
    match event {
        ContentEvent::Http(event) => parser_events.on_http(side, event, true, emit),
        ContentEvent::Tls(event) => parser_events.on_tls(side, event, true, emit),
        ContentEvent::Message(..) | ContentEvent::Alert(_) => {}
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

    fn on_long_handshake(&mut self, _: Side, _: u8) {
        if let Some((_, counters)) = &mut self.handshake {
            counters.messages_too_long = counters.messages_too_long.saturating_add(1);
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
