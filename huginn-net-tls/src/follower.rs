//! Follows a handshake after its hellos.

use std::fmt;

use huginn_net_wire::Side;

use crate::certificate::{CertificateMessage, CertificateRequest};
use crate::counters::HandshakeCounters;
use crate::event::{KeyExchange, Resumption, TlsAlert, TlsCertificates, TlsEvent, TlsHandshake};
use crate::hello::handshake::{HEADER_LEN, SERVER_HELLO_DONE, SERVER_KEY_EXCHANGE};
use crate::hello::{AlpnList, ClientHello, Extensions, Hello, ServerHello, extension_type};
use crate::limits::MAX_ALERTS;
use crate::record::{ALERT, HANDSHAKE, Item};
use crate::{Transport, names};

/// Whether a handshake is followed after its hellos.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Follow {
    #[default]
    No,
    Yes,
    /// Its certificates keep their bytes.
    KeepingCertificates,
}

impl Follow {
    pub(crate) fn new(follows: bool, keeps_certificates: bool) -> Self {
        match (follows, keeps_certificates) {
            (false, _) => Self::No,
            (true, false) => Self::Yes,
            (true, true) => Self::KeepingCertificates,
        }
    }

    pub(crate) fn is_on(self) -> bool {
        self != Self::No
    }

    /// The state of a handshake that is followed.
    pub(crate) fn follower(self) -> Option<Box<Follower>> {
        self.is_on().then(|| Box::new(Follower::new(self)))
    }
}

/// The state of a handshake from the ClientHello to its end.
#[derive(Debug)]
pub(crate) struct Follower {
    /// The side that sent the ClientHello, which need not be the one that opened the connection.
    client_side: Side,
    client: ClientFacts,
    has_client_hello: bool,
    /// That of the hellos.
    transport: Transport,
    found: TlsHandshake,
    /// Whether the messages after the ServerHello are encrypted, as in TLS 1.3.
    is_encrypted: bool,
    /// Whether the server repeated the session id of the client.
    repeats_session_id: bool,
    /// Whether the Finished message of the client is decrypted, so that no other record of it ends the handshake.
    awaits_finished: bool,
    /// Whether certificates keep their bytes.
    keeps_der: bool,
    /// Whether client and server sent a Certificate message.
    has_certificates: [bool; 2],
    /// Whether client and server sent an encrypted message.
    has_finished: [bool; 2],
    /// Whether bytes are missing that may have been part of the handshake: what follows them says nothing certain about it.
    lacks_bytes: bool,
    /// Whether the handshake has ended.
    pub(crate) is_over: bool,
}

impl Default for Follower {
    fn default() -> Self {
        Self {
            client_side: Side::Client,
            client: ClientFacts::default(),
            has_client_hello: false,
            transport: Transport::default(),
            found: TlsHandshake::default(),
            is_encrypted: false,
            repeats_session_id: false,
            awaits_finished: false,
            keeps_der: false,
            has_certificates: [false; 2],
            has_finished: [false; 2],
            lacks_bytes: false,
            is_over: false,
        }
    }
}

/// What the ClientHello says about earlier sessions, and the name that it asks for.
#[derive(Debug, Default)]
struct ClientFacts {
    server_name: Option<Box<[u8]>>,
    session_id: Box<[u8]>,
    has_ticket: bool,
    has_early_data: bool,
}

impl ClientFacts {
    fn new(hello: &ClientHello<'_>) -> Self {
        Self {
            server_name: hello.server_name().map(Into::into),
            session_id: hello.session_id().into(),
            has_ticket: hello.session_ticket().is_some_and(|ticket| !ticket.is_empty()),
            has_early_data: hello.has_early_data(),
        }
    }
}

impl Follower {
    pub(crate) fn new(follow: Follow) -> Self {
        Self { keeps_der: follow == Follow::KeepingCertificates, ..Self::default() }
    }

    /// The state of another handshake.
    pub(crate) fn renewed(&self) -> Self {
        Self { keeps_der: self.keeps_der, ..Self::default() }
    }

    /// Whether certificates of the server can still be found, even if the client's data is missing.
    pub(crate) fn awaits_certificates(&self) -> bool {
        let [_, server] = self.has_finished;
        !self.is_encrypted && !server && self.found.resumption.is_none()
    }

