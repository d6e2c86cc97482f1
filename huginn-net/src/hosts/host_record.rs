//! Hosts as records, and their JSON.

use std::fmt;
use std::net::IpAddr;
use std::str;

use huginn_net_core::{Side, Timestamp, TunnelPath};
use huginn_net_db::SoftwareClaim;
use huginn_net_tcp::{Handshake, Uptime};
use huginn_net_tls::Ja4;

use super::{
    Activity, AlikeServers, Claim, Contact, Contradiction, Counted, Evidence, HostProfile, SeenBy,
    SensorView, SoftwareSeen, Statement, SystemSeen, TlsClientSeen, Verdict,
};
use crate::record::describe::{self, records};
use crate::record::{FieldInfo, Ip, LabelRecord, Text, ToolRecord, VERSION};

records! {
    /// `host`: the profile of a host, and its verdict. Lists are sorted by descending count. `docs/events.md` has the fields of its
    /// records.
    pub struct HostRecord<'a> {
        /// Version of the fields: 1
        v: u8,
        /// Time of the last packet
        ts: Timestamp,
        /// Kind of the event: `host`
        event: Text<'a>,
        /// Address of the host
        ip: Ip,
        /// VLAN tags and tunnels around its packets, the outermost first
        tunnel[omitted]: Vec<Text<'a>>,
        /// Capture file, if several are read
        file[omitted]: Option<Text<'a>>,
        /// Site of the sensors that saw the host (`hosts join`)
        site[omitted]: Option<Text<'a>>,
        /// What each sensor says (`hosts join`): the first 16
        sensors[omitted]: Vec<SensorViewRecord<'a>>,
        /// The sensors and their systems, if these have different TCP stacks
        disagreement[omitted]: Option<Text<'a>>,
        /// Time of the first packet
        first_seen: Timestamp,
        /// Time of the last packet
        last_seen: Timestamp,
        /// Activity as a client
        as_client: ActivityRecord,
        /// Activity as a server
        as_server: ServerActivityRecord,
        /// Tools whose packets it sends
        tools: Vec<ToolRecord<'a>>,
        /// Servers whose connections with the host one device ends
        one_device: Option<AlikeServersRecord<'a>>,
        /// Link type
        link: Option<Text<'a>>,
        /// Size of the largest IP packet of the link, in bytes
        mtu: Option<u32>,
        /// Distance in hops
        distance: Option<u8>,
        /// Timestamp clock
        uptime: Option<ClockRecord>,
        /// Systems that its handshakes match
        systems: Vec<SystemSeenRecord<'a>>,
        /// Client software that its requests match
        browsers: Vec<SoftwareSeenRecord<'a>>,
        /// User-Agent headers of its requests
        user_agents: Vec<ClaimRecord<'a>>,
        /// Server software that its responses match
        servers: Vec<SoftwareSeenRecord<'a>>,
        /// Server headers of its responses
        server_headers: Vec<ClaimRecord<'a>>,
        /// Fingerprints of its ClientHellos
        tls_clients: Vec<TlsClientSeenRecord<'a>>,
        /// Preferred languages of its requests
        languages: Vec<LanguageRecord<'a>>,
        /// Number of observations that these lists leave out
        left_out: u32,
        /// Peers by descending number of connections: the most used and the rarest ones
        peers: Vec<PeerRecord>,
        /// Number of connections with peers that `peers` leaves out
        peers_left_out: u32,
        /// Names that the host asked for, or was asked for, by descending count: the most used and the rarest ones
        names: Vec<NameRecord<'a>>,
        /// Number of hellos and requests with names that `names` leaves out
        names_left_out: u32,
        /// Number of reported changes
        changes: u32,
        /// Whether several hosts have the address
        shared: bool,
        /// The most likely system, with its evidence
        verdict: VerdictRecord<'a>,
    }

    /// What a sensor says of a host.
    pub struct SensorViewRecord<'a> {
        /// Name of the sensor
        sensor: Text<'a>,
        /// Time of the first packet
        first_seen: Timestamp,
        /// Time of the last packet
        last_seen: Timestamp,
        /// System of its verdict
        system: Option<Text<'a>>,
    }

    /// Servers for which one device answers.
    pub struct AlikeServersRecord<'a> {
        /// Number of servers, at most 256
        servers: u32,
        /// Whether there are more servers
        has_more_servers: bool,
        /// Number of networks of the servers
        networks: u32,
        /// Distance of the device in hops
        distance: u8,
        /// Signature of all SYN+ACKs
        sig: Text<'a>,
        /// The servers as a sentence
        text: Text<'a>,
    }

    /// Activity of a host as a client.
    pub struct ActivityRecord {
        /// SYNs, without retransmissions
        handshakes: u32,
        /// Requests
        requests: u32,
        /// Requests with Via or X-Forwarded-For
        forwarded: u32,
        /// ClientHellos
        hellos: u32,
    }

    /// Activity of a host as a server.
    pub struct ServerActivityRecord {
        /// SYN+ACKs, without retransmissions
        handshakes: u32,
        /// Responses
        responses: u32,
        /// Responses with Via
        forwarded: u32,
        /// ServerHellos
        hellos: u32,
    }

    /// A timestamp clock.
    pub struct ClockRecord {
        /// Uptime in minutes, modulo the period of the clock
        minutes: u32,
        /// Days after which the clock begins again
        modulo_days: u32,
        /// Nominal frequency of the clock
        frequency_hz: u32,
    }

    /// A system that handshakes match.
    pub struct SystemSeenRecord<'a> {
        /// Label of the database entry; null without a match
        label: Option<LabelRecord<'a>>,
        /// Whether the match is fuzzy
        fuzzy: bool,
        /// `syn` or `syn_ack`
        segment: Text<'a>,
        /// Signature of a handshake without a match
        sig: Option<Text<'a>>,
        /// Number of observations
        count: u32,
    }

    /// Software that heads match.
    pub struct SoftwareSeenRecord<'a> {
        /// Label of the database entry
        label: Option<LabelRecord<'a>>,
        /// Whether the head names another known product
        dishonest: bool,
        /// Whether the head names a program of its own
        custom: bool,
        /// Whether the heads were forwarded
        forwarded: bool,
        /// Number of observations
        count: u32,
    }

    /// A User-Agent or Server header.
    pub struct ClaimRecord<'a> {
        /// The header
        text: Text<'a>,
        /// System that it names
        claimed_os: Option<Text<'a>>,
        /// Whether the rest of the head agrees
        honest: Option<bool>,
        /// Whether the heads were forwarded
        forwarded: bool,
        /// Number of observations
        count: u32,
    }

    /// A fingerprint of ClientHellos.
    pub struct TlsClientSeenRecord<'a> {
        /// JA4
        ja4: Ja4,
        /// `tls`, `quic` or `dtls`
        protocol: Text<'a>,
        /// The software that the hello names, as text
        software: Option<Text<'a>>,
        /// Number of observations
        count: u32,
    }

    /// A preferred language.
    pub struct LanguageRecord<'a> {
        /// English name, or the tag of a language without one
        language: Text<'a>,
        /// Number of observations
        count: u32,
    }

    /// A peer of a host.
    pub struct PeerRecord {
        /// Address of the peer
        ip: Ip,
        /// Role of the host: `client` or `server`
        role: Side,
        /// Number of connections
        count: u32,
        /// Whether there may be more: earlier ones were left out
        at_least: bool,
    }

    /// A name that a host asked for, or was asked for.
    pub struct NameRecord<'a> {
        /// The name, in lower case
        name: Text<'a>,
        /// Role of the host: `client` or `server`
        role: Side,
        /// Number of hellos and requests
        count: u32,
        /// Whether there may be more: earlier ones were left out
        at_least: bool,
    }

    /// The most likely system of a host.
    pub struct VerdictRecord<'a> {
        /// The system; null without evidence, or with several systems
        system: Option<Text<'a>>,
        /// Whether the evidence that decides is not exact
        fuzzy: bool,
        /// Systems that share the address
        several: Vec<Text<'a>>,
        /// Middlebox that answers for the host
        behind: Option<Text<'a>>,
        /// Evidence, the best first
        evidence: Vec<EvidenceRecord<'a>>,
        /// Contradictions between layers
        contradictions: Vec<ContradictionRecord<'a>>,
    }

    /// Evidence for a system.
    pub struct EvidenceRecord<'a> {
        /// Layer of the evidence
        layer: Text<'a>,
        /// The system
        says: Text<'a>,
        /// Weight of the evidence
        grade: Text<'a>,
        /// Whether it supports the system of the verdict
        supports: bool,
        /// Number of observations
        count: u32,
        /// The evidence as a sentence
        text: Text<'a>,
    }

    /// A contradiction between two layers.
    pub struct ContradictionRecord<'a> {
        /// One statement
        one: StatementRecord<'a>,
        /// The other statement
        other: StatementRecord<'a>,
        /// Number of observations
        count: u32,
        /// What explains it
        explanation: Text<'a>,
        /// The contradiction as a sentence
        text: Text<'a>,
    }

    /// What a layer says.
    pub struct StatementRecord<'a> {
        /// The layer
        who: Text<'a>,
        /// The system
        says: Text<'a>,
        /// What names it
        by: Option<Text<'a>>,
    }
}

