//! Observations: what the analyzer reports to a sink, with what it concludes from them.

mod connection;
pub(crate) mod finding;
mod history;
mod own;
mod reasons;
pub(crate) mod span;
mod tool;
pub(crate) mod verdict;
mod watched;

use std::fmt::{self, Display};
use std::sync::{Arc, OnceLock};

pub use huginn_net_consistency::SystemCheck;
use huginn_net_consistency::{ConnectivityCheck, Consistency};
use huginn_net_core::{Conflict, Timestamp};
use huginn_net_db::{
    ClientDatabase, ClientMatch, Database, Distance, FuzzyReason, HttpMatch, HttpParams, Label,
    SoftwareClaim, SoftwareName, SystemName, TcpMatch, TcpParams,
};
use huginn_net_http::http2::Akamai;
use huginn_net_http::http3::Http3Fingerprint;
use huginn_net_http::{Header, HttpSignature, HttpVersion, Request, Response, Role};
use huginn_net_ssh::{Negotiation, SshPeer};
use huginn_net_tcp::{Mtu, TcpSignature, Uptime};
use huginn_net_tls::{CertificateRequest, TlsCertificates, TlsClient, TlsHandshake, TlsServer, Version};
use serde::{Deserialize, Serialize};

use crate::header_text::is_product_list;
use crate::scope::Scope;

pub use self::connection::{Connection, Traffic};
pub use self::finding::{
    BaselineType, BeaconFinding, BeaconService, BeaconTarget, BruteForceFinding, C2CertificateFinding,
    CertificateNames, ContradictionFinding, Finding, FindingKind, ImitationFinding, NewFingerprintFinding,
    ScanFinding, ScanRemark, ScanSegments, ScanTarget, ServerMark, ServerMarks, UnusualServerFinding,
};
pub use self::history::TcpHistory;
pub use self::own::{ConnectionEnd, IntoOwn, OwnEvent, OwnObservation};
pub(crate) use self::reasons::REASON_NAMES;
pub use self::reasons::Reasons;
pub use self::tool::ToolObservation;
pub(crate) use self::verdict::StaticText;
pub use self::watched::{IndicatorType, ListEntry, Match};
#[doc(hidden)]
pub use crate::text_limit::TextLimit;

/// Packets before 1995-01-01, in seconds since 1970, have the time of a clock that was not set: no version of SSL existed.
const FIRST_TLS_SECS: i64 = 788_918_400;

/// An observation with its flow and its time stamp.
pub type Event = huginn_net_core::Event<Observation>;

// A larger value is moved by a call of `memcpy`.
const _: () = assert!(size_of::<Observation>() <= 128);

