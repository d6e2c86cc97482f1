//! TLS servers that do not fit together, and default certificates of C2 programs.

use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::time::Duration;

use huginn_net_core::{Event, IdleLimits, IdleMap, Timestamp};
use huginn_net_tls::{Certificate, CertificateFields};

use super::by_proof::ByProof;
use super::service::service;
use super::{ClientKey, TrafficNotice, TrafficNoticeKind, at_packet, client_of, known_servers};
use crate::hosts::{RequestFacts, is_public};
use crate::limits::{
    FIRST_OLD_VERSION_SECS, FIRST_WEAK_KEY_SECS, MAX_BROWSER_CLIENTS, MAX_NOTICE_NAME_BYTES,
    MAX_NOTICE_PACKETS, MAX_SERVER_BYTES, MAX_SERVERS, MAX_WEAK_KEY_BITS, MIN_LONG_VALIDITY_SECS,
    MIN_MARKS_INSIDE, MIN_MARKS_OUTSIDE, NOTICE_IDLE_SECS,
};

/// A TLS server without a name that has further marks.
///
/// [`Display`] is a sentence: `contacts 198.51.100.7:7084 by TLS without a server name: port without a TLS service, private issuer`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusualServerNotice {
    /// The server.
    pub server: SocketAddr,
    /// What is unusual about it.
    pub marks: ServerMarks,
    /// The certificate of the server, if it was seen.
    pub certificate: Option<CertificateNames>,
    /// Number of connections.
    pub connections: u32,
    /// Time of the first connection.
    pub first_seen: Timestamp,
}

/// A TLS server that has the default certificate of a C2 program.
///
/// [`Display`] is a sentence: `198.51.100.7:7084 has the default certificate of DcRat: CN=DcRat, issued by CN=DcRat Server`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct C2CertificateNotice {
    /// The server.
    pub server: SocketAddr,
    /// The program.
    pub program: &'static str,
    /// The certificate.
    pub certificate: CertificateNames,
}

/// The names of a certificate, as RFC 4514 writes them, at most 200 bytes of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateNames {
    /// The subject.
    pub subject: Box<str>,
    /// The issuer.
    pub issuer: Box<str>,
}

/// Declares the marks of servers, each with its bit, name and meaning.
macro_rules! server_marks {
    ($($(#[doc = $doc:literal])+ $mark:ident: $name:literal, $meaning:literal;)+) => {
        /// What is unusual about a TLS server without a name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ServerMark {
            $($(#[doc = $doc])+ $mark,)+
        }

        impl ServerMark {
            const ALL: [Self; [$($name),+].len()] = [$(Self::$mark),+];

            /// The name in events.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$mark => $name,)+
                }
            }
        }

        impl Display for ServerMark {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$mark => $meaning,)+
                })
            }
        }
    };
}

server_marks! {
    /// No TLS service has the port.
    Port: "port", "port without a TLS service";
    /// The certificate is self-issued, or its issuer is not a public authority.
    Issuer: "private_issuer", "private issuer";
    /// The names of the certificate are those that an example or an installer leaves.
    Placeholder: "placeholder", "names of an example";
    /// The certificate is that of an authority.
    Authority: "authority", "certificate of an authority";
    /// The key is RSA of at most 1,024 bits, years after public authorities stopped signing them.
    Key: "weak_key", "RSA of 1024 bits or less";
    /// The certificate is valid for ten years or longer.
    Validity: "long_validity", "valid for ten years or longer";
    /// The server selects TLS 1.0 or SSL 3.0, years after browsers dropped them.
    Version: "old_version", "TLS 1.0 or older";
    /// Other connections of the client are those of a browser, and this one is not.
    Client: "client", "other fingerprint than the browser of the client";
    /// The client contacts the server at regular intervals.
    Regular: "regular", "regular intervals";
}

/// A set of [marks](ServerMark).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerMarks(u16);

impl ServerMarks {
    /// Whether the set has a mark.
    pub fn has(self, mark: ServerMark) -> bool {
        self.0 & Self::of(mark).0 != 0
    }

    /// The marks.
    pub fn iter(self) -> impl Iterator<Item = ServerMark> {
        ServerMark::ALL.into_iter().filter(move |mark| self.has(*mark))
    }