/// The fields of the event `host`, in the order in which they are written.
pub fn fields_of_host() -> &'static [FieldInfo] {
    HostRecord::FIELDS
}

impl<'a> HostRecord<'a> {
    /// Describes a host.
    pub fn from_profile(host: &'a HostProfile) -> Self {
        Self::new(host, None)
    }

    /// Describes a host, with the capture file if several are read.
    pub(crate) fn new(host: &'a HostProfile, file: Option<&'a str>) -> Self {
        let (link, seen_by) = (host.links.most(), host.seen_by.as_deref());
        let layers = host.tunnel.as_deref().map_or(&[][..], TunnelPath::layers);
        let Activity { handshakes, heads, forwarded, hellos } = host.as_client;
        let as_client = ActivityRecord { handshakes, requests: heads, forwarded, hellos };
        let Activity { handshakes, heads, forwarded, hellos } = host.as_server;
        let as_server = ServerActivityRecord { handshakes, responses: heads, forwarded, hellos };
        Self {
            v: VERSION,
            ts: host.last_seen,
            event: "host".into(),
            ip: Ip(host.ip),
            tunnel: layers.iter().map(Text::of).collect(),
            file: file.map(Into::into),
            site: seen_by.and_then(|seen_by| seen_by.site.as_ref()).map(|site| (&**site).into()),
            sensors: seen_by.iter().flat_map(|seen_by| &seen_by.sensors).map(Into::into).collect(),
            disagreement: seen_by.and_then(SeenBy::disagreement).map(Text::owned),
            first_seen: host.first_seen,
            last_seen: host.last_seen,
            as_client,
            as_server,
            tools: host.tools.observations().map(|found| (&found).into()).collect(),
            one_device: host.one_device().map(Into::into),
            link: link.and_then(|seen| seen.link.as_ref()).map(Into::into),
            mtu: link.map(|seen| seen.mtu.0),
            distance: host.distances.most().map(|distance| distance.hops),
            uptime: host.uptime.as_ref().map(Into::into),
            systems: host.systems.by_count().map(Into::into).collect(),
            browsers: host.browsers.by_count().map(Into::into).collect(),
            user_agents: host.user_agents.by_count().map(Into::into).collect(),
            servers: host.servers.by_count().map(Into::into).collect(),
            server_headers: host.server_headers.by_count().map(Into::into).collect(),
            tls_clients: host.tls_clients.by_count().map(Into::into).collect(),
            languages: host
                .languages
                .by_count()
                .map(|seen| LanguageRecord { language: (&*seen.value).into(), count: seen.count })
                .collect(),
            left_out: host.left_out(),
            peers: host.peers().by_count().map(Into::into).collect(),
            peers_left_out: host.peers().left_out(),
            names: host.names().by_count().map(Into::into).collect(),
            names_left_out: host.names().left_out(),
            changes: host.changes.count,
            shared: host.sharings.count > 0,
            verdict: host.verdict().into(),
        }
    }
}

