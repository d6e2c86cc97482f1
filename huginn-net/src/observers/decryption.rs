//! HTTP inside TLS, decrypted with logged secrets.

use huginn_net_core::tally;

/// Counters of decryption. All are zero without secrets.
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
}

tally!(DecryptionCounters { connections, without_secret, not_authentic, unsupported, incomplete });

#[cfg(feature = "decrypt")]
pub(super) use with_secrets::{Decryption, TlsContent, TlsContentCounters};

/// Whether TLS is decrypted: this build cannot.
#[cfg(not(feature = "decrypt"))]
#[derive(Clone, Debug, Default)]
pub(super) struct Decryption {}

#[cfg(feature = "decrypt")]
mod with_secrets {
    use std::fmt;

    use huginn_net_core::{ParserSlot, Probe, Side, StreamData, StreamParser, StreamStart, tally};
    use huginn_net_decrypt::{PlaintextReader, Secrets, Stop, TlsDecryptor};
    use huginn_net_http::{HttpCounters, HttpEvent, HttpParser};

    use super::DecryptionCounters;
    use crate::observers::stream_parsers::StreamProtocols;

    /// Whether TLS is decrypted, and with which secrets.
    #[derive(Clone, Debug, Default)]
    pub(in crate::observers) struct Decryption(Option<Secrets>);

    impl Decryption {
        pub(in crate::observers) fn new(secrets: Option<Secrets>) -> Self {
            Self(secrets)
        }

        /// The slot of a new connection.
        pub(in crate::observers) fn slot(
            &self,
            enabled: StreamProtocols,
        ) -> Option<Box<ParserSlot<TlsContent>>> {
            let secrets =
                self.0.as_ref().filter(|secrets| enabled.decrypts && enabled.http && !secrets.is_empty())?;
            Some(Box::new(ParserSlot::with_settings(true, secrets.clone())))
        }
    }

    /// Parses HTTP inside TLS.
    pub(in crate::observers) struct TlsContent {
        tls: TlsDecryptor,
        http: HttpParser,
        secrets: Secrets,
        /// Whether the client may have sent other bytes than those read.
        is_ambiguous: bool,
    }

    /// Omits what was decrypted.
    impl fmt::Debug for TlsContent {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("TlsContent").field("tls", &self.tls).finish_non_exhaustive()
        }
    }

    impl TlsContent {
        /// Counts a connection that still waits at its end.
        pub(in crate::observers) fn on_end(&mut self, counters: &mut DecryptionCounters) {
            let stop = if self.is_ambiguous && self.tls.stopped().is_none() {
                Some(self.tls.gap())
            } else {
                self.tls.end()
            };
            if let Some(stop) = stop {
                count(stop, counters);
            }
        }
    }

    /// Counts why a connection is not decrypted further.
    fn count(stop: Stop, counters: &mut DecryptionCounters) {
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
        pub(in crate::observers) decryption: DecryptionCounters,
    }

    tally!(TlsContentCounters { http, decryption });

    /// Passes plaintext to HTTP.
    struct Http<'a, F> {
        http: &'a mut HttpParser,
        counters: &'a mut HttpCounters,
        emit: &'a mut F,
    }

    impl<F: FnMut(Side, HttpEvent)> PlaintextReader for Http<'_, F> {
        fn on_data(&mut self, side: Side, bytes: &[u8]) {
            self.http.on_data(side, StreamData::Bytes(bytes), self.counters, self.emit);
        }

        fn skippable(&self, side: Side) -> u64 {
            self.http.skippable(side)
        }

        fn skip(&mut self, side: Side, len: u64) {
            self.http.skip(side, len);
        }

        fn reads(&self, side: Side) -> bool {
            self.http.reads(side)
        }

        fn on_early_data_rejected(&mut self) {
            *self.http = HttpParser::new(StreamStart::Handshake, ());
        }
    }

    impl StreamParser for TlsContent {
        type Event = HttpEvent;
        type Counters = TlsContentCounters;
        type Settings = Secrets;

        fn probe(_: Side, _: &[u8]) -> Probe {
            Probe::Unsure
        }

        fn new(_: StreamStart, secrets: Secrets) -> Self {
            let http = HttpParser::new(StreamStart::Handshake, ());
            Self { tls: TlsDecryptor::new(), http, secrets, is_ambiguous: false }
        }

        fn on_data(
            &mut self,
            side: Side,
            data: StreamData<'_>,
            counters: &mut TlsContentCounters,
            emit: &mut impl FnMut(Side, HttpEvent),
        ) {
            let Self { tls, http, secrets, is_ambiguous } = self;
            if tls.stopped().is_some() {
                return;
            }
            let TlsContentCounters { http: http_counters, decryption } = counters;
            let had_records = tls.records() > 0;
            let outcome = match data {
                StreamData::Bytes(bytes) if !*is_ambiguous => {
                    tls.push(side, bytes, secrets, &mut Http { http, counters: http_counters, emit })
                }
                _ => Err(tls.gap()),
            };
            if !had_records && tls.records() > 0 {
                decryption.connections = decryption.connections.saturating_add(1);
            }
            if let Err(stop) = outcome {
                count(stop, decryption);
            }
        }

        fn reads(&self, side: Side) -> bool {
            self.tls.reads(side, self.http.reads(side))
        }

        /// Ends the decryption at the next data, or at the end of the connection, where that is counted.
        fn on_conflict(&mut self, _: Side) {
            self.is_ambiguous = true;
        }

        fn buffered_bytes(&self) -> usize {
            self.tls
                .buffered_bytes()
                .saturating_add(self.http.buffered_bytes())
                .saturating_add(size_of::<Self>())
        }
    }
}