    const fn of(mark: ServerMark) -> Self {
        Self(1 << mark as u8)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    fn add(&mut self, mark: ServerMark, is_set: bool) {
        if is_set {
            self.0 |= Self::of(mark).0;
        }
    }

    fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the marks suffice for a server. Issuer and validity alone are those of appliances.
    fn suffice(self, is_outside: bool) -> bool {
        let ordinary = [ServerMark::Issuer, ServerMark::Validity];
        let has_other = self.iter().any(|mark| !ordinary.contains(&mark));
        if is_outside {
            return has_other && self.len() >= MIN_MARKS_OUTSIDE;
        }
        let is_set_up = self.has(ServerMark::Port) || self.has(ServerMark::Regular);
        is_set_up && self.len() >= MIN_MARKS_INSIDE
    }
}

impl UnusualServerNotice {
    /// Whether the marks suffice without the fingerprint of the client, and the server is outside.
    pub(crate) fn is_strong(&self) -> bool {
        let client = ServerMarks::of(ServerMark::Client);
        is_public(self.server.ip()) && ServerMarks(self.marks.0 & !client.0).suffice(true)
    }
}

impl CertificateNames {
    fn new(fields: &CertificateFields) -> Self {
        let name = |name: &Option<Box<str>>| match name.as_deref() {
            Some("") => "(no name)".into(),
            Some(name) => start(name).into(),
            None => "(long name)".into(),
        };
        Self { subject: name(&fields.subject), issuer: name(&fields.issuer) }
    }
}

/// The start of a name, of a limited length.
fn start(name: &str) -> &str {
    let ends = (0..=MAX_NOTICE_NAME_BYTES.min(name.len())).rev();
    ends.into_iter().find_map(|end| name.get(..end)).unwrap_or_default()
}

impl Display for CertificateNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, issuer } = self;
        if subject == issuer {
            return write!(f, "{subject}, self-issued");
        }
        write!(f, "{subject}, issued by {issuer}")
    }
}

impl Display for UnusualServerNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "contacts {} by TLS without a server name", self.server)?;
        for (index, mark) in self.marks.iter().enumerate() {
            write!(f, "{}{mark}", if index == 0 { ": " } else { ", " })?;
        }
        match &self.certificate {
            Some(names) => write!(f, "; certificate {names}"),
            None => Ok(()),
        }
    }
}

impl Display for C2CertificateNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, program, certificate } = self;
        write!(f, "{server} has the default certificate of {program}: {certificate}")
    }
}

/// What a ServerHello or a certificate says of a TLS server over TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    /// Whether the connection is one of a client that [names no server](RequestFacts::is_nameless).
    pub(crate) is_nameless: bool,
    /// Whether the server selected TLS 1.0 or an earlier version.
    pub(crate) is_old: bool,
    /// Whether the version encrypts certificates.
    pub(crate) hides_certificate: bool,
    pub(crate) certificate: Option<CertificateFacts>,
}

/// What a certificate says of its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateFacts {
    pub(crate) program: Option<&'static str>,
    pub(crate) marks: ServerMarks,
    /// Whether the certificate explains why the server has no name.
    pub(crate) is_explained: bool,
    pub(crate) names: CertificateNames,
}

impl CertificateFacts {
    /// The facts of the certificate of a server. `None` without one that can be read, or if it is neither that of a C2 program nor
    /// wanted for a server without a name.
    pub(crate) fn new(certificate: Option<&Certificate>, is_nameless: bool) -> Option<Self> {
        Self::of_fields(certificate?.fields()?, is_nameless)
    }