impl<'a> From<&'a SensorView> for SensorViewRecord<'a> {
    fn from(view: &'a SensorView) -> Self {
        let SensorView { sensor, first_seen, last_seen, system } = view;
        let system = system.as_deref().map(Into::into);
        Self { sensor: (&**sensor).into(), first_seen: *first_seen, last_seen: *last_seen, system }
    }
}

impl<'a> From<&'a AlikeServers> for AlikeServersRecord<'a> {
    fn from(alike: &'a AlikeServers) -> Self {
        Self {
            servers: alike.count(),
            has_more_servers: alike.has_more,
            networks: alike.networks(),
            distance: alike.hops(),
            sig: Text::of(&alike.signature),
            text: Text::of(alike),
        }
    }
}

impl From<&Uptime> for ClockRecord {
    fn from(uptime: &Uptime) -> Self {
        Self { minutes: uptime.minutes, modulo_days: uptime.modulo_days(), frequency_hz: uptime.frequency }
    }
}

impl<'a> From<&'a Counted<SystemSeen>> for SystemSeenRecord<'a> {
    fn from(seen: &'a Counted<SystemSeen>) -> Self {
        let SystemSeen { label, fuzzy, handshake, signature } = &seen.value;
        let segment = match handshake {
            Handshake::Syn => "syn",
            Handshake::SynAck => "syn_ack",
        };
        Self {
            label: label.as_deref().map(Into::into),
            fuzzy: *fuzzy,
            segment: segment.into(),
            sig: signature.as_deref().map(Text::of),
            count: seen.count,
        }
    }
}

