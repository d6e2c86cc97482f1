//! What is inside TLS, decrypted with logged secrets.

use huginn_net_core::tally;

/// Counters of decryption: of TLS connections, over TCP and in QUIC. All are zero without secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct DecryptionCounters {
    /// TLS connections with a record that was decrypted.
    pub connections: u64,
    /// TLS connections whose secret is not known, or whose ClientHello is missing, which names the secret.
    pub without_secret: u64,
    /// TLS connections that ended with a record that is not authentic: the secret is wrong.
    pub not_authentic: u64,
    /// TLS connections with a secret of a version or cipher suite that is not supported.
    pub unsupported: u64,
    /// TLS connections with a secret that could not be followed: bytes or the ServerHello are missing, bytes are not records, or
    /// the client sent different contents for the same bytes.
    pub incomplete: u64,
    /// Connections with one side decrypted: the secret of the other side is not known.
    pub one_side: u64,
    /// Connections that waited for a secret until too many bytes waited, or for too long: those with a later secret, or none, count above, too.
    pub gave_up_waiting: u64,
}

tally!(DecryptionCounters {
    connections,
    without_secret,
    not_authentic,
    unsupported,
    incomplete,
    one_side,
    gave_up_waiting
});

#[cfg(feature = "decrypt")]
pub(super) use with_secrets::{ContentEvent, Decryption, TlsContent, TlsContentCounters, count};

/// Whether TLS is decrypted: this build cannot.
#[cfg(not(feature = "decrypt"))]
#[derive(Clone, Debug, Default)]
pub(super) struct Decryption {}

#[cfg(feature = "decrypt")]
mod with_secrets {
    use std::fmt;

    use huginn_net_core::{
        FlowId, PacketRef, ParserSlot, Probe, Side, StreamData, StreamParser, StreamStart, Tally, Timestamp,
        tally,
    };
    use huginn_net_decrypt::{PlaintextReader, Secrets, Stop, TlsDecryptor};
    use huginn_net_http::{HttpCounters, HttpEvent, HttpParser, HttpRequest};
    use huginn_net_tls::{TlsCounters, TlsEvent, TlsParser, TlsParserSettings};

    use super::DecryptionCounters;
    use crate::observers::stream_parsers::StreamProtocols;

    /// Maximum number of tunnels inside each other whose content is read: through a proxy, and one more.
    const MAX_TUNNELS: u8 = 2;

    /// Whether TLS is decrypted, and with which secrets.
    #[derive(Clone, Debug, Default)]
    pub(in crate::observers) struct Decryption(Option<Secrets>);

    impl Decryption {
        pub(in crate::observers) fn new(secrets: Option<Secrets>) -> Self {
            Self(secrets)
        }

        /// The secrets, if there are any, or some may come.
        pub(in crate::observers) fn secrets(&self) -> Option<&Secrets> {
            self.0.as_ref().filter(|secrets| !secrets.is_empty() || secrets.is_growing())
        }

        /// The secrets, even if there are none, and none can come any more.
        pub(in crate::observers) fn given_secrets(&self) -> Option<&Secrets> {
            self.0.as_ref()
        }

        /// Notes the time of a packet that is to be read.
        pub(in crate::observers) fn note_time(&self, ts: Timestamp) {
            if let Some(secrets) = &self.0 {
                secrets.set_seconds(ts.as_secs());
            }
        }

        /// The slot of a new connection.
        pub(in crate::observers) fn slot(
            &self,
            enabled: StreamProtocols,
        ) -> Option<Box<ParserSlot<TlsContent>>> {
            let StreamProtocols { http, tls, tls_settings, decrypts, .. } = enabled;
            let reads = decrypts && (http || tls && tls_settings.handshakes);
            let secrets = self.secrets().filter(|_| reads)?.clone();
            let settings = ContentSettings { secrets, http, tls, tls_settings, tunnels: 0 };
            Some(Box::new(ParserSlot::with_settings(true, settings)))
        }
    }

