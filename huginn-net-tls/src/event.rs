//! The events of hellos.

use huginn_net_wire::Side;

use crate::certificate::{Certificate, CertificateMessage};
use crate::hello::{ClientHello, ServerHello, Version};
use crate::quic_peers::{QuicClient, QuicClose, QuicServer};
use crate::{Transport, names};

/// An event of a [`TlsObserver`](crate::TlsObserver). Its subject is the sender; of a [`TlsHandshake`], the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsEvent {
    /// A ClientHello.
    Client(TlsClient),
    /// A ServerHello.
    Server(TlsServer),
    /// The certificates of a side. Only if handshakes are [followed](crate::TlsObserver::handshakes).
    Certificates(TlsCertificates),
    /// The end of a handshake. Only if handshakes are [followed](crate::TlsObserver::handshakes).
    Handshake(Box<TlsHandshake>),
}

/// The client of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsClient {
    /// Its ClientHello.
    pub hello: ClientHello<'static>,
    /// Whether this is its second hello, requested by the server.
    pub retry: bool,
    /// Whether the client sent other bytes before over the same TCP connection, as for STARTTLS or to a proxy.
    pub follows_other: bool,
    /// What its QUIC packets show beside the hello; `None` over other transports.
    pub quic: Option<QuicClient>,
}

/// The server of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsServer {
    /// Its ServerHello, or [HelloRetryRequest](ServerHello::is_retry_request).
    pub hello: ServerHello<'static>,
    /// What its QUIC packets show beside the hello; `None` over other transports.
    pub quic: Option<Box<QuicServer>>,
}

/// The certificates that a side sends (RFC 5246, section 7.4.2). Since TLS 1.3 they are encrypted, and visible only if they are
/// decrypted with logged secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsCertificates {
    /// The transport of the handshake.
    pub transport: Transport,
    /// The certificates in their order, that of the sender first; none of a client that has none.
    pub certificates: Vec<Certificate>,
    /// Whether the message has more of them, see [`CertificateMessage::has_more`](crate::CertificateMessage::has_more).
    pub has_more: bool,
    /// The server name that the client asked for, if a server sent the certificates.
    pub server_name: Option<Box<[u8]>>,
    /// Whether they were sent encrypted, and decrypted.
    pub decrypted: bool,
}

/// What the records of a TLS connection over TCP or of DTLS show of its handshake, at its end: when both sides have agreed on
/// keys, or an alert ends it. A connection that ends before has no such event, and a DTLS handshake neither if lost datagrams
/// leave open what the server sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsHandshake {
    /// The transport.
    pub transport: Transport,
    /// Whether the handshake completed. Up to TLS 1.2 and DTLS 1.2: each side sent a message after its ChangeCipherSpec. TLS 1.3:
    /// the client answered the encrypted messages of the server with more than an alert; DTLS 1.3: the client sent application
    /// data. Whether the server accepts a certificate of the client is then still open.
    pub completed: bool,
    /// The version that the server selected; `None` if the server sent no ServerHello.
    pub version: Option<Version>,
    /// The cipher suite that the server selected; `None` if the server sent no ServerHello.
    pub cipher_suite: Option<u16>,
    /// Whether and how the session continues an earlier one; `None` if that is unknown.
    pub resumption: Option<Resumption>,
    /// Whether the server sent a HelloRetryRequest, which costs a round trip.
    pub retry: bool,
    /// The parameters of the key exchange: those of the ServerHello in TLS 1.3, before that those of a ServerKeyExchange (RFC
    /// 8422, section 5.4; RFC 5246, section 7.4.3).
    pub key_exchange: Option<KeyExchange>,
    /// The protocol that the server selected in its encrypted extensions (RFC 8446, section 4.3.1), unvalidated. Up to TLS 1.2,
    /// the [ServerHello](ServerHello::alpn) has it.
    pub alpn: Option<Box<[u8]>>,
    /// Whether the encrypted messages of the server were decrypted.
    pub decrypted: bool,
    /// The body of the CertificateRequest, if the server sent one in the clear (RFC 5246, section 7.4.4), or it was decrypted (RFC
    /// 8446, section 4.3.2).
    pub certificate_request: Option<Vec<u8>>,
    /// Whether the server sent its last message before the answer of the client: up to TLS 1.2, ServerHelloDone or, if it
    /// resumes a session, ChangeCipherSpec. It has asked for a certificate by then, or does not.
    pub server_is_done: bool,
    /// Alerts of both sides before the end of the handshake: the first ones, at most 8, and the one that ended it.
    pub alerts: Vec<TlsAlert>,
    /// The error code of the CONNECTION_CLOSE that ended a handshake of QUIC before its ServerHello (RFC 9000, section 20.1).
    pub quic_error: Option<u64>,
}

