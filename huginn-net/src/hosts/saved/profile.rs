//! The record of a host profile.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_core::Side;
use huginn_net_db::{Database, Distance, Label};
use huginn_net_http::language;
use huginn_net_tcp::{Handshake, Mtu, TcpSignature};
use serde::{Deserialize, Serialize};

use super::super::answers::{AlikeServers, Answers, OwnAnswer};
use super::super::conflict::Conflict;
use super::super::records::{
    ClaimRecord, HostRecordError, LabelRecord, SignatureRecord, TransportRecord, TunnelRecord, UptimeRecord,
    family, system_name,
};
use super::super::{
    Activity, Claim, Contact, Contacts, Counted, Explanation, Findings, HostProfile, Latest, Mismatch,
    SoftwareSeen, Statement, SystemSeen, TlsClientSeen, TopValues,
};
use super::host::{TimeRecord, ToolsRecord};
use super::{Stored, is_default};
use crate::finding::{ChangeFinding, MtuFinding, Reasons};
use crate::limits::{MAX_ALIKE_SERVERS, MAX_CONTACTS, MAX_SOFTWARE_LEN, MAX_TEXT_BYTES, MAX_TOP_VALUES};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileRecord {
    ip: IpAddr,
    #[serde(default, skip_serializing_if = "is_default")]
    tunnel: Option<TunnelRecord>,
    first_seen: TimeRecord,
    last_seen: TimeRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    as_client: ActivityRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    as_server: ActivityRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    tools: ToolsRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    systems: TopRecord<SystemRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    distances: TopRecord<DistanceRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    links: TopRecord<MtuRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    browsers: TopRecord<SoftwareRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    user_agents: TopRecord<HeaderRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    servers: TopRecord<SoftwareRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    server_headers: TopRecord<HeaderRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    tls_clients: TopRecord<TlsClientRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    languages: TopRecord<LanguageRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    uptime: Option<UptimeRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    changes: FindingsRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    sharings: FindingsRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    latest: LatestRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    peers: ContactsRecord<IpAddr>,
    #[serde(default, skip_serializing_if = "is_default")]
    names: ContactsRecord<Bytes>,
    #[serde(default, skip_serializing_if = "is_default")]
    conflicts: TopRecord<ConflictRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    answers: AnswersRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    own_answer: OwnAnswerRecord,
}

impl Stored<HostProfile> for ProfileRecord {
    fn store(profile: &HostProfile) -> Self {
        let HostProfile {
            ip,
            tunnel,
            // One network has one table of hosts.
            network: _,
            first_seen,
            last_seen,
            as_client,
            as_server,
            tools,
            systems,
            distances,
            links,
            browsers,
            user_agents,
            servers,
            server_headers,
            tls_clients,
            languages,
            uptime,
            changes,
            sharings,
            latest,
            peers,
            names,
            conflicts,
            answers,
            own_answer,
        } = profile;
        Self {
            ip: *ip,
            tunnel: tunnel.as_deref().map(TunnelRecord::new),
            first_seen: (*first_seen).into(),
            last_seen: (*last_seen).into(),
            as_client: (*as_client).into(),
            as_server: (*as_server).into(),
            tools: ToolsRecord::store(tools),
            systems: TopRecord::store(systems),
            distances: TopRecord::store(distances),
            links: TopRecord::store(links),
            browsers: TopRecord::store(browsers),
            user_agents: TopRecord::store(user_agents),
            servers: TopRecord::store(servers),
            server_headers: TopRecord::store(server_headers),
            tls_clients: TopRecord::store(tls_clients),
            languages: TopRecord::store(languages),
            uptime: uptime.map(UptimeRecord::new),
            changes: FindingsRecord::store(changes),
            sharings: FindingsRecord::store(sharings),
            latest: LatestRecord::store(latest),
            peers: ContactsRecord::store(peers),
            names: ContactsRecord::store(names),
            conflicts: TopRecord::store(conflicts),
            answers: AnswersRecord::store(answers),
            own_answer: OwnAnswerRecord::store(own_answer),
        }
    }