/// What an event reports. The large ones are boxed: observations are moved often, and most are small.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observation {
    /// The TCP signature of a SYN (client) or SYN+ACK (server), matched against the operating systems of the database.
    Tcp(TcpObservation),
    /// An HTTP request and its match against the known clients.
    HttpRequest(Box<HttpRequestObservation>),
    /// An HTTP response and its match against the known servers.
    HttpResponse(Box<HttpResponseObservation>),
    /// The identification string of an SSH client, and its HASSH.
    SshClient(SshClientObservation),
    /// The identification string of an SSH server, and its HASSHServer.
    SshServer(SshServerObservation),
    /// The algorithms that SSH client and server agree on.
    SshHandshake(Box<SshHandshakeObservation>),
    /// The fingerprints of a ClientHello, over TCP, QUIC or DTLS.
    TlsClient(Box<TlsClientObservation>),
    /// The fingerprints of a ServerHello.
    TlsServer(TlsServerObservation),
    /// The end of a handshake of TLS over TCP, or of DTLS; of QUIC if it is decrypted, or if a side closes the connection before the
    /// ServerHello. Only with [`Configure::handshakes`](crate::Configure::handshakes).
    TlsHandshake(Box<TlsHandshakeObservation>),
    /// The certificates of a side of a handshake over TCP up to TLS 1.2, or of DTLS up to 1.2; of TLS 1.3, over TCP and in QUIC, if
    /// they are decrypted. Only with [`Configure::handshakes`](crate::Configure::handshakes).
    TlsCertificates(Box<TlsCertificatesObservation>),
    /// The uptime of a host, from its TCP timestamps.
    Uptime(UptimeObservation),
    /// A change of the fingerprint of a host: another host may have its address now, it may have moved, or its headers may be forged.
    HostChange(ChangeObservation),
    /// Several hosts share an address, for example behind NAT, a proxy or a load balancer.
    IpSharing(ChangeObservation),
    /// A request in cleartext whose headers, HTTP/2 settings or system are not those of the browser that it claims. The
    /// [outcome](Consistency::outcome) is proxy, unexplained or imitation. One for each connection, and another one for a
    /// later outcome in this order.
    Mismatch(Consistency),
    /// A side sent different contents for the same bytes of a stream. The events of the second content name the same
    /// reason.
    Conflict(ConflictObservation),
    /// A tool that sends packets of its own, a scanner or a packet maker; after 1, 10, 100, 1000 SYNs and so on.
    Tool(Box<ToolObservation>),
    /// A conclusion from several connections of a client: a scan, a beacon, a contradiction or an imitation, only with
    /// [`Configure::findings`](crate::Configure::findings); or what a baseline lacks, only with
    /// [`Configure::baseline`](crate::Configure::baseline).
    Finding(Box<Finding>),
    /// A connection that ended; only with [`Configure::connections`](crate::Configure::connections).
    Connection(Box<Connection>),
    /// A value of the event before it that a list watches; only with [`Configure::watch_lists`](crate::Configure::watch_lists).
    Match(Box<Match>),
    /// An event of a protocol of the caller's own, with [`Configure::with`](crate::Configure::with), or a [`ConnectionEnd`], with
    /// [`Configure::connection_ends`](crate::Configure::connection_ends).
    Own(Box<OwnObservation>),
}

impl Observation {
    /// The length limit of the texts that an event with this observation reports. The observation itself has all of them.
    pub fn text_limit(&self) -> TextLimit {
        match self {
            Self::HttpRequest(observation) => observation.verdict.text_limit,
            Self::HttpResponse(observation) => observation.verdict.text_limit,
            Self::TlsClient(observation) => observation.clients.text_limit,
            Self::TlsServer(observation) => observation.clients.text_limit,
            Self::TlsHandshake(observation) => observation.text_limit,
            Self::TlsCertificates(observation) => observation.text_limit,
            Self::SshClient(observation) => observation.clients.text_limit,
            Self::SshServer(observation) => observation.clients.text_limit,
            Self::SshHandshake(observation) => observation.text_limit,
            Self::Match(observation) => observation.text_limit,
            // Other kinds have no long texts.
            _ => TextLimit::NONE,
        }
    }

    /// The entries of [watch lists](crate::Configure::watch_lists) with a value of the observation, in their order. `None` without
    /// lists, and for other observations than those of TLS hellos, SSH peers and HTTP requests.
    pub fn listed(&self) -> Option<&[ListEntry]> {
        match self {
            Self::HttpRequest(observation) => observation.clients.listed(),
            Self::TlsClient(observation) => observation.clients.listed(),
            Self::TlsServer(observation) => observation.clients.listed(),
            Self::SshClient(observation) => observation.clients.listed(),
            Self::SshServer(observation) => observation.clients.listed(),
            _ => None,
        }
    }

    /// Sets the entries of watch lists.
    pub(crate) fn set_listed(&mut self, entries: &[ListEntry]) {
        let clients = match self {
            Self::HttpRequest(observation) => &mut observation.clients,
            Self::TlsClient(observation) => &mut observation.clients,
            Self::TlsServer(observation) => &mut observation.clients,
            Self::SshClient(observation) => &mut observation.clients,
            Self::SshServer(observation) => &mut observation.clients,
            _ => return,
        };
        clients.listed = Some(entries.into());
    }
}

