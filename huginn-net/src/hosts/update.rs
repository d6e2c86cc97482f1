//! Updates that flows send to the host table.

use std::borrow::Cow;
use std::sync::Arc;

use huginn_net_consistency::Consistency;
use huginn_net_core::{Quoted, Route};
use huginn_net_db::{ClientMatch, Label, SoftwareClaim, TcpMatch};
use huginn_net_http::{HttpSignature, Request, Role, language};
use huginn_net_tcp::{Clock, ClockReading, TcpSignature};
use huginn_net_tls::{ClientFamily, Ja4, Transport};
use serde::{Deserialize, Serialize};

use super::clocks::P0fClock;
use super::server_header;
use super::tools::Tools;
use super::{Observed, ServerFacts};
use super::{ProgressUpdate, asked_name, host_name};
use crate::Observation;
use crate::limits::MAX_SOFTWARE_LEN;
use crate::observation::{HttpVerdict, ImitationFinding, MtuObservation, SystemCheck, TlsClientObservation};

/// Maximum stored length of a language tag, in bytes (RFC 5646, section 4.4.1).
const MAX_LANGUAGE_TAG_LEN: usize = 35;

/// Output of the protocols: an observation for the sink, or an update of the host table.
pub(crate) type FlowOutput = Route<Observation, HostUpdate>;

/// An update of [`Hosts`](crate::hosts::Hosts) for the host that is the subject of the event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostUpdate {
    pub(super) update: Update,
    /// Whether it is the first one of the host in the connection; set only if profiles are enabled.
    pub(super) is_first: bool,
    /// Whether the handshake of the connection shows that neither side forged its address.
    pub(super) is_proven: bool,
}

impl HostUpdate {
    /// The update.
    pub(crate) fn update(&self) -> &Update {
        &self.update
    }

    /// Number of events that the host table may report for the update.
    pub(crate) fn max_conclusions(&self) -> u64 {
        match &self.update {
            Update::Tcp(_) => 1_u64.saturating_add(self.tool().is_some().into()),
            Update::Clock(_) | Update::Timestamp(..) => 1,
            Update::Http(update) if update.counts => 2,
            Update::Http(_)
            | Update::Mtu(_)
            | Update::TlsClient(_)
            | Update::TlsServer
            | Update::Request(_)
            | Update::Server(_)
            | Update::Observed(_)
            | Update::Progress(_) => 0,
        }
    }

    /// The tool that made the packet, which the host table may report beside a change.
    pub(crate) fn tool(&self) -> Option<&Label> {
        match &self.update {
            Update::Tcp(update) => {
                Some(&*update.matched.as_ref()?.label).filter(|label| Tools::names_tool(label))
            }
            _ => None,
        }
    }

    /// Whether only [`Scope::P0f`](crate::observers::Scope::P0f) has such updates.
    pub(super) fn is_of_p0f(&self) -> bool {
        match &self.update {
            Update::Tcp(update) => update.clock.is_some(),
            Update::Http(update) => update.counts,
            Update::Timestamp(..) => true,
            _ => false,
        }
    }

    /// The name that a hello or a request asks for.
    pub(super) fn name(&self) -> Option<&[u8]> {
        match &self.update {
            Update::Http(update) => update.name.as_deref(),
            Update::TlsClient(update) => update.name.as_deref(),
            _ => None,
        }
    }

    /// Whether the handshake of the connection shows that neither side forged its address.
    pub(crate) fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// Sets whether the handshake of the connection shows that neither side forged its address.
    pub(crate) fn set_proven(&mut self, is_proven: bool) {
        self.is_proven = is_proven;
    }

    /// Marks the first update of a host in a connection.
    pub(crate) fn set_first(&mut self) {
        self.is_first = true;
    }
}

impl From<Update> for HostUpdate {
    fn from(update: Update) -> Self {
        Self { update, is_first: false, is_proven: false }
    }
}

/// The kinds of updates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Update {
    /// A SYN or SYN+ACK.
    Tcp(TcpUpdate),
    /// A measured clock.
    Clock(Clock),
    /// A timestamp that p0f evaluates.
    #[serde(skip)]
    Timestamp(ClockReading, P0fClock),
    /// The head of a request or response.
    Http(Box<HttpUpdate>),
    /// The link; sent only if profiles are enabled.
    Mtu(MtuObservation),
    /// A ClientHello; sent only if profiles are enabled.
    TlsClient(TlsUpdate),
    /// A ServerHello; sent only if profiles are enabled.
    TlsServer,
    /// A ClientHello; sent only if findings are enabled.
    Request(Box<RequestFacts>),
    /// A ServerHello or a certificate of a TLS server without a name, or of a C2 program; sent only if findings
    /// are enabled.
    Server(Box<ServerFacts>),
    /// Values of an event; sent only if there is a baseline.
    Observed(Box<Observed>),
    /// What follows a SYN; sent only if findings are enabled, or a tool sent the SYN.
    Progress(ProgressUpdate),
}

