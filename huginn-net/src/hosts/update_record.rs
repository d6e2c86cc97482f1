//! Updates of hosts in a form that serde stores.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use huginn_net_core::{Event, FlowId, Side, Timestamp, TransportKind};
use huginn_net_db::Database;
use huginn_net_http::{Role, language};
use huginn_net_tcp::{Handshake, Mtu};
use serde::{Deserialize, Serialize};

use super::HostUpdate;
use super::known_servers::c2_program_named;
use super::progress::{Progress, ProgressUpdate};
use super::records::{
    ClaimRecord, ClockRecord, HostRecordError, LabelRecord, SignatureRecord, TransportRecord, TunnelRecord,
    family,
};
use super::update::{HttpUpdate, RequestFacts, SoftwareMatch, TcpUpdate, TlsUpdate, Update};
use super::{CertificateFacts, Observed, ServerFacts};
use crate::finding::{CertificateNames, ImitationNotice, MtuFinding, ServerMarks, SystemCheck};

/// An update of a host with its flow and time, in a form that serde stores and reads.
///
/// Records carry the updates of [`WithoutHosts`](super::WithoutHosts) from the processes that analyse flows to the one that
/// has the host table. Names of the database are stored as line numbers: the process that reads the records needs the same
/// database and the same version of this crate.
///
/// The order of records with equal time is that of their [packets](Self::packet_number), and for equal packets that in
/// which they were reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostUpdateRecord {
    ts_nanos: u64,
    ts_digits: u8,
    packet_number: u64,
    client: SocketAddr,
    server: SocketAddr,
    is_udp: bool,
    tunnel: Option<TunnelRecord>,
    of_server: bool,
    is_first: bool,
    is_proven: bool,
    update: UpdateRecord,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum UpdateRecord {
    /// The match follows from the signature. The number is the initial sequence number.
    Tcp(SignatureRecord, u32),
    Clock(ClockRecord),
    Http(Box<HttpRecord>),
    /// The link follows from the MTU.
    Mtu(u32),
    TlsClient {
        ja4: String,
        transport: TransportRecord,
        family: Option<String>,
        software: Option<String>,
        name: Option<Vec<u8>>,
        tcp: Option<LabelRecord>,
    },
    TlsServer,
    Request(Box<RequestFactsRecord>),
    Server(Box<ServerRecord>),
    Observed(Box<Observed>),
    Progress(Progress, bool),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RequestFactsRecord {
    name: Option<Vec<u8>>,
    user_agent: Option<Vec<u8>>,
    software: Option<String>,
    library: Option<String>,
    /// The claim, and what contradicts it.
    imitation: Option<(String, Vec<String>)>,
    random: Option<u64>,
    is_browser: bool,
    is_nameless: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ServerRecord {
    is_nameless: bool,
    is_old: bool,
    hides_certificate: bool,
    certificate: Option<CertificateRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct CertificateRecord {
    program: Option<String>,
    marks: u16,
    is_explained: bool,
    names: [String; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct HttpRecord {
    is_request: bool,
    forwarded: bool,
    /// The label, and what the header says about the software.
    matched: Option<(LabelRecord, ClaimRecord)>,
    claimed: Option<String>,
    text: Option<String>,
    claim_agrees: Option<bool>,
    agrees: Option<bool>,
    is_imitation: bool,
    software: Option<Vec<u8>>,
    name: Option<Vec<u8>>,
    language: Option<String>,
    tcp: Option<LabelRecord>,
    contact: Option<RequestFactsRecord>,
}

impl HostUpdateRecord {
    /// Creates the record of an update. `None` for updates that only [`Scope::P0f`](crate::Scope::P0f) has.
    pub fn new(event: &Event<HostUpdate>) -> Option<Self> {
        let Event { ts, packet_number, flow, subject, kind, .. } = event;
        Some(Self {
            ts_nanos: ts.as_nanos(),
            ts_digits: ts.digits(),
            packet_number: *packet_number,
            client: flow.client,
            server: flow.server,
            is_udp: flow.transport == TransportKind::Udp,
            tunnel: flow.tunnel.as_deref().map(TunnelRecord::new),
            of_server: *subject == Side::Server,
            is_first: kind.is_first,
            is_proven: kind.is_proven,
            update: UpdateRecord::new(&kind.update)?,
        })
    }

    /// Capture time of the packet, in nanoseconds since the Unix epoch.
    pub fn ts_nanos(&self) -> u64 {
        self.ts_nanos
    }

    /// Number of the packet in its capture, from 1.
    pub fn packet_number(&self) -> u64 {
        self.packet_number
    }

    /// Address and port of the host.
    pub fn host(&self) -> SocketAddr {
        if self.of_server { self.server } else { self.client }
    }

    /// Returns the update, for [`Hosts::on_update`](huginn_net_core::SharedState::on_update) of the [table](super::Hosts).
    ///
    /// # Errors
    /// The record comes from another database or another version.
    pub fn into_event(self, database: &Database) -> Result<Event<HostUpdate>, HostRecordError> {
        let transport = if self.is_udp { TransportKind::Udp } else { TransportKind::Tcp };
        let tunnel = self.tunnel.map(|tunnel| tunnel.path().map(Box::new)).transpose()?;
        let flow = FlowId::new(self.client, self.server, transport, tunnel);
        let ts = Timestamp::from_nanos(self.ts_nanos, self.ts_digits);
        let subject = if self.of_server { Side::Server } else { Side::Client };
        let update = HostUpdate {
            update: self.update.read(database)?,
            is_first: self.is_first,
            is_proven: self.is_proven,
        };
        Ok(Event::new(ts, self.packet_number, flow, subject, update))
    }
}

impl UpdateRecord {
    fn new(update: &Update) -> Option<Self> {
        Some(match update {
            Update::Tcp(TcpUpdate { signature, clock: None, isn, .. }) => {
                Self::Tcp(SignatureRecord::new(signature), *isn)
            }
            Update::Clock(clock) => Self::Clock(ClockRecord::new(*clock)),
            Update::Http(update) if !update.counts => Self::Http(Box::new(HttpRecord::new(update))),
            Update::Mtu(finding) => Self::Mtu(finding.mtu.0),
            Update::TlsClient(TlsUpdate { ja4, transport, family, software, name, tcp }) => Self::TlsClient {
                ja4: ja4.to_string(),
                transport: (*transport).into(),
                family: family.map(|family| family.name().to_owned()),
                software: software.as_deref().map(str::to_owned),
                name: name.as_deref().map(<[u8]>::to_vec),
                tcp: tcp.as_deref().map(LabelRecord::new),
            },
            Update::TlsServer => Self::TlsServer,
            Update::Request(contact) => Self::Request(Box::new(RequestFactsRecord::new(contact))),
            Update::Server(facts) => Self::Server(Box::new(ServerRecord::new(facts))),
            Update::Observed(found) => Self::Observed(found.clone()),
            Update::Progress(ProgressUpdate { step, by_tool }) => Self::Progress(*step, *by_tool),
            Update::Tcp(_) | Update::Http(_) | Update::Timestamp(..) => return None,
        })
    }

    fn read(self, database: &Database) -> Result<Update, HostRecordError> {
        Ok(match self {
            Self::Tcp(record, isn) => {
                let signature = record.read()?;
                let matched = match signature.handshake {
                    Handshake::Syn => database.match_syn(&signature),
                    Handshake::SynAck => database.match_syn_ack(&signature),
                };
                Update::Tcp(TcpUpdate { signature, matched, clock: None, isn })
            }
            Self::Clock(record) => Update::Clock(record.read()?),
            Self::Http(record) => Update::Http(Box::new(record.read(database)?)),
            Self::Mtu(bytes) => {
                let mtu = Mtu(bytes);
                Update::Mtu(MtuFinding { mtu, link: database.match_mtu(mtu).cloned() })
            }
            Self::TlsClient { ja4, transport, family: found, software, name, tcp } => {
                Update::TlsClient(TlsUpdate {
                    ja4: ja4.parse()?,
                    transport: transport.into(),
                    family: family(found)?,
                    software: software.map(String::into_boxed_str),
                    name: name.map(Vec::into_boxed_slice),
                    tcp: LabelRecord::read(tcp, database)?,
                })
            }
            Self::TlsServer => Update::TlsServer,
            Self::Request(record) => Update::Request(Box::new(record.read())),
            Self::Server(record) => Update::Server(Box::new(record.read())),
            Self::Observed(found) => Update::Observed(found),
            Self::Progress(step, by_tool) => Update::Progress(ProgressUpdate { step, by_tool }),
        })
    }
}

impl HttpRecord {
    fn new(update: &HttpUpdate) -> Self {
        let SystemCheck { claimed, text, claim_agrees, agrees } = &update.system;
        Self {
            is_request: update.role == Role::Request,
            forwarded: update.forwarded,
            matched: update
                .matched
                .as_ref()
                .map(|found| (LabelRecord::new(&found.label), found.claim.into())),
            claimed: claimed.as_deref().map(str::to_owned),
            text: text.as_deref().map(str::to_owned),
            claim_agrees: *claim_agrees,
            agrees: *agrees,
            is_imitation: update.is_imitation,
            software: update.software.as_deref().map(<[u8]>::to_vec),
            name: update.name.as_deref().map(<[u8]>::to_vec),
            language: update.language.as_deref().map(str::to_owned),
            tcp: update.tcp.as_deref().map(LabelRecord::new),
            contact: update.contact.as_deref().map(RequestFactsRecord::new),
        }
    }

    fn read(self, database: &Database) -> Result<HttpUpdate, HostRecordError> {
        let (label, claim) = self.matched.unzip();
        let label = LabelRecord::read(label, database)?;
        Ok(HttpUpdate {
            role: if self.is_request { Role::Request } else { Role::Response },
            forwarded: self.forwarded,
            date: None,
            matched: label.zip(claim).map(|(label, claim)| SoftwareMatch { label, claim: claim.into() }),
            system: SystemCheck {
                claimed: self.claimed.map(Arc::from),
                text: self.text.map(Arc::from),
                claim_agrees: self.claim_agrees,
                agrees: self.agrees,
            },
            is_imitation: self.is_imitation,
            counts: false,
            software: self.software.map(Vec::into_boxed_slice),
            name: self.name.map(Vec::into_boxed_slice),
            language: self.language.map(|text| match language::known(&text) {
                Some(name) => Cow::Borrowed(name),
                None => Cow::Owned(text),
            }),
            tcp: LabelRecord::read(self.tcp, database)?,
            contact: self.contact.map(|contact| Box::new(contact.read())),
        })
    }
}

impl RequestFactsRecord {
    fn new(contact: &RequestFacts) -> Self {
        let RequestFacts { name, user_agent, software, library, imitation, random, is_browser, is_nameless } =
            contact;
        Self {
            name: name.as_deref().map(<[u8]>::to_vec),
            user_agent: user_agent.as_deref().map(<[u8]>::to_vec),
            software: software.as_deref().map(str::to_owned),
            library: library.as_deref().map(str::to_owned),
            imitation: imitation.as_ref().map(|found| (found.claim.clone(), found.contradicts.clone())),
            random: *random,
            is_browser: *is_browser,
            is_nameless: *is_nameless,
        }
    }

    fn read(self) -> RequestFacts {
        let imitation =
            |(claim, contradicts): (String, Vec<String>)| Box::new(ImitationNotice { claim, contradicts });
        RequestFacts {
            name: self.name.map(Vec::into_boxed_slice),
            user_agent: self.user_agent.map(Vec::into_boxed_slice),
            software: self.software.map(Arc::from),
            library: self.library.map(Arc::from),
            imitation: self.imitation.map(imitation),
            random: self.random,
            is_browser: self.is_browser,
            is_nameless: self.is_nameless,
        }
    }
}

impl ServerRecord {
    fn new(facts: &ServerFacts) -> Self {
        let certificate = facts.certificate.as_ref().map(|found| CertificateRecord {
            program: found.program.map(str::to_owned),
            marks: found.marks.bits(),
            is_explained: found.is_explained,
            names: [&found.names.subject, &found.names.issuer].map(|name| name.to_string()),
        });
        let ServerFacts { is_nameless, is_old, hides_certificate, .. } = *facts;
        Self { is_nameless, is_old, hides_certificate, certificate }
    }

    fn read(self) -> ServerFacts {
        let Self { is_nameless, is_old, hides_certificate, certificate } = self;
        let certificate = certificate.map(|found| {
            let [subject, issuer] = found.names.map(String::into_boxed_str);
            CertificateFacts {
                program: found.program.as_deref().and_then(c2_program_named),
                marks: ServerMarks::from_bits(found.marks),
                is_explained: found.is_explained,
                names: CertificateNames { subject, issuer },
            }
        });
        ServerFacts { is_nameless, is_old, hides_certificate, certificate }
    }
}
