//! Updates of hosts in a form that serde stores.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use huginn_net_core::{Event, FlowId, Side, Timestamp, TransportKind, TunnelPath};
use huginn_net_db::{Database, Label, SoftwareClaim};
use huginn_net_http::{Role, language};
use huginn_net_tcp::{Clock, ClockReading, Handshake, Mtu, ParseError, TcpSignature};
use huginn_net_tls::{ClientFamily, Ja4ParseError, Transport};
use serde::{Deserialize, Serialize};

use super::HostUpdate;
use super::update::{HttpUpdate, RequestFacts, SoftwareMatch, TcpUpdate, TlsUpdate, Update};
use crate::finding::{ImitationNotice, MtuFinding, SystemCheck};
use crate::notices::Fingerprint;

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
    update: UpdateRecord,
}

/// The reason why a record cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostUpdateRecordError {
    /// The database has no label with this name at this line.
    #[error("the database has no label {name:?} at line {line}: the record comes from another one")]
    Label {
        /// The line.
        line: u32,
        /// The name.
        name: String,
    },
    /// The TCP signature is invalid.
    #[error("TCP signature: {0}")]
    Signature(#[from] ParseError),
    /// The JA4 is invalid.
    #[error("JA4: {0}")]
    Ja4(#[from] Ja4ParseError),
    /// The family of TLS clients is unknown.
    #[error("no family of TLS clients has the name {0:?}")]
    Family(String),
    /// The reading of the clock has no value, or no clock has its frequency.
    #[error("a clock without a value, or with a frequency that no clock has")]
    Clock,
    /// The tunnel has an invalid layer, or too many.
    #[error("no tunnel has {0:?}")]
    Tunnel(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TunnelRecord {
    layers: Vec<String>,
    key_word: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum UpdateRecord {
    /// The match follows from the signature.
    Tcp(SignatureRecord),
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
    Fingerprint(Box<Fingerprint>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RequestFactsRecord {
    name: Option<Vec<u8>>,
    user_agent: Option<Vec<u8>>,
    software: Option<String>,
    library: Option<String>,
    /// The claim, and what contradicts it.
    imitation: Option<(String, Vec<String>)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SignatureRecord {
    /// `raw_sig`.
    text: String,
    is_syn_ack: bool,
    // The text may have a multiple instead of the window, which may be one of the peer's segment size.
    window: u16,
    has_multiple: bool,
    traffic_class: u8,
    timestamp: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ClockRecord {
    value: u32,
    at_millis: u64,
    ticks: u32,
    millis: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum ClaimRecord {
    Agrees,
    Custom,
    Dishonest,
}

impl From<SoftwareClaim> for ClaimRecord {
    fn from(claim: SoftwareClaim) -> Self {
        match claim {
            SoftwareClaim::Agrees => Self::Agrees,
            SoftwareClaim::Custom => Self::Custom,
            SoftwareClaim::Dishonest => Self::Dishonest,
        }
    }
}

impl From<ClaimRecord> for SoftwareClaim {
    fn from(claim: ClaimRecord) -> Self {
        match claim {
            ClaimRecord::Agrees => Self::Agrees,
            ClaimRecord::Custom => Self::Custom,
            ClaimRecord::Dishonest => Self::Dishonest,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct HttpRecord {
    is_request: bool,
    forwarded: bool,
    date: Option<i64>,
    /// The label, and what the header says about the software.
    matched: Option<(LabelRecord, ClaimRecord)>,
    claimed: Option<String>,
    text: Option<String>,
    claim_agrees: Option<bool>,
    agrees: Option<bool>,
    is_imitation: bool,
    counts: bool,
    software_hash: u64,
    software: Option<Vec<u8>>,
    name: Option<Vec<u8>>,
    language: Option<String>,
    tcp: Option<LabelRecord>,
    contact: Option<RequestFactsRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum TransportRecord {
    Tcp,
    Quic,
    Dtls,
}

/// A label of the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LabelRecord {
    line: u32,
    name: String,
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
    pub fn into_event(self, database: &Database) -> Result<Event<HostUpdate>, HostUpdateRecordError> {
        let transport = if self.is_udp { TransportKind::Udp } else { TransportKind::Tcp };
        let tunnel = self.tunnel.map(|tunnel| tunnel.path().map(Box::new)).transpose()?;
        let flow = FlowId::new(self.client, self.server, transport, tunnel);
        let ts = Timestamp::from_nanos(self.ts_nanos, self.ts_digits);
        let subject = if self.of_server { Side::Server } else { Side::Client };
        let update = HostUpdate { update: self.update.read(database)?, is_first: self.is_first };
        Ok(Event::new(ts, self.packet_number, flow, subject, update))
    }
}

impl UpdateRecord {
    fn new(update: &Update) -> Option<Self> {
        Some(match update {
            Update::Tcp(TcpUpdate { signature, clock: None, .. }) => {
                Self::Tcp(SignatureRecord::new(signature))
            }
            Update::Clock(Clock { reading, ticks, millis }) => {
                let ClockReading { value, at_millis, .. } = *reading;
                Self::Clock(ClockRecord { value, at_millis, ticks: *ticks, millis: *millis })
            }
            Update::Http(update) => Self::Http(Box::new(HttpRecord::new(update))),
            Update::Mtu(finding) => Self::Mtu(finding.mtu.0),
            Update::TlsClient(TlsUpdate { ja4, transport, family, software, name, tcp }) => Self::TlsClient {
                ja4: ja4.to_string(),
                transport: match transport {
                    Transport::Tcp => TransportRecord::Tcp,
                    Transport::Quic => TransportRecord::Quic,
                    Transport::Dtls => TransportRecord::Dtls,
                },
                family: family.map(|family| family.name().to_owned()),
                software: software.as_deref().map(str::to_owned),
                name: name.as_deref().map(<[u8]>::to_vec),
                tcp: tcp.as_deref().map(LabelRecord::new),
            },
            Update::TlsServer => Self::TlsServer,
            Update::Request(contact) => Self::Request(Box::new(RequestFactsRecord::new(contact))),
            Update::Fingerprint(found) => Self::Fingerprint(found.clone()),
            Update::Tcp(_) | Update::Timestamp(..) => return None,
        })
    }

    fn read(self, database: &Database) -> Result<Update, HostUpdateRecordError> {
        Ok(match self {
            Self::Tcp(record) => {
                let signature = record.read()?;
                let matched = match signature.handshake {
                    Handshake::Syn => database.match_syn(&signature),
                    Handshake::SynAck => database.match_syn_ack(&signature),
                };
                Update::Tcp(TcpUpdate { signature, matched, clock: None })
            }
            Self::Clock(ClockRecord { value, at_millis, ticks, millis }) => {
                let reading = ClockReading::new(value, at_millis);
                let clock = reading.and_then(|reading| Clock::measured(reading, ticks, millis));
                Update::Clock(clock.ok_or(HostUpdateRecordError::Clock)?)
            }
            Self::Http(record) => Update::Http(Box::new(record.read(database)?)),
            Self::Mtu(bytes) => {
                let mtu = Mtu(bytes);
                Update::Mtu(MtuFinding { mtu, link: database.match_mtu(mtu).cloned() })
            }
            Self::TlsClient { ja4, transport, family, software, name, tcp } => Update::TlsClient(TlsUpdate {
                ja4: ja4.parse()?,
                transport: match transport {
                    TransportRecord::Tcp => Transport::Tcp,
                    TransportRecord::Quic => Transport::Quic,
                    TransportRecord::Dtls => Transport::Dtls,
                },
                family: match family {
                    Some(name) => {
                        let family = ClientFamily::from_name(&name);
                        Some(family.ok_or(HostUpdateRecordError::Family(name))?)
                    }
                    None => None,
                },
                software: software.map(String::into_boxed_str),
                name: name.map(Vec::into_boxed_slice),
                tcp: LabelRecord::read(tcp, database)?,
            }),
            Self::TlsServer => Update::TlsServer,
            Self::Request(record) => Update::Request(Box::new(record.read())),
            Self::Fingerprint(found) => Update::Fingerprint(found),
        })
    }
}

impl SignatureRecord {
    fn new(signature: &TcpSignature) -> Self {
        Self {
            text: signature.to_string(),
            is_syn_ack: signature.handshake == Handshake::SynAck,
            window: signature.window,
            has_multiple: signature.window_multiple.is_some(),
            traffic_class: signature.traffic_class,
            timestamp: signature.timestamp,
        }
    }

    fn read(self) -> Result<TcpSignature, ParseError> {
        let mut signature: TcpSignature = self.text.parse()?;
        signature.handshake = if self.is_syn_ack { Handshake::SynAck } else { Handshake::Syn };
        signature.window = self.window;
        signature.window_multiple = signature.window_multiple.filter(|_| self.has_multiple);
        signature.traffic_class = self.traffic_class;
        signature.timestamp = self.timestamp;
        Ok(signature)
    }
}

impl HttpRecord {
    fn new(update: &HttpUpdate) -> Self {
        let SystemCheck { claimed, text, claim_agrees, agrees } = &update.system;
        Self {
            is_request: update.role == Role::Request,
            forwarded: update.forwarded,
            date: update.date,
            matched: update
                .matched
                .as_ref()
                .map(|found| (LabelRecord::new(&found.label), found.claim.into())),
            claimed: claimed.as_deref().map(str::to_owned),
            text: text.as_deref().map(str::to_owned),
            claim_agrees: *claim_agrees,
            agrees: *agrees,
            is_imitation: update.is_imitation,
            counts: update.counts,
            software_hash: update.software_hash,
            software: update.software.as_deref().map(<[u8]>::to_vec),
            name: update.name.as_deref().map(<[u8]>::to_vec),
            language: update.language.as_deref().map(str::to_owned),
            tcp: update.tcp.as_deref().map(LabelRecord::new),
            contact: update.contact.as_deref().map(RequestFactsRecord::new),
        }
    }

    fn read(self, database: &Database) -> Result<HttpUpdate, HostUpdateRecordError> {
        let (label, claim) = self.matched.unzip();
        let label = LabelRecord::read(label, database)?;
        Ok(HttpUpdate {
            role: if self.is_request { Role::Request } else { Role::Response },
            forwarded: self.forwarded,
            date: self.date,
            matched: label.zip(claim).map(|(label, claim)| SoftwareMatch { label, claim: claim.into() }),
            system: SystemCheck {
                claimed: self.claimed.map(Arc::from),
                text: self.text.map(Arc::from),
                claim_agrees: self.claim_agrees,
                agrees: self.agrees,
            },
            is_imitation: self.is_imitation,
            counts: self.counts,
            software_hash: self.software_hash,
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
        let RequestFacts { name, user_agent, software, library, imitation } = contact;
        Self {
            name: name.as_deref().map(<[u8]>::to_vec),
            user_agent: user_agent.as_deref().map(<[u8]>::to_vec),
            software: software.as_deref().map(str::to_owned),
            library: library.as_deref().map(str::to_owned),
            imitation: imitation.as_ref().map(|found| (found.claim.clone(), found.contradicts.clone())),
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
        }
    }
}

impl LabelRecord {
    fn new(label: &Label) -> Self {
        Self { line: label.line, name: label.to_string() }
    }

    fn read(record: Option<Self>, database: &Database) -> Result<Option<Arc<Label>>, HostUpdateRecordError> {
        let Some(Self { line, name }) = record else { return Ok(None) };
        let labels = database.labels();
        let label = labels.binary_search_by_key(&line, |label| label.line);
        let label = label.ok().and_then(|place| labels.get(place)).filter(|label| label.to_string() == name);
        label.cloned().map(Some).ok_or(HostUpdateRecordError::Label { line, name })
    }
}

impl TunnelRecord {
    fn new(path: &TunnelPath) -> Self {
        Self { layers: path.layers().iter().map(ToString::to_string).collect(), key_word: path.key_word() }
    }

    fn path(self) -> Result<TunnelPath, HostUpdateRecordError> {
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in self.layers {
            layers.push(layer.parse().map_err(|_| HostUpdateRecordError::Tunnel(layer))?);
        }
        let path = TunnelPath::with_key_word(&layers, self.key_word);
        path.ok_or_else(|| HostUpdateRecordError::Tunnel(format!("{} layers", layers.len())))
    }
}