/// A TCP/IP signature and its match in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpObservation {
    /// The observed signature; its [`handshake`](TcpSignature::handshake) distinguishes SYN and SYN+ACK.
    pub signature: TcpSignature,
    /// The matching database entry, if any.
    pub matched: Option<TcpMatch>,
    /// The distance of the sender, in hops.
    pub distance: Distance,
    /// Remarks on the match and the packet.
    pub params: TcpParams,
    /// Whether the packet is a probe of p0f's tool `p0f-sendsyn`, or the answer to one.
    pub sendsyn: bool,
    /// The MTU and the link type of the sender; absent for tools, whose MSS describes no link.
    pub link: Option<MtuObservation>,
}

impl TcpObservation {
    /// Creates an observation from a signature and its match.
    pub fn new(signature: TcpSignature, matched: Option<TcpMatch>, sendsyn: bool) -> Self {
        let distance = matched.as_ref().map_or_else(|| Distance::guess(&signature), |found| found.distance);
        let params = TcpParams::from_signature(&signature, matched.as_ref());
        Self { signature, matched, distance, params, sendsyn, link: None }
    }

    /// The label of the matching database entry, if any.
    pub fn label(&self) -> Option<&Label> {
        self.matched.as_ref().map(|found| &*found.label)
    }

    /// Why the match is fuzzy, if it is.
    pub fn fuzzy_reason(&self) -> Option<FuzzyReason> {
        self.matched.as_ref()?.fuzzy
    }

    /// The name of the system without its flavor. `None` without a match, and for a tool.
    pub fn system(&self) -> Option<SystemName<&str>> {
        let found = self.matched.as_ref().filter(|found| !found.label.is_tool())?;
        Some(found.named(&found.label.name))
    }
}

/// A maximum transmission unit (MTU) and its link type in the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MtuObservation {
    /// Size of the largest IP packet that the sender accepts, in bytes.
    pub mtu: Mtu,
    /// The link type with this MTU, if the database has one.
    #[serde(skip)]
    pub link: Option<Arc<str>>,
}

impl MtuObservation {
    /// Whether the MTU has several common causes: the database joins them with "or".
    pub fn has_several_causes(&self) -> bool {
        self.link.as_deref().is_some_and(|link| link.contains(" or "))
    }
}

/// Writes link and MTU: `Ethernet 1500`, `MTU 1234`, or all common causes: `MTU 1420: WireGuard, mobile network or clamped
/// MSS`.
impl Display for MtuObservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mtu, link } = self;
        match link {
            Some(link) if self.has_several_causes() => write!(f, "MTU {mtu}: {link}"),
            Some(link) => write!(f, "{link} {mtu}"),
            None => write!(f, "MTU {mtu}"),
        }
    }
}

/// Two contents for the same bytes of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConflictObservation {
    /// What distinguishes the packets of the two contents.
    pub conflict: Conflict,
    /// Numbers of the packets with the two contents, as far as they are known.
    pub packets: Vec<u64>,
    /// Whether the handshake shows that neither side forged its address.
    pub is_proven: bool,
}

impl ConflictObservation {
    pub(crate) fn new(conflict: Conflict, other_packet: Option<u64>) -> Self {
        Self { conflict, packets: other_packet.into_iter().collect(), is_proven: false }
    }

    /// Adds the packet of the event.
    pub(crate) fn complete(&mut self, packet_number: u64, is_proven: bool) {
        self.is_proven = is_proven;
        if !self.packets.contains(&packet_number) {
            self.packets.push(packet_number);
            self.packets.sort_unstable();
        }
    }
}

/// The uptime of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UptimeObservation {
    /// The uptime, with the clock that shows it.
    pub uptime: Uptime,
}

/// Evidence that another host has the address, or that several hosts share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ChangeObservation {
    /// Handshakes of the address name two systems exactly.
    Systems {
        /// The system before.
        from: Arc<str>,
        /// The system of this packet.
        to: Arc<str>,
    },
    /// The scores of p0f, which only [`Scope::P0f`] has.
    Scores {
        /// The reasons: for a change those of this packet, for sharing those of all packets since the last such report.
        reasons: Reasons,
        /// How many of the last 32 packets that were compared with this host, as client or as server, have at least 6, 3, 2 and 1
        /// points: one with 6 counts in all four. More than 2, 4, 6 or 8 mean a shared address.
        hits: [u8; 4],
    },
}