/// A SYN or SYN+ACK, and its match.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TcpUpdate {
    pub(crate) signature: TcpSignature,
    #[serde(skip)]
    pub(crate) matched: Option<TcpMatch>,
    /// The clocks of the connection; present only in the scope of p0f.
    #[serde(skip)]
    pub(crate) clock: Option<P0fClock>,
    /// The initial sequence number.
    pub(crate) isn: u32,
}

/// The label of the sender of a head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SoftwareMatch {
    pub(crate) label: Arc<Label>,
    /// What the User-Agent or Server header says about the software.
    pub(crate) claim: SoftwareClaim,
}

/// The head of a request or response, and its match.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HttpUpdate {
    pub(crate) role: Role,
    /// Whether a proxy forwarded the head; set if `counts`, and for profiles.
    pub(crate) forwarded: bool,
    /// The Date header, in seconds since 1970; set only if `counts`.
    pub(crate) date: Option<i64>,
    pub(crate) matched: Option<SoftwareMatch>,
    pub(crate) system: SystemCheck,
    /// Whether the client is not the browser that the User-Agent claims.
    pub(crate) is_imitation: bool,
    /// Whether p0f scores the head; only in its scope.
    pub(crate) counts: bool,
    /// The first bytes of the User-Agent or Server header; sent only if profiles are enabled.
    pub(crate) software: Option<Box<[u8]>>,
    /// The preferred language; sent only if profiles are enabled.
    pub(crate) language: Option<Cow<'static, str>>,
    /// The name that a request asks for; sent only if profiles are enabled.
    pub(crate) name: Option<Box<[u8]>>,
    /// The firm system match of the sender, from the handshake of the same connection.
    pub(crate) tcp: Option<Arc<Label>>,
    /// What a request says of client and server; sent only if findings are enabled.
    pub(crate) contact: Option<Box<RequestFacts>>,
}

/// What a ClientHello or a request says of its client and its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestFacts {
    /// The server name or Host header, in lower case and without port, at most 255 bytes.
    pub(crate) name: Option<Box<[u8]>>,
    /// The first bytes of the User-Agent.
    pub(crate) user_agent: Option<Box<[u8]>>,
    /// The application that the fingerprint names.
    pub(crate) software: Option<Arc<str>>,
    /// The TLS library that the fingerprint names.
    pub(crate) library: Option<Arc<str>>,
    /// Why the client is not the software that it claims to be.
    pub(crate) imitation: Option<Box<ImitationFinding>>,
    /// A part of the random of a hello.
    pub(crate) random: Option<u64>,
    /// Whether a hello is that of a browser.
    pub(crate) is_browser: bool,
    /// Whether a hello begins a connection over TCP without the name of its server, and neither a browser nor another protocol
    /// than HTTP explains that.
    pub(crate) is_nameless: bool,
}

impl RequestFacts {
    /// The contact of a ClientHello.
    pub(crate) fn from_hello(observation: &TlsClientObservation) -> Self {
        let found = observation.software().map(|found| found.software);
        let imitation = found.as_deref().and_then(|software| {
            let imitation = software.imitation.as_ref()?;
            let fields: Vec<&str> = imitation.fields.iter().map(|field| field.name()).collect();
            Some(Box::new(ImitationFinding {
                claim: format!("TLS imitates {}", imitation.browser.name()),
                contradicts: vec![format!("these fields differ: {}", fields.join(", "))],
            }))
        });
        let hello = &observation.client.hello;
        let is_browser = imitation.is_none()
            && matches!(hello.family(), Some(ClientFamily::Chromium | ClientFamily::Firefox));
        let speaks_http = hello.alpn().all(|protocol| matches!(protocol, b"h2" | b"http/1.1" | b"http/1.0"));
        let is_nameless = hello.is_nameless()
            && hello.transport() == Transport::Tls
            && !(is_browser || observation.decrypted || observation.client.follows_other)
            && speaks_http;
        Self {
            name: hello.server_name().and_then(host_name),
            user_agent: None,
            software: found.as_deref().and_then(|software| software.application.clone()),
            library: found.as_deref().and_then(|software| software.library.clone()),
            imitation,
            random: hello.random().last_chunk().map(|bytes| u64::from_be_bytes(*bytes)),
            is_browser,
            is_nameless,
        }
    }