    fn load(self, database: &Database) -> Result<HostProfile, HostRecordError> {
        Ok(HostProfile {
            ip: self.ip,
            tunnel: self.tunnel.map(|tunnel| tunnel.path().map(Box::new)).transpose()?,
            network: None,
            first_seen: self.first_seen.into(),
            last_seen: self.last_seen.into(),
            as_client: self.as_client.into(),
            as_server: self.as_server.into(),
            tools: self.tools.load(database)?,
            systems: self.systems.load(database)?,
            distances: self.distances.load(database)?,
            links: self.links.load(database)?,
            browsers: self.browsers.load(database)?,
            user_agents: self.user_agents.load(database)?,
            servers: self.servers.load(database)?,
            server_headers: self.server_headers.load(database)?,
            tls_clients: self.tls_clients.load(database)?,
            languages: self.languages.load(database)?,
            uptime: self.uptime.map(UptimeRecord::read).transpose()?,
            changes: self.changes.load(database)?,
            sharings: self.sharings.load(database)?,
            latest: self.latest.load(database)?,
            peers: self.peers.load(database)?,
            names: self.names.load(database)?,
            conflicts: self.conflicts.load(database)?,
            answers: self.answers.load(database)?,
            own_answer: self.own_answer.load(database)?,
        })
    }
}

/// A value and its count, in order of insertion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TopRecord<R> {
    entries: Vec<(R, u32)>,
    #[serde(default, skip_serializing_if = "is_default")]
    left_out: u32,
}

impl<R> Default for TopRecord<R> {
    fn default() -> Self {
        Self { entries: Vec::new(), left_out: 0 }
    }
}

impl<T, R: Stored<T>> Stored<TopValues<T>> for TopRecord<R> {
    fn store(values: &TopValues<T>) -> Self {
        let entries = values.entries.iter().map(|entry| (R::store(&entry.value), entry.count));
        Self { entries: entries.collect(), left_out: values.left_out }
    }

    fn load(self, database: &Database) -> Result<TopValues<T>, HostRecordError> {
        let entries = self.entries.into_iter().take(MAX_TOP_VALUES);
        let entries = entries
            .map(|(value, count)| Ok::<_, HostRecordError>(Counted { value: value.load(database)?, count }));
        Ok(TopValues { entries: entries.collect::<Result<_, HostRecordError>>()?, left_out: self.left_out })
    }
}

/// A value, whether the host is the server, the count, and whether that is a minimum; in order of insertion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ContactsRecord<R> {
    entries: Vec<(R, bool, u32, bool)>,
    #[serde(default, skip_serializing_if = "is_default")]
    left_out: u32,
}

impl<R> Default for ContactsRecord<R> {
    fn default() -> Self {
        Self { entries: Vec::new(), left_out: 0 }
    }
}

impl<T, R: Stored<T>> Stored<Contacts<T>> for ContactsRecord<R> {
    fn store(contacts: &Contacts<T>) -> Self {
        let entries = contacts.entries.iter().map(|entry| {
            (R::store(&entry.value), entry.role == Side::Server, entry.count, entry.is_at_least)
        });
        Self { entries: entries.collect(), left_out: contacts.left_out }
    }

    fn load(self, database: &Database) -> Result<Contacts<T>, HostRecordError> {
        let entries =
            self.entries.into_iter().take(MAX_CONTACTS).map(|(value, is_server, count, is_at_least)| {
                let role = if is_server { Side::Server } else { Side::Client };
                Ok::<_, HostRecordError>(Contact { value: value.load(database)?, role, count, is_at_least })
            });
        Ok(Contacts { entries: entries.collect::<Result<_, HostRecordError>>()?, left_out: self.left_out })
    }
}

impl Stored<IpAddr> for IpAddr {
    fn store(ip: &IpAddr) -> Self {
        *ip
    }

    fn load(self, _: &Database) -> Result<IpAddr, HostRecordError> {
        Ok(self)
    }
}

/// Bytes, as text if they are UTF-8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Bytes(Vec<u8>),
}

impl Stored<Box<[u8]>> for Bytes {
    fn store(bytes: &Box<[u8]>) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_vec()),
        }
    }

    fn load(self, _: &Database) -> Result<Box<[u8]>, HostRecordError> {
        let bytes = match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        };
        // Names are shorter.
        bounded(bytes, MAX_SOFTWARE_LEN).map(Vec::into_boxed_slice)
    }
}