impl ChangeObservation {
    /// A change in words: `Windows now, Linux before`.
    pub fn change_in_words(&self) -> String {
        match self {
            Self::Systems { from, to } => format!("{to} now, {from} before"),
            Self::Scores { reasons, .. } => reasons.to_string(),
        }
    }

    /// Sharing in words: `Linux and Windows share the address`.
    pub fn sharing_in_words(&self) -> String {
        match self {
            Self::Systems { from, to } => format!("{from} and {to} share the address"),
            Self::Scores { reasons, .. } => reasons.to_string(),
        }
    }
}

/// The database that names clients, the entries of watch lists, and the limit of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    /// The database, if it is not the built-in one, which is parsed when the first client is named.
    pub(crate) database: Option<Arc<ClientDatabase>>,
    /// The entries of watch lists, if there are lists.
    pub(crate) listed: Option<Box<[ListEntry]>>,
    pub(crate) text_limit: TextLimit,
}

/// Always equal: an observation is what was seen, whatever names it.
impl PartialEq for Clients {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Clients {}

impl Clients {
    pub(crate) fn listed(&self) -> Option<&[ListEntry]> {
        self.listed.as_deref()
    }

    pub(crate) fn get(&self) -> &ClientDatabase {
        self.database.as_deref().unwrap_or_else(|| ClientDatabase::builtin())
    }
}

/// A TLS client, and the database of clients that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsClientObservation {
    /// The ClientHello.
    pub client: TlsClient,
    /// Whether it was sent through an encrypted connection, and read with a logged secret.
    pub decrypted: bool,
    pub(crate) clients: Clients,
    software: NamedOnce,
}

/// What a database named before. Always equal, as a database is.
#[derive(Clone, Debug, Default)]
struct NamedOnce(OnceLock<Option<ClientMatch>>);

impl PartialEq for NamedOnce {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NamedOnce {}

impl TlsClientObservation {
    pub(crate) fn new(client: TlsClient, decrypted: bool, clients: &Clients) -> Self {
        Self { client, decrypted, clients: clients.clone(), software: NamedOnce::default() }
    }

    /// Names the software that sent the hello. Later calls return the same without another search.
    pub fn software(&self) -> Option<ClientMatch> {
        let search = || self.clients.get().match_hello(&self.client.hello);
        self.software.0.get_or_init(search).clone()
    }
}

/// A TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsServerObservation {
    /// The ServerHello.
    pub server: TlsServer,
    /// Whether it was sent through an encrypted connection, and read with a logged secret.
    pub decrypted: bool,
    pub(crate) clients: Clients,
}

impl TlsServerObservation {
    pub(crate) fn new(server: TlsServer, decrypted: bool, clients: &Clients) -> Self {
        Self { server, decrypted, clients: clients.clone() }
    }
}

/// The end of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsHandshakeObservation {
    /// What its records show.
    pub handshake: TlsHandshake,
    /// Whether a part of it was sent encrypted, and read with a logged secret.
    pub decrypted: bool,
    pub(crate) text_limit: TextLimit,
}

impl TlsHandshakeObservation {
    /// Whether the server asks for a certificate of the client. `None` if that is encrypted, as in TLS 1.3, and was not decrypted,
    /// or if an alert ended the handshake before the last message of the server.
    pub fn requests_certificate(&self) -> Option<bool> {
        let TlsHandshake { certificate_request, version, server_is_done, decrypted, .. } = &self.handshake;
        let is_visible = *decrypted
            || matches!(
                (*version)?,
                Version::SSL_3
                    | Version::TLS_1_0
                    | Version::TLS_1_1
                    | Version::TLS_1_2
                    | Version::DTLS_1_0
                    | Version::DTLS_1_2
            );
        (is_visible && (certificate_request.is_some() || *server_is_done))
            .then_some(certificate_request.is_some())
    }