    /// The contact of a request. `imitation`: why the client is not the browser that it claims to be.
    pub(crate) fn from_request(
        request: &Request,
        verdict: &HttpVerdict,
        software: Option<&ClientMatch>,
        imitation: Option<&Consistency>,
    ) -> Self {
        let agrees = verdict.params.claim == SoftwareClaim::Agrees;
        let matched = verdict.matched.as_ref().filter(|found| agrees && found.label.is_tool());
        let by_settings = software.and_then(|found| found.software.application.clone());
        let imitation = imitation.and_then(|found| {
            let (claim, contradicts) = found.reasons.split_first()?;
            Some(Box::new(ImitationFinding {
                claim: claim.to_string(),
                contradicts: contradicts.iter().map(ToString::to_string).collect(),
            }))
        });
        let user_agent = request.user_agent();
        Self {
            name: request.host().and_then(host_name),
            user_agent: user_agent.map(|text| text.get(..Quoted::MAX_BYTES).unwrap_or(text).into()),
            software: matched.map(|found| Arc::clone(&found.label.name)).or(by_settings),
            library: None,
            imitation,
            random: None,
            is_browser: false,
            is_nameless: false,
        }
    }
}

impl HttpUpdate {
    /// Creates an update without the fields for profiles.
    pub(crate) fn new(verdict: &HttpVerdict, counts: bool) -> Self {
        let HttpVerdict { signature, matched, params, system, .. } = verdict;
        Self {
            role: signature.role(),
            forwarded: counts && signature.is_forwarded(),
            date: if counts { signature.date() } else { None },
            matched: matched
                .as_ref()
                .map(|found| SoftwareMatch { label: Arc::clone(&found.label), claim: params.claim }),
            system: system.clone(),
            is_imitation: false,
            counts,
            software: None,
            language: None,
            name: None,
            tcp: None,
            contact: None,
        }
    }

    /// Adds the fields for findings.
    pub(crate) fn for_findings(
        self,
        contact: RequestFacts,
        verdict: &HttpVerdict,
        tcp: Option<Arc<Label>>,
    ) -> Self {
        let forwarded = verdict.signature.is_forwarded();
        Self { forwarded, tcp, contact: Some(Box::new(contact)), ..self }
    }

    /// Adds the fields for profiles.
    pub(crate) fn for_profile(
        self,
        verdict: &HttpVerdict,
        language: Option<Cow<'static, str>>,
        name: Option<Box<[u8]>>,
        tcp: Option<Arc<Label>>,
    ) -> Self {
        let software =
            verdict.signature.software().map(|text| text.get(..MAX_SOFTWARE_LEN).unwrap_or(text).into());
        Self { forwarded: verdict.signature.is_forwarded(), software, language, name, tcp, ..self }
    }

    /// The system that the User-Agent or Server names, and the text that names it.
    pub(super) fn claimed(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        match self.role {
            Role::Request => self.system.claimed.as_ref().zip(self.system.text.as_ref()),
            Role::Response => server_header::system(self.software.as_deref()?),
        }
    }
}

/// The English name of a language, or its tag.
pub(crate) fn language_of(tag: &str) -> Cow<'static, str> {
    match language::name(tag) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(tag.get(..MAX_LANGUAGE_TAG_LEN).unwrap_or(tag).to_owned()),
    }
}

/// The English name of the language that p0f reports for a request.
pub(crate) fn p0f_language_of(signature: &HttpSignature) -> Option<Cow<'static, str>> {
    match signature.language() {
        "none" | "???" => None,
        name => Some(Cow::Borrowed(name)),
    }
}

/// A ClientHello.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TlsUpdate {
    pub(crate) ja4: Ja4,
    pub(crate) transport: Transport,
    pub(crate) family: Option<ClientFamily>,
    /// The software that the hello names, as text.
    pub(crate) software: Option<Box<str>>,
    /// The name that the hello asks for.
    pub(crate) name: Option<Box<[u8]>>,
    /// The firm system match of the sender, from the handshake of the same connection.
    pub(crate) tcp: Option<Arc<Label>>,
}

impl TlsUpdate {
    pub(crate) fn new(observation: &TlsClientObservation, tcp: Option<Arc<Label>>) -> Self {
        let hello = &observation.client.hello;
        let software = observation.software().map(|found| found.software.to_string().into());
        Self {
            ja4: hello.ja4(),
            transport: hello.transport(),
            family: hello.family(),
            software,
            name: hello.server_name().and_then(asked_name),
            tcp,
        }
    }
}