/// A text, unless it is longer than this.
fn bounded<T: AsRef<[u8]>>(text: T, most: usize) -> Result<T, HostRecordError> {
    match text.as_ref().len() {
        len if len > most => Err(HostRecordError::Text(len)),
        _ => Ok(text),
    }
}

/// A text of a database or a table.
fn known(text: String) -> Result<String, HostRecordError> {
    bounded(text, MAX_TEXT_BYTES)
}

/// Handshakes, heads, forwarded heads and hellos.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ActivityRecord(u32, u32, u32, u32);

impl From<Activity> for ActivityRecord {
    fn from(Activity { handshakes, heads, forwarded, hellos }: Activity) -> Self {
        Self(handshakes, heads, forwarded, hellos)
    }
}

impl From<ActivityRecord> for Activity {
    fn from(ActivityRecord(handshakes, heads, forwarded, hellos): ActivityRecord) -> Self {
        Self { handshakes, heads, forwarded, hellos }
    }
}

/// Number of reports, the last one, and its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct FindingsRecord(u32, Option<ChangeRecord>, TimeRecord);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum ChangeRecord {
    /// The system before, and that of the packet.
    Systems(String, String),
    /// The bits of p0f's reasons, and its hits.
    Scores(u16, [u8; 4]),
}

impl Stored<Findings> for FindingsRecord {
    fn store(Findings { count, latest, last }: &Findings) -> Self {
        let latest = latest.as_ref().map(|found| match found {
            ChangeFinding::Systems { from, to } => ChangeRecord::Systems(from.to_string(), to.to_string()),
            ChangeFinding::Scores { reasons, hits } => ChangeRecord::Scores(reasons.0, *hits),
        });
        Self(*count, latest, (*last).into())
    }

