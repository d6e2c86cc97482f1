//! Counters of hellos, and of failures on the way to them.

use huginn_net_core::tally;

use crate::error::{QuicError, TlsError};
use crate::event::{TlsClient, TlsEvent, TlsServer};
use crate::hello::Hello;

/// Counters of a [`TlsObserver`](crate::TlsObserver).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TlsCounters {
    /// Hellos reported.
    pub hellos: HelloCounters,
    /// Handshakes over TCP and of DTLS that were followed to their end.
    pub handshakes: HandshakeCounters,
    /// Failures of the search for hellos in TCP streams.
    pub search: SearchCounters,
    /// Results of QUIC packets.
    pub quic: QuicCounters,
    /// Failures of DTLS and of other UDP protocols that carry TLS.
    pub udp: DatagramCounters,
}

tally!(TlsCounters { hellos, handshakes, search, quic, udp });

/// Handshakes over TCP and of DTLS that were followed to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HandshakeCounters {
    /// Handshakes that completed.
    pub completed: u64,
    /// Handshakes that an alert ended.
    pub failed: u64,
    /// Certificate messages in the clear.
    pub certificates: u64,
    /// Messages after the hellos that are too long to be read, such as certificates: more than 256 KiB over TCP, more than 64 KiB if they
    /// are decrypted. The handshake is followed after them.
    pub messages_too_long: u64,
}

tally!(HandshakeCounters { completed, failed, certificates, messages_too_long });

impl HandshakeCounters {
    /// Counts an event.
    pub(crate) fn count(&mut self, event: &TlsEvent) {
        let counter = match event {
            TlsEvent::Handshake(found) if found.completed => &mut self.completed,
            TlsEvent::Handshake(_) => &mut self.failed,
            TlsEvent::Certificates(_) => &mut self.certificates,
            TlsEvent::Client(_) | TlsEvent::Server(_) => return,
        };
        *counter = counter.saturating_add(1);
    }
}

/// Results of QUIC packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct QuicCounters {
    /// Initial packets decrypted and parsed.
    pub opened: u64,
    /// Initial packets that no known key decrypts.
    pub sealed: u64,
    /// Malformed packets, or malformed frames in Initial packets.
    pub malformed: u64,
    /// Initial packets that the snap length cut, or that are shorter than they say. Those of a client show the keys of its
    /// connection, but no hello: without its end a packet cannot be authenticated.
    pub cut: u64,
    /// Packets of unknown versions.
    pub unknown_version: u64,
    /// Initial packets with CRYPTO data that did not fit in the buffer, or was too far ahead.
    pub crypto_refused: u64,
    /// Initial packets with another message than a hello, or a hello that is too long or cannot be parsed.
    pub not_hello: u64,
    /// Connections with a decrypted Initial packet of the client, without those that continue after a Retry.
    pub connections: u64,
    /// Those of them with a complete ClientHello. The rest lacks packets.
    pub complete: u64,
    /// Those of them that were dropped before, because too many were open on the same ports.
    pub given_up: u64,
}

tally!(QuicCounters {
    opened,
    sealed,
    malformed,
    cut,
    unknown_version,
    crypto_refused,
    not_hello,
    connections,
    complete,
    given_up
});

/// Failures in flows of DTLS, OpenVPN and RDP over UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DatagramCounters {
    /// Fragments and packets that arrived too early to be buffered. In handshakes that are followed also fragments that contradict
    /// others, and messages of more than 256 KiB: the rest of the handshake is not read.
    pub refused: u64,
    /// Hellos that cannot be parsed, and sessions with other data instead of a hello.
    pub malformed: u64,
}

tally!(DatagramCounters { refused, malformed });

/// Hellos reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HelloCounters {
    /// ClientHellos.
    pub client: u64,
    /// ServerHellos, including HelloRetryRequests.
    pub server: u64,
    /// ClientHellos with the extension encrypted_client_hello (RFC 9849): encrypted, or GREASE.
    pub ech: u64,
    /// ClientHellos with truncated extensions or contradictory lengths.
    pub malformed: u64,
}

tally!(HelloCounters { client, server, ech, malformed });

/// Failures in TCP connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SearchCounters {
    /// Hellos that cannot be parsed: they end within a mandatory field, or exceed the maximum length.
    pub malformed: u64,
    /// Directions without a complete hello within the search limits: 64 KiB if none started, 24 MiB if one did. Also those with
    /// 16 hellos.
    pub given_up: u64,
    /// Those of them in which a hello had started.
    pub too_long: u64,
}

tally!(SearchCounters { malformed, given_up, too_long });

impl HelloCounters {
    /// Counts a hello and creates its event.
    pub(crate) fn event(&mut self, hello: Hello<'_>, retry: bool) -> TlsEvent {
        let count = |counter: &mut u64| *counter = counter.saturating_add(1);
        match hello {
            Hello::Client(hello) => {
                count(&mut self.client);
                if hello.has_ech() {
                    count(&mut self.ech);
                }
                if !hello.is_well_formed() {
                    count(&mut self.malformed);
                }
                let hello = hello.into_owned();
                TlsEvent::Client(TlsClient { hello, retry, follows_other: false, quic: None })
            }
            Hello::Server(hello) => {
                count(&mut self.server);
                TlsEvent::Server(TlsServer { hello: hello.into_owned(), quic: None })
            }
        }
    }
}

impl QuicCounters {
    pub(crate) fn count(&mut self, outcome: Result<(), TlsError>) {
        let counter = match outcome {
            Ok(()) => &mut self.opened,
            Err(TlsError::Quic(QuicError::Sealed)) => &mut self.sealed,
            Err(TlsError::Quic(QuicError::UnknownVersion { .. })) => &mut self.unknown_version,
            Err(TlsError::Quic(QuicError::Crypto { .. })) => &mut self.crypto_refused,
            Err(TlsError::Quic(_)) => &mut self.malformed,
            Err(_) => &mut self.not_hello,
        };
        *counter = counter.saturating_add(1);
    }
}