#[cfg(feature = "packets")]
impl TlsHandshake {
    /// The handshake of a QUIC connection that was closed. Codes from 0x100 on are fatal alerts (RFC 9001, section 4.8).
    pub(crate) fn closed(close: &QuicClose) -> Self {
        let description =
            close.code.checked_sub(0x100).and_then(|description| u8::try_from(description).ok());
        let alert =
            description.map(|description| TlsAlert { sender: close.sender, code: Some((2, description)) });
        Self {
            transport: Transport::Quic,
            retry: close.retry,
            alerts: alert.into_iter().collect(),
            quic_error: Some(close.code),
            ..Self::default()
        }
    }
}

huginn_net_wire::named! {
    /// Whether and how a session continues an earlier one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Resumption {
        /// It is a new session.
        No = "no",
        /// By the session id (RFC 5246, section 7.3).
        SessionId = "session_id",
        /// By a session ticket (RFC 5077).
        Ticket = "ticket",
        /// By a pre-shared key (RFC 8446, section 2.2), which is that of an earlier session unless both sides were configured
        /// with it.
        Psk = "psk",
    }
}

/// The parameters of a key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyExchange {
    /// A group, by its number in IANA's registry "TLS Supported Groups".
    Group(u16),
    /// A Diffie-Hellman group of the server's own, by the length of its prime in bits.
    FiniteField(u32),
}

/// An alert (RFC 8446, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsAlert {
    /// Who sent it.
    pub sender: Side,
    /// Its level and description; `None` if it is encrypted.
    pub code: Option<(u8, u8)>,
}

impl TlsCertificates {
    /// Creates the certificates of a side, for tests and own parsers.
    pub fn new(
        transport: Transport,
        certificates: Vec<Certificate>,
        has_more: bool,
        server_name: Option<&[u8]>,
    ) -> Self {
        let server_name = server_name.map(Into::into);
        Self { transport, certificates, has_more, server_name, decrypted: false }
    }

    /// The chain of the sender: its own certificate, and after each the first other one whose subject is its issuer, up to one that names
    /// itself as issuer, or whose issuer was not sent. Servers may send more certificates, in another order (RFC 8446, section 4.4.2).
    ///
    /// It follows names of certificates that can be read. No signature is verified.
    pub fn chain(&self) -> impl Iterator<Item = &Certificate> {
        let mut left: Vec<_> = self.certificates.iter().skip(1).collect();
        std::iter::successors(self.certificates.first(), move |last| {
            let fields = last.fields().filter(|fields| !fields.is_self_issued)?;
            let issuer = fields.issuer.as_ref()?;
            let is_issuer =
                |one: &&Certificate| one.fields().is_some_and(|one| one.subject.as_ref() == Some(issuer));
            let found = left.iter().position(is_issuer)?;
            Some(left.remove(found))
        })
    }

    /// The certificates of a message, and for a server the name that the client asked for.
    pub(crate) fn from_message(
        transport: Transport,
        message: CertificateMessage<'_>,
        keeps_der: bool,
        server_name: Option<&[u8]>,
    ) -> Self {
        let read = if keeps_der { Certificate::from_kept_der } else { Certificate::from_der };
        let certificates = message.certificates().map(read).collect();
        Self::new(transport, certificates, message.has_more(), server_name)
    }
}

impl TlsAlert {
    /// The name of the description, such as `unknown_ca`; `None` if it is encrypted or unknown.
    pub fn name(self) -> Option<&'static str> {
        names::alert(self.code?.1)
    }

    /// Whether the alert ends the handshake (RFC 5246, section 7.2; RFC 8446, section 6). An encrypted alert may be a
    /// warning, but in a handshake almost none is.
    pub(crate) fn is_final(self) -> bool {
        const FATAL: u8 = 2;
        const CLOSE_NOTIFY: u8 = 0;
        self.code.is_none_or(|(level, description)| level == FATAL || description == CLOSE_NOTIFY)
    }
}