    fn of_fields(fields: &CertificateFields, is_nameless: bool) -> Option<Self> {
        let program = known_servers::c2_program(fields);
        if program.is_none() && !is_nameless {
            return None;
        }
        let is_public = known_servers::has_public_issuer(fields);
        let (start, end) = (fields.not_before.seconds(), fields.not_after.seconds());
        let is_weak = fields.key.as_deref() == Some("RSA")
            && fields.key_bits.is_some_and(|bits| bits <= MAX_WEAK_KEY_BITS);
        let mut marks = ServerMarks::default();
        marks.add(ServerMark::Issuer, !is_public);
        marks.add(ServerMark::Placeholder, !is_public && known_servers::has_placeholder(fields));
        marks.add(ServerMark::Authority, fields.is_ca == Some(true) && !fields.is_self_issued);
        marks.add(ServerMark::Key, is_weak && start >= FIRST_WEAK_KEY_SECS);
        marks.add(ServerMark::Validity, end.saturating_sub(start) >= MIN_LONG_VALIDITY_SECS);
        let is_explained =
            is_public || known_servers::is_of_product(fields) || known_servers::is_of_tor(fields);
        Some(Self { program, marks, is_explained, names: CertificateNames::new(fields) })
    }
}

/// TLS servers that clients contact without a name.
#[derive(Debug)]
pub(super) struct Servers {
    pairs: ByProof<(ClientKey, SocketAddr), Pair>,
    /// Clients with connections of a browser.
    browsers: IdleMap<ClientKey, ()>,
    /// Clients and servers of reported C2 certificates, and whether they were reported with proof.
    c2: ByProof<(ClientKey, SocketAddr), ()>,
}

/// A client and a server.
#[derive(Debug)]
struct Pair {
    first_seen: Timestamp,
    connections: u32,
    /// Packets of the first connections.
    packets: Vec<u64>,
    marks: ServerMarks,
    certificate: Option<CertificateNames>,
    /// Whether the certificate was seen, or the version hides it.
    is_settled: bool,
    /// Whether something explains the server.
    is_explained: bool,
    /// Whether it was reported, and whether with strong marks and with proof.
    reported: Option<(bool, bool)>,
}

impl Pair {
    fn heap_bytes(&self) -> usize {
        let Some(names) = &self.certificate else { return 0 };
        let packets = MAX_NOTICE_PACKETS.saturating_mul(size_of::<u64>());
        names.subject.len().saturating_add(names.issuer.len()).saturating_add(packets)
    }
}