    /// What is read inside TLS.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub(in crate::observers) struct ContentSettings {
        secrets: Secrets,
        http: bool,
        tls: bool,
        tls_settings: TlsParserSettings,
        /// Number of tunnels around the connection.
        tunnels: u8,
    }

    /// What is found inside TLS.
    pub(in crate::observers) enum ContentEvent {
        Http(HttpEvent),
        /// Of TLS through a tunnel inside TLS.
        Tls(TlsEvent),
        /// A message of the encrypted handshake: its type and body.
        Message(u8, Box<[u8]>),
        /// An encrypted alert: its level and description.
        Alert([u8; 2]),
    }

    /// Reads the content of a TLS connection.
    pub(in crate::observers) struct TlsContent {
        tls: TlsDecryptor,
        http: Option<HttpParser>,
        /// What follows CONNECT.
        tunnel: Option<Box<Tunnel>>,
        settings: ContentSettings,
        /// Whether the client may have sent other bytes than those read.
        is_ambiguous: bool,
        /// The last packet with data, and its flow, while data wait for a secret.
        last: Option<Box<(PacketRef, FlowId)>>,
    }

    /// TLS inside TLS, after CONNECT.
    struct Tunnel {
        tls: TlsParser,
        content: TlsContent,
    }

    /// Omits what was decrypted.
    impl fmt::Debug for TlsContent {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("TlsContent").field("tls", &self.tls).finish_non_exhaustive()
        }
    }

    impl TlsContent {
        /// Reads what waits for a secret at the end of a connection, and counts what still waits.
        pub(in crate::observers) fn on_end(
            &mut self,
            counters: &mut TlsContentCounters,
            emit: &mut dyn FnMut(Side, ContentEvent),
        ) {
            self.push(counters, emit, |tls, is_ambiguous, secrets, content| {
                let stop = if is_ambiguous && tls.stopped().is_none() {
                    Some(tls.gap(secrets, content))
                } else {
                    tls.end(secrets, content)
                };
                stop.map_or(Ok(()), Err)
            });
            if let Some(tunnel) = &mut self.tunnel {
                tunnel.on_end(counters, emit);
            }
        }

        /// Notes the packet of data that wait for a secret, and its flow.
        pub(in crate::observers) fn note_last(&mut self, last: impl FnOnce() -> (PacketRef, FlowId)) {
            self.last = self.waits_for_secret().then(|| Box::new(last()));
        }

        /// Whether data waited for a secret at the last packet with data.
        pub(in crate::observers) fn has_last(&self) -> bool {
            self.last.is_some()
        }

        fn waits_for_secret(&self) -> bool {
            self.tls.waits_for_secret(&self.settings.secrets)
                || self.tunnel.as_ref().is_some_and(|tunnel| tunnel.content.waits_for_secret())
        }

        /// Takes the packet of data that wait for a secret, and its flow.
        pub(in crate::observers) fn take_last(&mut self) -> Option<(PacketRef, FlowId)> {
            self.last.take().map(|last| *last)
        }

        /// Whether the encrypted handshake of the client is being read.
        pub(in crate::observers) fn reads_client_handshake(&self) -> bool {
            self.tls.reads_handshake(Side::Client)
        }

        // Not generic, because a tunnel may contain another one.
        fn read(
            &mut self,
            side: Side,
            data: StreamData<'_>,
            counters: &mut TlsContentCounters,
            emit: &mut dyn FnMut(Side, ContentEvent),
        ) {
            if self.tls.stopped().is_some() {
                return;
            }
            self.push(counters, emit, |tls, is_ambiguous, secrets, content| match data {
                StreamData::Bytes(bytes) if !is_ambiguous => tls.push(side, bytes, secrets, content),
                _ => Err(tls.gap(secrets, content)),
            });
        }

        /// Changes the state of the decryption, and counts what comes of it.
        fn push(
            &mut self,
            counters: &mut TlsContentCounters,
            emit: &mut dyn FnMut(Side, ContentEvent),
            change: impl FnOnce(&mut TlsDecryptor, bool, &Secrets, &mut Content<'_>) -> Result<(), Stop>,
        ) {
            let Self { tls, http, tunnel, settings, is_ambiguous, .. } = self;
            let (had_records, lacked_side) = (tls.records() > 0, tls.lacks_side());
            let had_given_up = tls.has_given_up();
            let mut content = Content { http, tunnel, settings, counters, emit };
            let outcome = change(tls, *is_ambiguous, &settings.secrets, &mut content);
            let decryption = &mut counters.decryption;
            if !had_records && tls.records() > 0 {
                decryption.connections = decryption.connections.saturating_add(1);
            }
            if !lacked_side && tls.lacks_side() {
                decryption.one_side = decryption.one_side.saturating_add(1);
            }
            if !had_given_up && tls.has_given_up() {
                decryption.gave_up_waiting = decryption.gave_up_waiting.saturating_add(1);
            }
            if let Err(stop) = outcome {
                count(stop, decryption);
            }
        }

        fn content_reads(&self, side: Side) -> bool {
            self.http.as_ref().is_some_and(|http| http.reads(side)) || self.tunnel_reads(side)
        }

        fn tunnel_reads(&self, side: Side) -> bool {
            self.tunnel.as_ref().is_some_and(|tunnel| tunnel.reads(side))
        }
    }

    impl Tunnel {
        fn new(settings: &ContentSettings) -> Self {
            let ContentSettings { tls_settings, tunnels, .. } = *settings;
            let settings = ContentSettings { tunnels: tunnels.saturating_add(1), ..settings.clone() };
            Self {
                tls: TlsParser::new(StreamStart::Handshake, tls_settings),
                content: TlsContent::new(StreamStart::Handshake, settings),
            }
        }

        fn read(
            &mut self,
            side: Side,
            bytes: &[u8],
            counters: &mut TlsContentCounters,
            emit: &mut dyn FnMut(Side, ContentEvent),
        ) {
            self.push(counters, emit, |content, counters, emit| {
                content.read(side, StreamData::Bytes(bytes), counters, emit);
            });
            let Self { tls, content } = self;
            let mut handshake = TlsCounters::default();
            if content.settings.tls && tls.reads(side) {
                let data = StreamData::Bytes(bytes);
                tls.on_data(side, data, &mut handshake, &mut |side, event| {
                    emit(side, ContentEvent::Tls(event));
                });
            }
            counters.tls.add(&handshake);
        }

        fn on_end(&mut self, counters: &mut TlsContentCounters, emit: &mut dyn FnMut(Side, ContentEvent)) {
            self.push(counters, emit, TlsContent::on_end);
        }

        /// Changes the content, and passes the messages of the handshake in it on.
        fn push(
            &mut self,
            counters: &mut TlsContentCounters,
            emit: &mut dyn FnMut(Side, ContentEvent),
            change: impl FnOnce(&mut TlsContent, &mut TlsContentCounters, &mut dyn FnMut(Side, ContentEvent)),
        ) {
            let Self { tls, content } = self;
            let mut handshake = TlsCounters::default();
            change(content, counters, &mut |side, event| {
                let emit_tls = &mut |side, event| emit(side, ContentEvent::Tls(event));
                match event {
                    ContentEvent::Message(kind, body) => {
                        tls.on_decrypted_message(side, kind, &body, &mut handshake, emit_tls);
                    }
                    ContentEvent::Alert(alert) => {
                        tls.on_decrypted_alert(side, alert, &mut handshake, emit_tls);
                    }
                    event => emit(side, event),
                }
            });
            tls.set_decrypts_client(content.reads_client_handshake());
            counters.tls.add(&handshake);
        }

        fn reads(&self, side: Side) -> bool {
            let reads_hellos = self.content.settings.tls && self.tls.reads(side);
            reads_hellos || self.content.reads(side)
        }

        fn buffered_bytes(&self) -> usize {
            size_of::<Self>()
                .saturating_add(self.tls.buffered_bytes())
                .saturating_add(self.content.buffered_bytes())
        }
    }

    /// Counts why a connection is not decrypted further.
    pub(in crate::observers) fn count(stop: Stop, counters: &mut DecryptionCounters) {
        let counter = match stop {
            Stop::NotTls => return,
            Stop::NoSecret => &mut counters.without_secret,
            Stop::NotAuthentic => &mut counters.not_authentic,
            Stop::Unsupported => &mut counters.unsupported,
            _ => &mut counters.incomplete,
        };
        *counter = counter.saturating_add(1);
    }

    /// What the data of one segment counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(in crate::observers) struct TlsContentCounters {
        pub(in crate::observers) http: HttpCounters,
        pub(in crate::observers) tls: TlsCounters,
        pub(in crate::observers) decryption: DecryptionCounters,
    }

    tally!(TlsContentCounters { http, tls, decryption });

    /// Passes plaintext to the parsers.
    struct Content<'a> {
        http: &'a mut Option<HttpParser>,
        tunnel: &'a mut Option<Box<Tunnel>>,
        settings: &'a ContentSettings,
        counters: &'a mut TlsContentCounters,
        emit: &'a mut dyn FnMut(Side, ContentEvent),
    }

    impl PlaintextReader for Content<'_> {
        fn on_data(&mut self, side: Side, bytes: &[u8]) {
            let Self { http, tunnel, settings, counters, emit } = self;
            if let Some(tunnel) = tunnel {
                tunnel.read(side, bytes, counters, emit);
            }
            let Some(http) = http else { return };
            let mut connects = false;
            http.on_data(side, StreamData::Bytes(bytes), &mut counters.http, &mut |side, event| {
                connects |=
                    matches!(&event, HttpEvent::Request(HttpRequest { request, .. }) if request.is_connect());
                emit(side, ContentEvent::Http(event));
            });
            if connects && tunnel.is_none() && settings.tunnels < MAX_TUNNELS {
                **tunnel = Some(Box::new(Tunnel::new(settings)));
            }
        }

        fn skippable(&self, side: Side) -> u64 {
            match (&self.http, &self.tunnel) {
                (Some(http), None) => http.skippable(side),
                _ => 0,
            }
        }

        fn skip(&mut self, side: Side, len: u64) {
            if let Some(http) = self.http {
                http.skip(side, len);
            }
        }

        fn reads(&self, side: Side) -> bool {
            self.http.as_ref().is_some_and(|http| http.reads(side))
                || self.tunnel.as_ref().is_some_and(|tunnel| tunnel.reads(side))
        }

        fn on_handshake(&mut self, side: Side, kind: u8, body: &[u8]) {
            if self.settings.tls && self.settings.tls_settings.handshakes {
                (self.emit)(side, ContentEvent::Message(kind, body.into()));
            }
        }

        fn on_long_handshake(&mut self, _: Side, _: u8) {
            if self.settings.tls && self.settings.tls_settings.handshakes {
                let handshakes = &mut self.counters.tls.handshakes;
                handshakes.messages_too_long = handshakes.messages_too_long.saturating_add(1);
            }
        }

        fn on_alert(&mut self, side: Side, alert: [u8; 2]) {
            (self.emit)(side, ContentEvent::Alert(alert));
        }

        fn on_early_data_rejected(&mut self) {
            if let Some(http) = self.http {
                *http = HttpParser::new(StreamStart::Handshake, ());
            }
            *self.tunnel = None;
        }
    }

    impl StreamParser for TlsContent {
        type Event = ContentEvent;
        type Counters = TlsContentCounters;
        type Settings = ContentSettings;

        fn probe(_: Side, _: &[u8]) -> Probe {
            Probe::Unsure
        }

        fn new(_: StreamStart, settings: ContentSettings) -> Self {
            let http = settings.http.then(|| HttpParser::new(StreamStart::Handshake, ()));
            Self { tls: TlsDecryptor::new(), http, tunnel: None, settings, is_ambiguous: false, last: None }
        }

        fn on_data(
            &mut self,
            side: Side,
            data: StreamData<'_>,
            counters: &mut TlsContentCounters,
            emit: &mut impl FnMut(Side, ContentEvent),
        ) {
            self.read(side, data, counters, emit);
        }

        fn reads(&self, side: Side) -> bool {
            self.tls.reads(side, self.content_reads(side))
        }

        /// Ends the decryption at the next data, or at the end of the connection, where that is counted.
        fn uncompared(&self, side: Side) -> usize {
            side.choose(0, usize::MAX)
        }

        fn on_conflict_end(&mut self, _: Side) {
            self.is_ambiguous = true;
        }

        fn buffered_bytes(&self) -> usize {
            self.tls
                .buffered_bytes()
                .saturating_add(self.http.as_ref().map_or(0, HttpParser::buffered_bytes))
                .saturating_add(self.tunnel.as_ref().map_or(0, |tunnel| tunnel.buffered_bytes()))
                .saturating_add(size_of::<Self>())
        }
    }
}