    /// The request for a certificate of the client, if the server sent one in the clear, or it was decrypted, and it can be read.
    pub fn certificate_request(&self) -> Option<CertificateRequest<'_>> {
        let TlsHandshake { certificate_request, version, .. } = &self.handshake;
        CertificateRequest::from_body(certificate_request.as_deref()?, (*version)?).ok()
    }
}

/// The certificates of a side of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsCertificatesObservation {
    /// The certificates, that of the sender first.
    pub certificates: TlsCertificates,
    /// Whether they were sent encrypted, and read with a logged secret.
    pub decrypted: bool,
    pub(crate) text_limit: TextLimit,
}

impl TlsCertificatesObservation {
    /// Whether the first certificate of a server is for the server name that the client asked for, see
    /// [`Certificate::matches_name`](huginn_net_tls::Certificate::matches_name). `None` for a client, without a name in the
    /// ClientHello, and if the certificate cannot be read.
    pub fn name_matches(&self) -> Option<bool> {
        let TlsCertificates { certificates, server_name, .. } = &self.certificates;
        certificates.first()?.matches_name(server_name.as_deref()?)
    }

    /// Whether the first certificate is valid at a time. `None` if it cannot be read, or if the time is that of a clock that was not
    /// set: before 1995, when TLS did not exist.
    pub fn is_valid_at(&self, ts: Timestamp) -> Option<bool> {
        let seconds = i64::try_from(ts.as_secs()).unwrap_or(i64::MAX);
        self.certificates.certificates.first().filter(|_| seconds >= FIRST_TLS_SECS)?.is_valid_at(seconds)
    }
}

/// An SSH server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SshServerObservation {
    /// The identification string and the algorithms.
    pub peer: SshPeer,
    pub(crate) clients: Clients,
}

impl SshServerObservation {
    pub(crate) fn new(peer: SshPeer, clients: &Clients) -> Self {
        Self { peer, clients: clients.clone() }
    }
}

/// The algorithms that the sides of an SSH connection agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SshHandshakeObservation {
    /// The algorithms.
    pub negotiation: Negotiation<'static>,
    text_limit: TextLimit,
}

impl SshHandshakeObservation {
    pub(crate) fn new(negotiation: Negotiation<'static>, clients: &Clients) -> Self {
        Self { negotiation, text_limit: clients.text_limit }
    }
}

/// An SSH client, and the database of clients that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SshClientObservation {
    /// The identification string and the algorithms.
    pub peer: SshPeer,
    pub(crate) clients: Clients,
}

impl SshClientObservation {
    pub(crate) fn new(peer: SshPeer, clients: &Clients) -> Self {
        Self { peer, clients: clients.clone() }
    }

    /// Names the software by its HASSH.
    pub fn software(&self) -> Option<ClientMatch> {
        self.clients.get().match_hassh(self.peer.hassh_algorithms()?.hash().0)
    }
}

/// An HTTP request and its match in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequestObservation {
    /// The request head.
    pub request: Request,
    /// Index of the exchange in the connection, from 0; the stream identifier with HTTP/2 and HTTP/3.
    pub exchange: u32,
    /// Whether it was sent encrypted, and read with a logged secret.
    pub decrypted: bool,
    /// The Akamai fingerprint of the client; HTTP/2 only.
    pub akamai: Option<Arc<Akamai>>,
    /// The software with this fingerprint of HTTP/2 or HTTP/3.
    pub software: Option<ClientMatch>,
    /// The fingerprint of the client; HTTP/3 only, and if its settings were captured.
    pub http3: Option<Arc<Http3Fingerprint>>,
    /// The signature and its match.
    pub verdict: HttpVerdict,
    pub(crate) clients: Clients,
}

/// An HTTP response and its match in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpResponseObservation {
    /// The response head.
    pub response: Response,
    /// Index of the exchange in the connection, from 0; the stream identifier with HTTP/2.
    pub exchange: u32,
    /// Whether it was sent encrypted, and read with a logged secret.
    pub decrypted: bool,
    /// The signature and its match.
    pub verdict: HttpVerdict,
}