    fn load(self, database: &Database) -> Result<Findings, HostRecordError> {
        let Self(count, latest, last) = self;
        let latest = latest.map(|found| {
            Ok::<_, HostRecordError>(match found {
                ChangeRecord::Systems(from, to) => ChangeFinding::Systems {
                    from: system_name(&from, database)?,
                    to: system_name(&to, database)?,
                },
                ChangeRecord::Scores(reasons, hits) => {
                    ChangeFinding::Scores { reasons: Reasons(reasons), hits }
                }
            })
        });
        Ok(Findings { count, latest: latest.transpose()?, last: last.into() })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SystemRecord {
    label: Option<LabelRecord>,
    fuzzy: bool,
    is_syn_ack: bool,
    signature: Option<SignatureRecord>,
}

impl Stored<SystemSeen> for SystemRecord {
    fn store(SystemSeen { label, fuzzy, handshake, signature }: &SystemSeen) -> Self {
        Self {
            label: label.as_deref().map(LabelRecord::new),
            fuzzy: *fuzzy,
            is_syn_ack: *handshake == Handshake::SynAck,
            signature: signature.as_deref().map(SignatureRecord::new),
        }
    }

    fn load(self, database: &Database) -> Result<SystemSeen, HostRecordError> {
        Ok(SystemSeen {
            label: find(self.label, database)?,
            fuzzy: self.fuzzy,
            handshake: if self.is_syn_ack { Handshake::SynAck } else { Handshake::Syn },
            signature: self.signature.map(SignatureRecord::read).transpose()?.map(Box::new),
        })
    }
}

/// Hops, and whether they are an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct DistanceRecord(u8, bool);

impl Stored<Distance> for DistanceRecord {
    fn store(distance: &Distance) -> Self {
        Self(distance.hops, distance.at_most)
    }

    fn load(self, _: &Database) -> Result<Distance, HostRecordError> {
        Ok(Distance::new(self.0, self.1))
    }
}

/// The link follows from the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct MtuRecord(u32);

impl Stored<MtuFinding> for MtuRecord {
    fn store(finding: &MtuFinding) -> Self {
        Self(finding.mtu.0)
    }

    fn load(self, database: &Database) -> Result<MtuFinding, HostRecordError> {
        let mtu = Mtu(self.0);
        Ok(MtuFinding { mtu, link: database.match_mtu(mtu).cloned() })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SoftwareRecord {
    label: LabelRecord,
    claim: ClaimRecord,
    forwarded: bool,
}

impl Stored<SoftwareSeen> for SoftwareRecord {
    fn store(SoftwareSeen { label, claim, forwarded }: &SoftwareSeen) -> Self {
        Self { label: LabelRecord::new(label), claim: (*claim).into(), forwarded: *forwarded }
    }

    fn load(self, database: &Database) -> Result<SoftwareSeen, HostRecordError> {
        let Self { label, claim, forwarded } = self;
        Ok(SoftwareSeen { label: label.find(database)?, claim: claim.into(), forwarded })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct HeaderRecord {
    text: Bytes,
    system: Option<(String, String)>,
    honest: Option<bool>,
    forwarded: bool,
}

impl Stored<Claim> for HeaderRecord {
    fn store(Claim { text, system, honest, forwarded }: &Claim) -> Self {
        let system = system.as_ref().map(|(system, text)| (system.to_string(), text.to_string()));
        Self { text: Bytes::store(text), system, honest: *honest, forwarded: *forwarded }
    }

    fn load(self, database: &Database) -> Result<Claim, HostRecordError> {
        let Self { text, system, honest, forwarded } = self;
        let system = system
            .map(|(system, text)| Ok::<_, HostRecordError>((known(system)?.into(), known(text)?.into())));
        let system = system.transpose()?;
        Ok(Claim { text: text.load(database)?, system, honest, forwarded })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TlsClientRecord {
    ja4: String,
    transport: TransportRecord,
    software: Option<String>,
    family: Option<String>,
}

impl Stored<TlsClientSeen> for TlsClientRecord {
    fn store(TlsClientSeen { ja4, transport, software, family }: &TlsClientSeen) -> Self {
        Self {
            ja4: ja4.to_string(),
            transport: (*transport).into(),
            software: software.as_deref().map(str::to_owned),
            family: family.map(|family| family.name().to_owned()),
        }
    }

    fn load(self, _: &Database) -> Result<TlsClientSeen, HostRecordError> {
        Ok(TlsClientSeen {
            ja4: self.ja4.parse()?,
            transport: self.transport.into(),
            software: self.software.map(known).transpose()?.map(String::into_boxed_str),
            family: family(self.family)?,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LanguageRecord(String);

impl Stored<Cow<'static, str>> for LanguageRecord {
    fn store(language: &Cow<'static, str>) -> Self {
        Self(language.clone().into_owned())
    }

    fn load(self, _: &Database) -> Result<Cow<'static, str>, HostRecordError> {
        Ok(match language::known(&self.0) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(bounded(self.0, MAX_SOFTWARE_LEN)?),
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct LatestRecord {
    #[serde(default, skip_serializing_if = "is_default")]
    system: Option<LabelRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    fuzzy: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    distance: Option<u8>,
    /// Whether the rest of the head does not match the software, rather than the system.
    #[serde(default, skip_serializing_if = "is_default")]
    mismatch_of_software: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    software: Option<LabelRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    link: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    language: Option<String>,
}

impl Stored<Latest> for LatestRecord {
    fn store(Latest { system, fuzzy, distance, mismatch, software, link, language }: &Latest) -> Self {
        Self {
            system: system.as_deref().map(LabelRecord::new),
            fuzzy: *fuzzy,
            distance: *distance,
            mismatch_of_software: mismatch.map(|found| found == Mismatch::Software),
            software: software.as_deref().map(LabelRecord::new),
            link: link.as_deref().map(str::to_owned),
            language: language.map(str::to_owned),
        }
    }

    fn load(self, database: &Database) -> Result<Latest, HostRecordError> {
        let mismatch = |of_software| if of_software { Mismatch::Software } else { Mismatch::System };
        Ok(Latest {
            system: find(self.system, database)?,
            fuzzy: self.fuzzy,
            distance: self.distance,
            mismatch: self.mismatch_of_software.map(mismatch),
            software: find(self.software, database)?,
            link: self.link.map(known).transpose()?.map(Arc::from),
            language: self.language.as_deref().and_then(language::known),
        })
    }
}

fn find(label: Option<LabelRecord>, database: &Database) -> Result<Option<Arc<Label>>, HostRecordError> {
    label.map(|label| label.find(database)).transpose()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ConflictRecord {
    tcp: String,
    who: ConflictSource,
    says: String,
    by: Option<String>,
    explanation: ExplanationRecord,
}

/// The explanations of conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum ExplanationRecord {
    Unexplained,
    Imitation,
    LoadBalancer,
}

/// What a conflict with the handshake comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum ConflictSource {
    UserAgent,
    Server,
    Software,
    Tls,
}

impl ConflictSource {
    const ALL: [(Self, &'static str); 4] = [
        (Self::UserAgent, "User-Agent"),
        (Self::Server, "Server"),
        (Self::Software, "software"),
        (Self::Tls, "TLS"),
    ];

    fn of(statement: &Statement) -> Self {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == statement.who)
            .map_or(Self::Software, |(source, _)| *source)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(source, _)| *source == self).map_or("software", |(_, name)| name)
    }
}

impl Stored<Conflict> for ConflictRecord {
    fn store(Conflict { tcp, other, explanation }: &Conflict) -> Self {
        Self {
            tcp: tcp.to_string(),
            who: ConflictSource::of(other),
            says: other.says.to_string(),
            by: other.by.as_deref().map(str::to_owned),
            explanation: match explanation {
                Explanation::Imitation => ExplanationRecord::Imitation,
                Explanation::LoadBalancer => ExplanationRecord::LoadBalancer,
                _ => ExplanationRecord::Unexplained,
            },
        }
    }

    fn load(self, _: &Database) -> Result<Conflict, HostRecordError> {
        let by = self.by.map(known).transpose()?.map(Arc::from);
        let other = Statement { who: self.who.name(), says: known(self.says)?.into(), by };
        let explanation = match self.explanation {
            ExplanationRecord::Unexplained => Explanation::Unexplained,
            ExplanationRecord::Imitation => Explanation::Imitation,
            ExplanationRecord::LoadBalancer => Explanation::LoadBalancer,
        };
        Ok(Conflict { tcp: known(self.tcp)?.into(), other, explanation })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
enum AnswersRecord {
    #[default]
    None,
    Alike {
        signature: SignatureRecord,
        servers: Vec<IpAddr>,
        has_more: bool,
    },
    Different,
}

impl Stored<Answers> for AnswersRecord {
    fn store(answers: &Answers) -> Self {
        match answers {
            Answers::None => Self::None,
            Answers::Alike(alike) => Self::Alike {
                signature: SignatureRecord::new(&alike.signature),
                servers: alike.servers.clone(),
                has_more: alike.has_more,
            },
            Answers::Different => Self::Different,
        }
    }

    fn load(self, _: &Database) -> Result<Answers, HostRecordError> {
        let Self::Alike { signature, servers, has_more } = self else {
            return Ok(if self == Self::None { Answers::None } else { Answers::Different });
        };
        let mut alike =
            AlikeServers { signature: signature.read()?, servers: Vec::new(), has_more, networks: 0 };
        servers.into_iter().take(MAX_ALIKE_SERVERS).for_each(|server| alike.add(server));
        Ok(Answers::Alike(Box::new(alike)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
enum OwnAnswerRecord {
    #[default]
    None,
    Alike {
        signature: SignatureRecord,
        is_of_device: bool,
    },
    Different,
}

impl Stored<OwnAnswer> for OwnAnswerRecord {
    fn store(answer: &OwnAnswer) -> Self {
        match answer {
            OwnAnswer::None => Self::None,
            OwnAnswer::Alike { signature, is_of_device } => {
                Self::Alike { signature: SignatureRecord::new(signature), is_of_device: *is_of_device }
            }
            OwnAnswer::Different => Self::Different,
        }
    }

    fn load(self, _: &Database) -> Result<OwnAnswer, HostRecordError> {
        Ok(match self {
            Self::None => OwnAnswer::None,
            Self::Alike { signature, is_of_device } => {
                let signature: TcpSignature = signature.read()?;
                OwnAnswer::Alike { signature: Box::new(signature), is_of_device }
            }
            Self::Different => OwnAnswer::Different,
        })
    }
}