impl Servers {
    pub(super) fn new() -> Self {
        let limits = |max_entries| IdleLimits {
            max_entries,
            idle_timeout: Duration::from_secs(NOTICE_IDLE_SECS),
            max_buffered_bytes: MAX_SERVER_BYTES,
        };
        Self {
            pairs: ByProof::new(&limits(MAX_SERVERS)),
            browsers: IdleMap::new(&limits(MAX_BROWSER_CLIENTS)),
            c2: ByProof::new(&limits(MAX_SERVERS)),
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        let Self { pairs, browsers, c2 } = self;
        pairs.evicted().saturating_add(browsers.counters().evicted).saturating_add(c2.evicted())
    }

    /// Number of pairs, and of clients with a browser.
    #[cfg(test)]
    pub(super) fn entries(&self) -> (u64, u64) {
        (self.pairs.entries(), self.browsers.counters().entries)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Adds a ClientHello. `is_proven`: the handshake proves that the client sent it.
    pub(super) fn on_hello<K>(
        &mut self,
        event: &Event<K>,
        facts: &RequestFacts,
        is_proven: bool,
        now: Timestamp,
    ) {
        let client = client_of(event);
        if facts.is_browser && self.browsers.touch(&client, now).is_none() {
            self.browsers.insert(client, now, ());
        }
        let key = (client, event.flow.server);
        if !facts.is_nameless {
            // A name, or a browser, says what the server is.
            if let Some((_, pair)) = self.pairs.touch_mut(&key, now) {
                pair.is_explained |= facts.name.is_some() || facts.is_browser;
            }
            return;
        }
        if event.flow.server.ip().is_loopback() {
            return;
        }
        if is_proven {
            self.pairs.prove(key, now, Pair::heap_bytes);
        }
        let new = || {
            let mut marks = ServerMarks::default();
            marks.add(ServerMark::Port, !known_servers::is_tls_port(event.flow.server.port()));
            Pair {
                first_seen: event.ts,
                connections: 0,
                packets: Vec::new(),
                marks,
                certificate: None,
                is_settled: false,
                is_explained: false,
                reported: None,
            }
        };
        if let Some((_, pair)) = self.pairs.touch_or_insert(key, now, is_proven, new) {
            pair.connections = pair.connections.saturating_add(1);
            if pair.packets.len() < MAX_NOTICE_PACKETS {
                pair.packets.push(event.packet_number);
            }
        }
    }

    /// Adds a ServerHello or a certificate. `is_proven`: the handshake proves that neither side forged its address.
    pub(super) fn on_server<K>(
        &mut self,
        event: &Event<K>,
        facts: &ServerFacts,
        is_proven: bool,
        now: Timestamp,
        report: &mut dyn FnMut(Event<TrafficNotice>),
    ) {
        let key = (client_of(event), event.flow.server);
        let program = facts.certificate.as_ref().and_then(|found| Some((found.program?, &found.names)));
        if let Some((program, names)) = program {
            if let Some((_, pair)) = self.pairs.touch_mut(&key, now) {
                pair.is_explained = true;
            }
            // A forged handshake does not hide a later one.
            if let Some(is_update) = self.c2.note(key, now, is_proven) {
                let certificate = names.clone();
                let found = C2CertificateNotice { server: event.flow.server, program, certificate };
                let kind = TrafficNoticeKind::C2Certificate(found);
                let mut event = at_packet(event, kind, vec![event.packet_number]);
                event.kind.is_update = is_update;
                report(event);
            }
            return;
        }
        let Some((place, pair)) = self.pairs.touch_mut(&key, now).filter(|_| facts.is_nameless) else {
            return;
        };
        pair.is_settled |= facts.hides_certificate || facts.certificate.is_some();
        let secs = i64::try_from(event.ts.as_secs()).unwrap_or(i64::MAX);
        pair.marks.add(ServerMark::Version, facts.is_old && secs >= FIRST_OLD_VERSION_SECS);
        if let Some(CertificateFacts { marks, is_explained, names, .. }) = &facts.certificate {
            pair.marks = ServerMarks(pair.marks.0 | marks.0);
            pair.is_explained |= is_explained;
            pair.certificate = Some(names.clone());
            let heap_bytes = pair.heap_bytes();
            self.pairs.set_buffered_bytes(place, heap_bytes);
        }
        self.judge(event, is_proven, now, report);
    }

    /// Adds that the client contacts the server at regular intervals.
    pub(super) fn on_regular<K>(
        &mut self,
        event: &Event<K>,
        is_proven: bool,
        now: Timestamp,
        report: &mut dyn FnMut(Event<TrafficNotice>),
    ) {
        if let Some((_, pair)) = self.pairs.touch_mut(&(client_of(event), event.flow.server), now) {
            // Clients of some services connect at regular intervals.
            let has_service = service(None, event.flow.server.port(), None).is_some();
            pair.marks.add(ServerMark::Regular, !has_service);
            self.judge(event, is_proven, now, report);
        }
    }

    /// Reports the server of an event if its marks suffice, and again once they are strong or the event is proven.
    fn judge<K>(
        &mut self,
        event: &Event<K>,
        is_proven: bool,
        now: Timestamp,
        report: &mut dyn FnMut(Event<TrafficNotice>),
    ) {
        let (client, server) = (client_of(event), event.flow.server);
        let has_browser = self.browsers.touch(&client, now).is_some();
        let Some((_, pair)) = self.pairs.touch_mut(&(client, server), now) else { return };
        if pair.is_explained || !pair.is_settled {
            return;
        }
        let mut marks = pair.marks;
        // No browser is expected on the port of another service.
        let may_be_web = marks.has(ServerMark::Port) || matches!(server.port(), 443 | 8443);
        marks.add(ServerMark::Client, has_browser && may_be_web);
        if !marks.suffice(is_public(server.ip())) {
            return;
        }
        let Pair { connections, first_seen, .. } = *pair;
        let certificate = pair.certificate.clone();
        let found = UnusualServerNotice { server, marks, certificate, connections, first_seen };
        let before = pair.reported;
        let (was_strong, was_proven) = before.unwrap_or_default();
        let now_reported = Some((was_strong || found.is_strong(), was_proven || is_proven));
        if before == now_reported {
            return;
        }
        pair.reported = now_reported;
        let is_update = before.is_some();
        let mut event = at_packet(event, TrafficNoticeKind::UnusualServer(found), pair.packets.clone());
        event.kind.is_update = is_update;
        report(event);
    }
}