impl<'a> From<&'a Counted<SoftwareSeen>> for SoftwareSeenRecord<'a> {
    fn from(seen: &'a Counted<SoftwareSeen>) -> Self {
        let SoftwareSeen { label, claim, forwarded } = &seen.value;
        Self {
            label: Some((&**label).into()),
            dishonest: *claim == SoftwareClaim::Dishonest,
            custom: *claim == SoftwareClaim::Custom,
            forwarded: *forwarded,
            count: seen.count,
        }
    }
}

impl<'a> From<&'a Counted<Claim>> for ClaimRecord<'a> {
    fn from(seen: &'a Counted<Claim>) -> Self {
        let Claim { text, system, honest, forwarded } = &seen.value;
        Self {
            text: Text::wire(text),
            claimed_os: system.as_ref().map(|(system, _)| system.into()),
            honest: *honest,
            forwarded: *forwarded,
            count: seen.count,
        }
    }
}

impl<'a> From<&'a Counted<TlsClientSeen>> for TlsClientSeenRecord<'a> {
    fn from(seen: &'a Counted<TlsClientSeen>) -> Self {
        let TlsClientSeen { ja4, transport, software, .. } = &seen.value;
        Self {
            ja4: *ja4,
            protocol: transport.name().into(),
            software: software.as_deref().map(Text::from),
            count: seen.count,
        }
    }
}

impl From<&Contact<IpAddr>> for PeerRecord {
    fn from(peer: &Contact<IpAddr>) -> Self {
        let Contact { value, role, count, is_at_least } = peer;
        Self { ip: Ip(*value), role: *role, count: *count, at_least: *is_at_least }
    }
}

impl<'a> From<&'a Contact<Box<[u8]>>> for NameRecord<'a> {
    fn from(name: &'a Contact<Box<[u8]>>) -> Self {
        let Contact { value, role, count, is_at_least } = name;
        Self { name: Text::wire(value), role: *role, count: *count, at_least: *is_at_least }
    }
}

impl From<Verdict> for VerdictRecord<'_> {
    fn from(verdict: Verdict) -> Self {
        let Verdict { system, fuzzy, several, behind, evidence, contradictions } = verdict;
        Self {
            system: system.map(Into::into),
            fuzzy,
            several: several.into_iter().map(Into::into).collect(),
            behind: behind.map(Into::into),
            evidence: evidence.into_iter().map(Into::into).collect(),
            contradictions: contradictions.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Evidence> for EvidenceRecord<'_> {
    fn from(evidence: Evidence) -> Self {
        Self {
            layer: Text::owned(evidence.layer),
            says: evidence.says.clone().into(),
            grade: Text::owned(evidence.grade),
            supports: evidence.supports,
            count: evidence.count,
            text: Text::owned(evidence),
        }
    }
}

impl From<Contradiction> for ContradictionRecord<'_> {
    fn from(found: Contradiction) -> Self {
        Self {
            one: (&found.one).into(),
            other: (&found.other).into(),
            count: found.count,
            explanation: found.explanation.name().into(),
            text: Text::owned(found),
        }
    }
}

impl From<&Statement> for StatementRecord<'_> {
    fn from(statement: &Statement) -> Self {
        let Statement { who, says, by } = statement;
        Self { who: (*who).into(), says: says.clone().into(), by: by.clone().map(Into::into) }
    }
}

/// A host profile and its verdict as an event `host`: one JSON object (RFC 8259), its [record](HostRecord).
///
/// Absent values are `null`, or left out where the record says so. [`Display`](fmt::Display) is the object, in one line.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JsonHost<'a> {
    /// The host.
    pub host: &'a HostProfile,
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
}

impl<'a> JsonHost<'a> {
    /// Describes a host.
    pub fn new(host: &'a HostProfile) -> Self {
        Self { host, file: None }
    }

    /// Names the capture file, if several are read.
    #[must_use]
    pub fn file(self, file: impl Into<Option<&'a str>>) -> Self {
        Self { file: file.into(), ..self }
    }

    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        describe::append(out, &HostRecord::new(self.host, self.file));
    }
}

impl fmt::Display for JsonHost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        self.write_to(&mut line);
        f.write_str(str::from_utf8(&line).map_err(|_| fmt::Error)?)
    }
}