/// An HTTP signature and its match in the database.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpVerdict {
    /// The observed signature.
    pub signature: HttpSignature,
    /// The matching database entry, if any.
    pub matched: Option<HttpMatch>,
    /// Remarks on the match and the head.
    pub params: HttpParams,
    /// The operating system that the head claims, compared with the system that TCP shows.
    pub system: SystemCheck,
    text_limit: TextLimit,
    database: Arc<Database>,
}

impl HttpVerdict {
    pub(crate) fn new(
        signature: HttpSignature,
        matched: Option<HttpMatch>,
        check: Option<ConnectivityCheck>,
        system: Option<&Label>,
        database: &Arc<Database>,
        scope: Scope,
        text_limit: TextLimit,
    ) -> Self {
        let params = match scope {
            Scope::Full => HttpParams::from_signature(&signature, matched.as_ref()),
            Scope::P0f => HttpParams::as_p0f(&signature, matched.as_ref()),
        };
        let user_agent = signature.software().filter(|_| signature.role() == Role::Request);
        let system = match scope {
            Scope::Full => SystemCheck::compare_evidence(
                &signature,
                user_agent,
                check,
                matched.as_ref(),
                system,
                database,
            ),
            Scope::P0f => {
                let software = matched.as_ref().map(|found| &*found.label);
                SystemCheck::compare(user_agent, software, system, database)
            }
        };
        Self { signature, matched, params, system, text_limit, database: Arc::clone(database) }
    }

    /// The label of the matching database entry, if any.
    pub fn label(&self) -> Option<&Label> {
        self.matched.as_ref().map(|found| &*found.label)
    }

    /// The name of the software, with a remark if the User-Agent or Server header is not that of the software.
    pub fn name(&self) -> Option<SoftwareName<&Label>> {
        Some(self.matched.as_ref()?.name(self.signature.role()))
    }

    /// The name of the software without its version, with that remark.
    pub fn software(&self) -> Option<SoftwareName<&str>> {
        let found = self.matched.as_ref()?;
        Some(found.named(&found.label.name, self.signature.role()))
    }

    /// The User-Agent or Server header, if it belongs beside the [name](Self::name): it is not that of the software, or has
    /// parts that no software sends, such as an attack.
    pub fn contradicting_text(&self) -> Option<&[u8]> {
        let is_agreed = self.params.claim == SoftwareClaim::Agrees;
        self.signature.software().filter(|text| !is_agreed || !is_product_list(text))
    }

    /// The signature as p0f prints it. The names in the database decide which values are cut.
    pub fn raw_sig(&self) -> impl Display + '_ {
        self.signature.raw_sig(|name| self.database.contains_header_name(name))
    }

    /// Appends the text of [`raw_sig`](Self::raw_sig).
    pub(crate) fn write_raw_sig(&self, out: &mut Vec<u8>) {
        self.signature.write_raw_sig(|name| self.database.contains_header_name(name), out);
    }

    /// Whether [`raw_sig`](Self::raw_sig) may have more than `max` bytes.
    pub(crate) fn may_exceed(&self, max: usize) -> bool {
        let headers = self.signature.headers();
        let software = self.signature.software().map_or(0, <[u8]>::len);
        // A byte of a name may be escaped as `\xNN`. Names of absent headers have at most 96 bytes; the rest are signs.
        let signs = headers.len().saturating_mul(5).saturating_add(software).saturating_add(200);
        let len = if self.signature.version() >= HttpVersion::Http2 {
            // Several headers may share a text.
            let len_of =
                |header: Header<'_>| header.name.len().saturating_mul(4).saturating_add(header.value().len());
            headers.iter().map(len_of).fold(0, usize::saturating_add)
        } else {
            headers.text().len().saturating_mul(4)
        };
        len.saturating_add(signs) > max
    }
}

impl PartialEq for HttpVerdict {
    fn eq(&self, other: &Self) -> bool {
        (&self.signature, &self.matched) == (&other.signature, &other.matched)
    }
}

impl Eq for HttpVerdict {}

impl fmt::Debug for HttpVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpVerdict")
            .field("signature", &self.signature)
            .field("matched", &self.matched)
            .finish_non_exhaustive()
    }
}
