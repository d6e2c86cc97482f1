//! What is learned about those who talk.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_db::{Database, Distance, HttpMatch, HttpParams, Label, TcpMatch, TcpParams};
use huginn_net_http::http2::Akamai;
use huginn_net_http::{HttpSignature, Request, Response, Role};
use huginn_net_ssh::SshPeer;
use huginn_net_tcp::{Clock, Mtu, TcpSignature};
use huginn_net_tls::{TlsClient, TlsServer};

use crate::hosts::Reasons;

pub use crate::system_check::SystemCheck;

/// Something learned from a flow, with the flow and the moment.
pub type Event = huginn_net_core::Event<Finding>;

/// What was learned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A SYN tells the operating system of a client, a SYN+ACK that of a server.
    Tcp(TcpFinding),
    /// The maximum segment size tells the kind of link.
    Mtu(MtuFinding),
    /// A request tells the browser, or whatever asks.
    HttpRequest(HttpRequestFinding),
    /// A response tells the server.
    HttpResponse(HttpResponseFinding),
    /// The identification string of an SSH client, and its HASSH.
    SshClient(SshPeer),
    /// The identification string of an SSH server, and its HASSHServer.
    SshServer(SshPeer),
    /// A ClientHello tells the TLS client, over TCP, QUIC or DTLS.
    TlsClient(TlsClient),
    /// A ServerHello tells what a TLS server chose.
    TlsServer(TlsServer),
    /// TCP timestamps tell for how long a system has been up.
    Uptime(UptimeFinding),
    /// A host is not what it was: something else may answer at its address now, or it was moved, or lies.
    HostChange(ChangeFinding),
    /// Several hosts share an address, as behind a router that translates addresses, a proxy or a load balancer.
    IpSharing(ChangeFinding),
}

/// A TCP/IP signature, and what the database says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpFinding {
    /// What was observed; its [`handshake`](TcpSignature::handshake) says whether in a SYN or a SYN+ACK.
    pub signature: TcpSignature,
    /// The entry of the database that it matches, if any.
    pub matched: Option<TcpMatch>,
    /// How far away the sender is.
    pub distance: Distance,
    /// Remarks on the match and the packet.
    pub params: TcpParams,
    /// Whether it is of a probe of p0f's tool `p0f-sendsyn`, or of the answer to one.
    pub sendsyn: bool,
}

impl TcpFinding {
    /// A signature and what the database says of it.
    pub fn new(signature: TcpSignature, matched: Option<TcpMatch>, sendsyn: bool) -> Self {
        let distance = matched.as_ref().map_or_else(|| Distance::guess(&signature), |found| found.distance);
        let params = TcpParams::from_signature(&signature, matched.as_ref());
        Self { signature, matched, distance, params, sendsyn }
    }

    /// The label that the database gives it, if any.
    pub fn label(&self) -> Option<&Label> {
        self.matched.as_ref().map(|found| &*found.label)
    }
}

/// A maximum transmission unit, and what the database says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MtuFinding {
    /// Bytes of the largest IP packet that the sender can take.
    pub mtu: Mtu,
    /// The kind of link that has this MTU, if known.
    pub link: Option<Arc<str>>,
}

/// For how long a system has been up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UptimeFinding {
    /// The clock that tells it; see [`Clock::uptime_minutes`].
    pub clock: Clock,
}

/// Why a host is thought to have changed, or to be several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeFinding {
    /// What speaks for it: of this packet for a change, of all since the last such finding for sharing.
    pub reasons: Reasons,
    /// How many of the latest 32 packets that count scored at least 6, 3, 2 and 1 points.
    pub hits: [u8; 4],
}

/// A request, and what the database says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequestFinding {
    /// Its head.
    pub request: Request,
    /// Which exchange of the connection it begins: counted from 0, or the stream of HTTP/2.
    pub exchange: u32,
    /// The fingerprint of the client, with HTTP/2.
    pub akamai: Option<Arc<Akamai>>,
    /// What its signature says.
    pub verdict: HttpVerdict,
}

/// A response, and what the database says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpResponseFinding {
    /// Its head.
    pub response: Response,
    /// Which exchange of the connection it belongs to: counted from 0, or the stream of HTTP/2.
    pub exchange: u32,
    /// What its signature says.
    pub verdict: HttpVerdict,
}

/// An HTTP signature, and what the database says of it.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpVerdict {
    /// What was observed.
    pub signature: HttpSignature,
    /// The entry of the database that it matches, if any.
    pub matched: Option<HttpMatch>,
    /// Remarks on the match and the head.
    pub params: HttpParams,
    /// What it says of its system, against what TCP says.
    pub system: SystemCheck,
    database: Arc<Database>,
}

impl HttpVerdict {
    pub(crate) fn new(
        signature: HttpSignature,
        matched: Option<HttpMatch>,
        system: Option<&Label>,
        database: &Arc<Database>,
    ) -> Self {
        let params = HttpParams::from_signature(&signature, matched.as_ref());
        let user_agent = signature.software().filter(|_| signature.role() == Role::Request);
        let software = matched.as_ref().map(|found| &*found.label);
        let system = SystemCheck::of(user_agent, software, system, database);
        Self { signature, matched, params, system, database: Arc::clone(database) }
    }

    /// The label that the database gives it, if any.
    pub fn label(&self) -> Option<&Label> {
        self.matched.as_ref().map(|found| &*found.label)
    }

    /// The signature as p0f prints it. Which values are cut depends on the names that the database has.
    pub fn raw_sig(&self) -> impl Display + '_ {
        self.signature.raw_sig(|name| self.database.contains_header_name(name))
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
