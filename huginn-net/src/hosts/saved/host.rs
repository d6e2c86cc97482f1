//! The record of a host but for its profile.

use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_core::Timestamp;
use huginn_net_db::{Database, Label};
use huginn_net_tcp::ClockReading;
use serde::{Deserialize, Serialize};

use super::super::change::{HttpSeen, TcpSeen};
use super::super::clocks::{HostClock, MeasuredClock};
use super::super::records::{ClockRecord, HostRecordError, LabelRecord, SignatureRecord, system_name};
use super::super::scores::Scores;
use super::super::systems::{AddressSystems, NamedSystems, Several};
use super::super::tools::{HostSet, PortSet, Reported, ToolSeen};
use super::super::{Host, P0fHistory, RoleHistory, Tools};
use super::profile::ProfileRecord;
use super::{Stored, is_default};
use crate::Scope;
use crate::finding::Reasons;
use crate::limits::{MAX_NAMED_SYSTEMS, MAX_TOOL_TARGETS, MAX_TOP_VALUES, SCORE_HISTORY};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostBody {
    #[serde(default, skip_serializing_if = "is_default")]
    system: Option<LabelRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    clock: HostClockRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    systems: SystemsRecord,
    #[serde(default, skip_serializing_if = "is_default")]
    p0f: Option<Box<P0fRecord>>,
    #[serde(default, skip_serializing_if = "is_default")]
    tools: Option<ToolsRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    profile: Option<Box<ProfileRecord>>,
}

impl HostBody {
    pub(super) fn new(host: &Host) -> Self {
        let Host { system, clock, systems, p0f, tools, profile } = host;
        Self {
            system: system.as_deref().map(LabelRecord::new),
            clock: HostClockRecord::new(clock),
            systems: SystemsRecord::store(systems),
            p0f: p0f.as_deref().map(|p0f| Box::new(P0fRecord::new(p0f))),
            tools: tools.as_deref().map(ToolsRecord::store),
            profile: profile.as_deref().map(|profile| Box::new(ProfileRecord::store(profile))),
        }
    }

    /// Returns the host. `scope` decides how signatures match.
    pub(super) fn read(self, database: &Database, scope: Scope) -> Result<Host, HostRecordError> {
        Ok(Host {
            system: self.system.map(|label| label.find(database)).transpose()?,
            clock: self.clock.read()?,
            systems: self.systems.load(database)?,
            p0f: self.p0f.map(|p0f| p0f.read(database, scope)).transpose()?.map(Box::new),
            tools: self.tools.map(|tools| tools.load(database)).transpose()?.map(Box::new),
            profile: self.profile.map(|profile| profile.load(database)).transpose()?.map(Box::new),
        })
    }
}

/// The systems as a client and as a server, and the port of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SystemsRecord(NamedRecord, NamedRecord, u16);

/// The names in the order of their first handshakes, the latest one, and whether the address is reported as shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct NamedRecord(Vec<String>, String, bool);

impl Stored<AddressSystems> for SystemsRecord {
    fn store(AddressSystems { client, server, server_port }: &AddressSystems) -> Self {
        Self(NamedRecord::store(client), NamedRecord::store(server), *server_port)
    }

    fn load(self, database: &Database) -> Result<AddressSystems, HostRecordError> {
        let Self(client, server, server_port) = self;
        Ok(AddressSystems { client: client.load(database)?, server: server.load(database)?, server_port })
    }
}

impl Stored<NamedSystems> for NamedRecord {
    fn store(systems: &NamedSystems) -> Self {
        match systems {
            NamedSystems::None => Self::default(),
            NamedSystems::One(name) => Self(Vec::new(), name.to_string(), false),
            NamedSystems::Several(several) => {
                let Several { names, latest, is_shared } = &**several;
                Self(names.iter().map(ToString::to_string).collect(), latest.to_string(), *is_shared)
            }
        }
    }