    /// Returns the heap memory, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let name = self.client.server_name.as_ref().map_or(0, |name| name.len());
        let request = self.found.certificate_request.as_ref().map_or(0, Vec::len);
        size_of::<Self>()
            .saturating_add(name)
            .saturating_add(request)
            .saturating_add(self.client.session_id.len())
    }

    /// The side that answers the ClientHello.
    pub(crate) fn server_side(&self) -> Side {
        self.client_side.peer()
    }

    /// Records that bytes of a side are missing. Before the ClientHello, the server may have sent a HelloRetryRequest: packets
    /// need not be captured in order.
    pub(crate) fn on_gap(&mut self, sender: Side) {
        self.lacks_bytes |= self.has_client_hello || self.role(sender) == Side::Server;
    }

    /// The role of a side in the handshake.
    fn role(&self, sender: Side) -> Side {
        if sender == self.client_side { Side::Client } else { Side::Server }
    }

    /// Processes the next part of the handshake.
    pub(crate) fn on_item(&mut self, sender: Side, item: &Item<'_>, emit: &mut impl FnMut(Side, TlsEvent)) {
        match item {
            Item::Hello(hello) => self.on_hello(sender, hello),
            Item::Message(message) => self.on_message(sender, message, emit),
            Item::TooLong(kind) => self.on_message_start(self.role(sender), *kind),
            Item::Alert([level, description]) => {
                self.on_alert(TlsAlert { sender, code: Some((*level, *description)) }, emit);
            }
            Item::ChangeCipherSpec => self.on_change_cipher_spec(sender),
            Item::Encrypted(kind, len) => self.on_encrypted(sender, *kind, *len, emit),
            Item::Finished if self.role(sender) == Side::Client => self.end(true, emit),
            Item::Finished => {}
        }
    }

    /// Processes a hello.
    pub(crate) fn on_hello(&mut self, sender: Side, hello: &Hello<'_>) {
        match hello {
            Hello::Client(hello) => self.on_client_hello(sender, hello),
            Hello::Server(hello) => self.on_server_hello(hello),
        }
    }

    fn on_client_hello(&mut self, sender: Side, hello: &ClientHello<'_>) {
        (self.client_side, self.client) = (sender, ClientFacts::new(hello));
        self.has_client_hello = true;
        self.transport = hello.transport();
    }

    fn on_server_hello(&mut self, hello: &ServerHello<'_>) {
        self.transport = hello.transport();
        if hello.is_retry_request() {
            self.found.retry = true;
            return;
        }
        self.found.version = Some(hello.version());
        self.found.cipher_suite = Some(hello.cipher_suite());
        self.is_encrypted = hello.encrypts_handshake();
        self.repeats_session_id =
            !self.client.session_id.is_empty() && hello.session_id() == &*self.client.session_id;
        if self.is_encrypted {
            let has_psk = hello.selected_psk().is_some();
            self.found.resumption = Some(if has_psk { Resumption::Psk } else { Resumption::No });
            self.found.key_exchange = hello.group().map(KeyExchange::Group);
        }
    }

    fn on_message(&mut self, sender: Side, message: &[u8], emit: &mut impl FnMut(Side, TlsEvent)) {
        let Some((&[kind, ..], body)) = message.split_first_chunk::<HEADER_LEN>() else { return };
        let role = self.role(sender);
        self.on_message_start(role, kind);
        match (kind, role) {
            (CertificateMessage::TYPE, _) => {
                if let Some(found) = self.certificates(role, || CertificateMessage::from_body(body)) {
                    emit(sender, TlsEvent::Certificates(found));
                }
            }
            (SERVER_KEY_EXCHANGE, Side::Server) => {
                self.found.key_exchange =
                    self.found.cipher_suite.and_then(|suite| KeyExchange::parse(suite, body));
            }
            (CertificateRequest::TYPE, Side::Server) => self.found.certificate_request = Some(body.to_vec()),
            (SERVER_HELLO_DONE, Side::Server) => self.found.server_is_done = true,
            _ => {}
        }
    }

    /// Processes the type of a message in the clear.
    fn on_message_start(&mut self, role: Side, kind: u8) {
        const NEW_SESSION_TICKET: u8 = 4;
        // A server that resumes a session sends none of the other messages (RFC 5246, section 7.3; RFC 5077, section 3.1).
        if role == Side::Server && kind != NEW_SESSION_TICKET {
            self.found.resumption = Some(Resumption::No);
        }
    }

    /// The certificates of a side; `None` after its first message. To parse hostile certificates takes long: one message of each
    /// side is enough.
    fn certificates<'a>(
        &mut self,
        role: Side,
        message: impl FnOnce() -> CertificateMessage<'a>,
    ) -> Option<TlsCertificates> {
        let [client, server] = &mut self.has_certificates;
        if std::mem::replace(role.choose(client, server), true) {
            return None;
        }
        let server_name = self.client.server_name.as_deref().filter(|_| role == Side::Server);
        Some(TlsCertificates::from_message(self.transport, message(), self.keeps_der, server_name))
    }

    /// Sets whether the handshake messages of the client are decrypted.
    pub(crate) fn set_awaits_finished(&mut self, awaits_finished: bool) {
        self.awaits_finished = awaits_finished;
    }

    /// Processes a decrypted message of TLS 1.3: its type and body.
    pub(crate) fn on_decrypted(
        &mut self,
        sender: Side,
        kind: u8,
        body: &[u8],
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        const ENCRYPTED_EXTENSIONS: u8 = 8;
        const FINISHED: u8 = 20;
        match (kind, self.role(sender)) {
            (ENCRYPTED_EXTENSIONS, Side::Server) => {
                self.found.decrypted = true;
                self.found.alpn = selected_protocol(body).map(Into::into);
            }
            (CertificateRequest::TYPE, Side::Server) if !self.is_over => {
                self.found.certificate_request = Some(body.to_vec());
            }
            (CertificateMessage::TYPE, role) => {
                if let Some(found) = self.certificates(role, || CertificateMessage::from_tls13_body(body)) {
                    emit(sender, TlsEvent::Certificates(TlsCertificates { decrypted: true, ..found }));
                }
            }
            (FINISHED, Side::Server) => self.found.server_is_done = true,
            (FINISHED, Side::Client) => self.end(true, emit),
            _ => {}
        }
    }

    /// Processes a decrypted alert.
    pub(crate) fn on_decrypted_alert(
        &mut self,
        sender: Side,
        [level, description]: [u8; 2],
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        self.on_alert(TlsAlert { sender, code: Some((level, description)) }, emit);
    }

    fn on_alert(&mut self, alert: TlsAlert, emit: &mut impl FnMut(Side, TlsEvent)) {
        let alerts = &mut self.found.alerts;
        if alerts.len() < MAX_ALERTS {
            alerts.push(alert);
        } else if let Some(last) = alerts.last_mut().filter(|_| alert.is_final()) {
            // The cause of the end is worth more than another warning.
            *last = alert;
        }
        if alert.is_final() {
            self.end(false, emit);
        }
    }

    /// Processes a ChangeCipherSpec. Up to TLS 1.2, the server sends one at once if it resumes a session.
    fn on_change_cipher_spec(&mut self, sender: Side) {
        let is_known = self.found.resumption.is_some();
        let is_server = self.role(sender) == Side::Server;
        self.found.server_is_done |= is_server;
        if is_server && !self.is_encrypted && self.found.version.is_some() && !is_known {
            self.found.resumption = match (self.client.has_ticket, self.repeats_session_id) {
                (true, _) => Some(Resumption::Ticket),
                (false, true) => Some(Resumption::SessionId),
                (false, false) => None,
            };
        }
    }

    /// Processes a record that is encrypted.
    fn on_encrypted(&mut self, sender: Side, kind: u8, len: u16, emit: &mut impl FnMut(Side, TlsEvent)) {
        if self.is_encrypted {
            self.on_tls13_record(sender, len, emit);
        } else {
            self.on_tls12_record(sender, kind, emit);
        }
    }

    /// Processes an encrypted record of TLS 1.3. Its content type is hidden; its length shows an alert.
    fn on_tls13_record(&mut self, sender: Side, len: u16, emit: &mut impl FnMut(Side, TlsEvent)) {
        let [_, server_has_finished] = self.has_finished;
        let is_alert = is_encrypted_alert(len);
        match self.role(sender) {
            Side::Server if server_has_finished => {}
            Side::Server if is_alert => self.on_alert(TlsAlert { sender, code: None }, emit),
            Side::Server => self.has_finished = [false, true],
            Side::Client if self.awaits_finished => {}
            // Records of early data have any length, and that of the Finished message comes after them.
            Side::Client if self.client.has_early_data => {
                if server_has_finished && is_finished_message(len) {
                    self.end(true, emit);
                }
            }
            // The capture has the answer of the client before the messages that it answers: what follows is unknown.
            Side::Client if !server_has_finished => self.is_over = true,
            Side::Client if is_alert => self.on_alert(TlsAlert { sender, code: None }, emit),
            Side::Client => self.end(true, emit),
        }
    }

    /// Processes a record after a ChangeCipherSpec, up to TLS 1.2.
    fn on_tls12_record(&mut self, sender: Side, kind: u8, emit: &mut impl FnMut(Side, TlsEvent)) {
        let role = self.role(sender);
        let [client, server] = &mut self.has_finished;
        let has_finished = role.choose(client, server);
        match kind {
            HANDSHAKE => *has_finished = true,
            // After the Finished message of its sender, an alert may close a connection with a false start (RFC 7918).
            ALERT if !*has_finished => return self.on_alert(TlsAlert { sender, code: None }, emit),
            _ => {}
        }
        if self.has_finished == [true; 2] {
            self.end(true, emit);
        }
    }

    fn end(&mut self, completed: bool, emit: &mut impl FnMut(Side, TlsEvent)) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        if self.lacks_bytes {
            return;
        }
        let found = TlsHandshake { transport: self.transport, completed, ..std::mem::take(&mut self.found) };
        emit(self.server_side(), TlsEvent::Handshake(Box::new(found)));
    }
}

