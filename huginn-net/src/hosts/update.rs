//! What flows tell of hosts.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use huginn_net_db::{HttpMatch, Label, TcpMatch};
use huginn_net_http::{HttpSignature, Role, language};
use huginn_net_tcp::{Clock, ClockReading, TcpSignature};
use huginn_net_tls::{ClientFamily, ClientHello, Ja4, Transport};

use super::clocks::P0fClock;
use super::server_header;
use crate::finding::{HttpVerdict, MtuFinding, SystemCheck};

/// What a flow tells [`Hosts`](crate::hosts::Hosts) of the host that is the event's subject.
#[derive(Clone, Debug)]
pub struct HostUpdate(pub(super) Update);

impl From<Update> for HostUpdate {
    fn from(update: Update) -> Self {
        Self(update)
    }
}

/// The kinds of notes.
#[derive(Clone, Debug)]
pub(crate) enum Update {
    /// A SYN or SYN+ACK.
    Tcp(TcpUpdate),
    /// A measured clock.
    Clock(Clock),
    /// A timestamp that p0f looks at.
    Timestamp(ClockReading, P0fClock),
    /// The head of a request or response.
    Http(HttpUpdate),
    /// The link; told for profiles alone.
    Mtu(MtuFinding),
    /// A ClientHello; told for profiles alone.
    TlsClient(TlsUpdate),
    /// A ServerHello; told for profiles alone.
    TlsServer,
}

/// A SYN or SYN+ACK, and what it was found to be.
#[derive(Clone, Debug)]
pub(crate) struct TcpUpdate {
    pub(crate) signature: TcpSignature,
    pub(crate) matched: Option<TcpMatch>,
    /// Where p0f's way is followed, the clocks of the connection.
    pub(crate) clock: Option<P0fClock>,
}

/// The head of a request or response, and what it was found to be.
#[derive(Clone, Debug)]
pub(crate) struct HttpUpdate {
    pub(crate) role: Role,
    /// Whether it came by way of another; told where it counts, and for profiles.
    pub(crate) forwarded: bool,
    /// What time it says that it is, in seconds since 1970; told where it counts.
    pub(crate) date: Option<i64>,
    pub(crate) matched: Option<HttpMatch>,
    pub(crate) system: SystemCheck,
    /// Whether p0f looks at it: the first of its direction, of a kind that p0f reads.
    pub(crate) counts: bool,
    /// Tells what it calls itself from what others do; told where it counts.
    pub(crate) software_hash: u64,
    /// The first bytes of its User-Agent or Server; told for profiles alone.
    pub(crate) software: Option<Box<[u8]>>,
    /// The language that it likes best; told for profiles alone.
    pub(crate) language: Option<Cow<'static, str>>,
    /// What TCP firmly says of who sent it, in the handshake of the same connection.
    pub(crate) tcp: Option<Arc<Label>>,
}

/// Bytes of a User-Agent or Server header that are remembered.
const MAX_SOFTWARE_LEN: usize = 256;

impl HttpUpdate {
    /// Without what is told for profiles alone.
    pub(crate) fn new(verdict: &HttpVerdict, counts: bool) -> Self {
        let HttpVerdict { signature, matched, system, .. } = verdict;
        let hash_software = || {
            let mut hasher = DefaultHasher::new();
            signature.software().hash(&mut hasher);
            hasher.finish()
        };
        Self {
            role: signature.role(),
            forwarded: counts && signature.is_forwarded(),
            date: if counts { signature.date() } else { None },
            software_hash: if counts { hash_software() } else { 0 },
            matched: matched.clone(),
            system: system.clone(),
            counts,
            software: None,
            language: None,
            tcp: None,
        }
    }

    /// With what is told for profiles alone.
    pub(crate) fn for_profile(
        self,
        verdict: &HttpVerdict,
        language: Option<Cow<'static, str>>,
        tcp: Option<Arc<Label>>,
    ) -> Self {
        let software =
            verdict.signature.software().map(|text| text.get(..MAX_SOFTWARE_LEN).unwrap_or(text).into());
        Self { forwarded: verdict.signature.is_forwarded(), software, language, tcp, ..self }
    }

    /// The system that its User-Agent or Server names, and by what text.
    pub(super) fn claimed(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        match self.role {
            Role::Request => self.system.claimed.as_ref().zip(self.system.text.as_ref()),
            Role::Response => server_header::system(self.software.as_deref()?),
        }
    }
}

/// The longest tag of a language that is remembered (RFC 5646, section 4.4.1).
const MAX_LANGUAGE_TAG_LEN: usize = 35;

/// The English name of a language, or its tag.
pub(crate) fn language_of(tag: &str) -> Cow<'static, str> {
    match language::name(tag) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(tag.get(..MAX_LANGUAGE_TAG_LEN).unwrap_or(tag).to_owned()),
    }
}

/// The English name of the language that p0f tells of a request.
pub(crate) fn p0f_language_of(signature: &HttpSignature) -> Option<Cow<'static, str>> {
    match signature.language() {
        "none" | "???" => None,
        name => Some(Cow::Borrowed(name)),
    }
}

/// A ClientHello.
#[derive(Clone, Debug)]
pub(crate) struct TlsUpdate {
    pub(crate) ja4: Ja4,
    pub(crate) transport: Transport,
    pub(crate) family: Option<ClientFamily>,
    /// What TCP firmly says of who sent it, in the handshake of the same connection.
    pub(crate) tcp: Option<Arc<Label>>,
}

impl TlsUpdate {
    pub(crate) fn new(hello: &ClientHello<'_>, tcp: Option<Arc<Label>>) -> Self {
        Self { ja4: hello.ja4(), transport: hello.transport(), family: hello.family(), tcp }
    }
}