    fn load(self, database: &Database) -> Result<NamedSystems, HostRecordError> {
        let Self(names, latest, is_shared) = self;
        if latest.is_empty() {
            return Ok(NamedSystems::None);
        }
        let latest = system_name(&latest, database)?;
        if names.is_empty() {
            return Ok(NamedSystems::One(latest));
        }
        let names = names.iter().take(MAX_NAMED_SYSTEMS).map(|name| system_name(name, database));
        let names = names.collect::<Result<_, HostRecordError>>()?;
        Ok(NamedSystems::Several(Box::new(Several { names, latest, is_shared })))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct P0fRecord {
    #[serde(default, skip_serializing_if = "is_default")]
    reasons: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    port: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    client: Option<RoleRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    server: Option<RoleRecord>,
}

impl P0fRecord {
    fn new(p0f: &P0fHistory) -> Self {
        let P0fHistory { reasons, port, client, server } = p0f;
        let role = |role: &Option<Box<RoleHistory>>| role.as_deref().map(RoleRecord::new);
        Self { reasons: reasons.0, port: *port, client: role(client), server: role(server) }
    }

    fn read(self, database: &Database, scope: Scope) -> Result<P0fHistory, HostRecordError> {
        let role = |role: Option<RoleRecord>| role.map(|role| role.read(database, scope)).transpose();
        Ok(P0fHistory {
            reasons: Reasons(self.reasons),
            port: self.port,
            client: role(self.client)?.map(Box::new),
            server: role(self.server)?.map(Box::new),
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
enum HostClockRecord {
    #[default]
    Unknown,
    Measured {
        rate: ClockRecord,
        /// The value and its time in milliseconds.
        last: (u32, u64),
        peer: IpAddr,
        is_shared: bool,
        contradictions: u8,
    },
    Random,
}

impl HostClockRecord {
    fn new(clock: &HostClock) -> Self {
        match clock {
            HostClock::Unknown => Self::Unknown,
            HostClock::Measured(MeasuredClock { rate, last, peer, is_shared, contradictions }) => {
                Self::Measured {
                    rate: ClockRecord::new(*rate),
                    last: (last.value, last.at_millis),
                    peer: *peer,
                    is_shared: *is_shared,
                    contradictions: *contradictions,
                }
            }
            HostClock::Random => Self::Random,
        }
    }

    fn read(self) -> Result<HostClock, HostRecordError> {
        Ok(match self {
            Self::Unknown => HostClock::Unknown,
            Self::Measured { rate, last: (value, at_millis), peer, is_shared, contradictions } => {
                let last = ClockReading::new(value, at_millis).ok_or(HostRecordError::Clock)?;
                HostClock::Measured(MeasuredClock {
                    rate: rate.read()?,
                    last,
                    peer,
                    is_shared,
                    contradictions,
                })
            }
            Self::Random => HostClock::Random,
        })
    }
}

/// What the next handshake or head of a role is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RoleRecord {
    #[serde(default, skip_serializing_if = "is_default")]
    handshake: Option<TcpSeenRecord>,
    #[serde(default, skip_serializing_if = "is_default")]
    http: Option<HttpSeenRecord>,
    /// The latest scores, in the order of their slots, and the next slot.
    #[serde(default, skip_serializing_if = "is_default")]
    scores: (Vec<u8>, u8),
}

/// The match follows from the signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TcpSeenRecord {
    signature: SignatureRecord,
    at_millis: u64,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct HttpSeenRecord {
    #[serde(default, skip_serializing_if = "is_default")]
    label: Option<LabelRecord>,
    port: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    date: Option<(i64, i64)>,
}

impl RoleRecord {
    fn new(role: &RoleHistory) -> Self {
        let RoleHistory { handshake, http, scores: Scores { latest, next } } = role;
        let has_scores = latest.iter().any(|score| *score != 0) || *next != 0;
        Self {
            handshake: handshake.as_ref().map(|seen| TcpSeenRecord {
                signature: SignatureRecord::new(&seen.signature),
                at_millis: seen.at_millis,
                port: seen.port,
            }),
            http: http.as_ref().map(|seen| HttpSeenRecord {
                label: seen.label.as_deref().map(LabelRecord::new),
                port: seen.port,
                date: seen.date,
            }),
            scores: if has_scores { (latest.to_vec(), *next) } else { Default::default() },
        }
    }

    fn read(self, database: &Database, scope: Scope) -> Result<RoleHistory, HostRecordError> {
        let Self { handshake, http, scores: (scores, next) } = self;
        let handshake = handshake.map(|seen| {
            let signature = seen.signature.read()?;
            let matched = scope.match_handshake(database, &signature);
            let TcpSeenRecord { at_millis, port, .. } = seen;
            Ok::<_, HostRecordError>(TcpSeen { signature, matched, at_millis, port })
        });
        let http = http.map(|seen| {
            let HttpSeenRecord { label, port, date } = seen;
            let label = label.map(|label| label.find(database)).transpose()?;
            Ok::<_, HostRecordError>(HttpSeen { label, port, date })
        });
        let mut latest = [0; SCORE_HISTORY];
        latest.iter_mut().zip(scores).for_each(|(slot, score)| *slot = score);
        Ok(RoleHistory {
            handshake: handshake.transpose()?,
            http: http.transpose()?,
            scores: Scores { latest, next },
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolsRecord {
    seen: Vec<ToolRecord>,
    left_out: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ToolRecord {
    label: LabelRecord,
    syns: u64,
    #[serde(default)]
    of_stack: u32,
    #[serde(default)]
    reported: Reported,
    #[serde(default)]
    reported_syns: u64,
    /// The first and the last port of each range.
    ports: Vec<(u16, u16)>,
    hosts: Vec<IpAddr>,
    has_more_hosts: bool,
    first_seen: TimeRecord,
    last_seen: TimeRecord,
}

/// Nanoseconds since the Unix epoch, and the decimals of a second that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TimeRecord(u64, u8);

impl From<Timestamp> for TimeRecord {
    fn from(ts: Timestamp) -> Self {
        Self(ts.as_nanos(), ts.digits())
    }
}

impl From<TimeRecord> for Timestamp {
    fn from(TimeRecord(nanos, digits): TimeRecord) -> Self {
        Self::from_nanos(nanos, digits)
    }
}

impl Stored<Arc<Label>> for LabelRecord {
    fn store(label: &Arc<Label>) -> Self {
        Self::new(label)
    }

    fn load(self, database: &Database) -> Result<Arc<Label>, HostRecordError> {
        self.find(database)
    }
}

impl Stored<Tools> for ToolsRecord {
    fn store(tools: &Tools) -> Self {
        Self { seen: tools.seen.iter().map(ToolRecord::store).collect(), left_out: tools.left_out }
    }

    fn load(self, database: &Database) -> Result<Tools, HostRecordError> {
        let seen = self.seen.into_iter().take(MAX_TOP_VALUES).map(|tool| tool.load(database));
        Ok(Tools { seen: seen.collect::<Result<_, HostRecordError>>()?, left_out: self.left_out })
    }
}

impl Stored<ToolSeen> for ToolRecord {
    fn store(seen: &ToolSeen) -> Self {
        let mut ports: Vec<(u16, u16)> = Vec::new();
        seen.ports.for_each(|port| match ports.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(port) => *last = port,
            _ => ports.push((port, port)),
        });
        Self {
            label: LabelRecord::new(&seen.label),
            syns: seen.syns,
            of_stack: seen.of_stack,
            reported: seen.reported,
            reported_syns: seen.reported_syns,
            ports,
            hosts: seen.hosts.listed.clone(),
            has_more_hosts: seen.hosts.has_more,
            first_seen: seen.first_seen.into(),
            last_seen: seen.last_seen.into(),
        }
    }

    fn load(self, database: &Database) -> Result<ToolSeen, HostRecordError> {
        let ports = PortSet::from_ranges(&self.ports).ok_or(HostRecordError::Ports)?;
        let mut hosts = HostSet { listed: Vec::new(), has_more: self.has_more_hosts };
        self.hosts.into_iter().take(MAX_TOOL_TARGETS).for_each(|ip| hosts.insert(ip));
        Ok(ToolSeen {
            label: self.label.find(database)?,
            syns: self.syns,
            of_stack: self.of_stack,
            reported: self.reported,
            reported_syns: self.reported_syns,
            ports,
            hosts,
            first_seen: self.first_seen.into(),
            last_seen: self.last_seen.into(),
            last: None,
            judged_at: None,
        })
    }
}