/// A handshake of TLS 1.3 whose encrypted messages another layer decrypts, such as that of a QUIC connection.
pub struct DecryptedHandshake(Follower);

/// Omits the messages, which were encrypted.
impl fmt::Debug for DecryptedHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptedHandshake").finish_non_exhaustive()
    }
}

impl DecryptedHandshake {
    /// Creates the state of a new handshake. `certificate_bytes`: whether its certificates keep their
    /// [bytes](crate::Certificate::der).
    pub fn new(certificate_bytes: bool) -> Self {
        Self(Follower::new(Follow::new(true, certificate_bytes)))
    }

    /// Takes a hello into account; other events have no effect.
    pub fn on_hello(&mut self, sender: Side, event: &TlsEvent) {
        match event {
            TlsEvent::Client(client) => self.0.on_client_hello(sender, &client.hello),
            TlsEvent::Server(server) => self.0.on_server_hello(&server.hello),
            TlsEvent::Certificates(_) | TlsEvent::Handshake(_) => {}
        }
    }

    /// Processes a decrypted message: its type and body. Emits certificates, and the handshake at the end.
    pub fn on_message(
        &mut self,
        sender: Side,
        kind: u8,
        body: &[u8],
        counters: &mut HandshakeCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        self.0.on_decrypted(sender, kind, body, &mut |side, event| {
            counters.count(&event);
            emit(side, event);
        });
    }

    /// Returns the heap memory, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }
}

/// The protocol that encrypted extensions select (RFC 7301, section 3.1).
fn selected_protocol(body: &[u8]) -> Option<&[u8]> {
    let (_, block) = body.split_at_checked(2)?;
    let extension = Extensions::new(block).find(|extension| extension.kind == extension_type::ALPN)?;
    let (_, list) = extension.data.split_at_checked(2)?;
    AlpnList::new(list).next()
}

/// Whether an encrypted record of TLS 1.3 without padding has the length of an alert: two bytes, the content type, and a tag
/// of 16 or 8 bytes (RFC 8446, section 5.2). No message of a handshake is as short.
const fn is_encrypted_alert(len: u16) -> bool {
    matches!(len, 19 | 11)
}

/// Whether an encrypted record of TLS 1.3 has the length of a Finished message without padding: a header of 4 bytes, a hash of
/// 32 or 48 bytes, the content type, and a tag of 16 or 8 bytes.
const fn is_finished_message(len: u16) -> bool {
    matches!(len, 53 | 69 | 45)
}

impl KeyExchange {
    /// Parses the body of a ServerKeyExchange; `None` if the cipher suite uses neither ECDHE nor DHE, or a pre-shared key,
    /// whose hint comes first.
    pub(crate) fn parse(cipher_suite: u16, body: &[u8]) -> Option<Self> {
        let suite = names::cipher_suite(cipher_suite).filter(|name| !name.contains("_PSK_"))?;
        let uses = |names: [&str; 2]| names.iter().any(|name| suite.contains(name));
        if uses(["ECDHE_", "ECDH_anon_"]) {
            Self::parse_group(body)
        } else if uses(["DHE_", "DH_anon_"]) {
            Self::parse_prime(body)
        } else {
            None
        }
    }

    /// Parses the parameters of ECDHE (RFC 8422, section 5.4).
    fn parse_group(body: &[u8]) -> Option<Self> {
        const NAMED_CURVE: u8 = 3;
        match body {
            [NAMED_CURVE, high, low, ..] => Some(Self::Group(u16::from_be_bytes([*high, *low]))),
            _ => None,
        }
    }

    /// Parses the parameters of DHE, which begin with the prime (RFC 5246, section 7.4.3).
    fn parse_prime(body: &[u8]) -> Option<Self> {
        let (len, rest) = body.split_first_chunk()?;
        let prime = rest.get(..usize::from(u16::from_be_bytes(*len)))?;
        let start = prime.iter().position(|byte| *byte != 0)?;
        let (first, others) = prime.get(start..)?.split_first()?;
        let bits = u32::try_from(others.len()).ok()?.checked_mul(8)?.checked_add(8)?;
        Some(Self::FiniteField(bits.checked_sub(first.leading_zeros())?))
    }
}
