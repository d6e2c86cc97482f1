//! `Serialize` for profiles and verdicts: the fields of [`JsonHost`](crate::json::JsonHost) except `ts`, `event` and
//! `file`.

use std::net::IpAddr;

use huginn_net_core::{Escaped, Timestamp, TunnelPath, serialize_as_text};
use huginn_net_db::Label;
use huginn_net_tcp::{Clock, Handshake, Mtu, TcpSignature};
use huginn_net_tls::{ClientFamily, Ja4, Transport};
use serde::{Serialize, Serializer};

use super::{
    Activity, Claim, Contradiction, Counted, Evidence, EvidenceLayer, Explanation, Findings, Grade,
    HostProfile, Latest, LinkSeen, Mismatch, Reasons, SoftwareSeen, Statement, SystemSeen, TlsClientSeen,
    TopValues, Verdict,
};
use crate::serialize::Text;

serialize_as_text!(EvidenceLayer, Grade);

/// A list of p0f's names.
impl Serialize for Reasons {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

/// Observed values by falling frequency: the fields of each value and its `count`.
struct ByCount<'a, T>(&'a TopValues<T>);

impl<T: Serialize> Serialize for ByCount<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a, T> {
            #[serde(flatten)]
            value: &'a T,
            count: u32,
        }
        serializer
            .collect_seq(self.0.by_count().map(|Counted { value, count }| Shape { value, count: *count }))
    }
}

/// Languages with their counts; the most frequent first.
struct Languages<'a>(&'a HostProfile);

impl Serialize for Languages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            language: &'a str,
            count: u32,
        }
        let languages = self.0.languages.by_count();
        serializer.collect_seq(languages.map(|seen| Shape { language: &seen.value, count: seen.count }))
    }
}

#[derive(Serialize)]
struct AsClient {
    handshakes: u32,
    requests: u32,
    forwarded: u32,
    hellos: u32,
}

#[derive(Serialize)]
struct AsServer {
    handshakes: u32,
    responses: u32,
    forwarded: u32,
    hellos: u32,
}

/// The fields of [`JsonHost`](crate::json::JsonHost) except `ts`, `event` and `file`.
impl Serialize for HostProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            ip: IpAddr,
            #[serde(skip_serializing_if = "Option::is_none")]
            tunnel: Option<&'a TunnelPath>,
            first_seen: Timestamp,
            last_seen: Timestamp,
            as_client: AsClient,
            as_server: AsServer,
            link: Option<&'a str>,
            mtu: Option<Mtu>,
            distance: Option<u8>,
            uptime: Option<Clock>,
            systems: ByCount<'a, SystemSeen>,
            browsers: ByCount<'a, SoftwareSeen>,
            user_agents: ByCount<'a, Claim>,
            servers: ByCount<'a, SoftwareSeen>,
            server_headers: ByCount<'a, Claim>,
            tls_clients: ByCount<'a, TlsClientSeen>,
            languages: Languages<'a>,
            left_out: u32,
            changes: u32,
            change_reasons: Reasons,
            shared: bool,
            sharing_reasons: Reasons,
            verdict: Verdict,
        }
        let Activity { handshakes, heads, forwarded, hellos } = self.as_client;
        let as_client = AsClient { handshakes, requests: heads, forwarded, hellos };
        let Activity { handshakes, heads, forwarded, hellos } = self.as_server;
        let as_server = AsServer { handshakes, responses: heads, forwarded, hellos };
        let link = self.links.most();
        Shape {
            ip: self.ip,
            tunnel: self.tunnel.as_deref(),
            first_seen: self.first_seen,
            last_seen: self.last_seen,
            as_client,
            as_server,
            link: link.and_then(|seen| seen.link.as_deref()),
            mtu: link.map(|seen| seen.mtu),
            distance: self.distances.most().map(|distance| distance.hops),
            uptime: self.uptime,
            systems: ByCount(&self.systems),
            browsers: ByCount(&self.browsers),
            user_agents: ByCount(&self.user_agents),
            servers: ByCount(&self.servers),
            server_headers: ByCount(&self.server_headers),
            tls_clients: ByCount(&self.tls_clients),
            languages: Languages(self),
            left_out: self.left_out(),
            changes: self.changes.count,
            change_reasons: self.changes.reasons,
            shared: self.sharings.count > 0,
            sharing_reasons: self.sharings.reasons,
            verdict: self.verdict(),
        }
        .serialize(serializer)
    }
}

/// `count` and `reasons`.
impl Serialize for Findings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            count: u32,
            reasons: Reasons,
        }
        Shape { count: self.count, reasons: self.reasons }.serialize(serializer)
    }
}

/// `system`, `fuzzy`, `distance`, `mismatch` (`system`, `software`), `software`, `link` and `language`.
impl Serialize for Latest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            system: Option<&'a Label>,
            fuzzy: bool,
            distance: Option<u8>,
            mismatch: Option<&'a str>,
            software: Option<&'a Label>,
            link: Option<&'a str>,
            language: Option<&'a str>,
        }
        Shape {
            system: self.system.as_deref(),
            fuzzy: self.fuzzy,
            distance: self.distance,
            mismatch: self.mismatch.map(|mismatch| match mismatch {
                Mismatch::System => "system",
                Mismatch::Software => "software",
            }),
            software: self.software.as_deref(),
            link: self.link.as_deref(),
            language: self.language,
        }
        .serialize(serializer)
    }
}

/// `label`, `fuzzy`, `segment` (`syn`, `syn_ack`) and `sig`.
impl Serialize for SystemSeen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            label: Option<&'a Label>,
            fuzzy: bool,
            segment: Handshake,
            sig: Option<&'a TcpSignature>,
        }
        let Self { label, fuzzy, handshake, signature } = self;
        Shape { label: label.as_deref(), fuzzy: *fuzzy, segment: *handshake, sig: signature.as_deref() }
            .serialize(serializer)
    }
}

/// `mtu` (bytes) and `link`.
impl Serialize for LinkSeen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            mtu: Mtu,
            link: Option<&'a str>,
        }
        Shape { mtu: self.mtu, link: self.link.as_deref() }.serialize(serializer)
    }
}

/// `label`, `dishonest` and `forwarded`.
impl Serialize for SoftwareSeen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            label: &'a Label,
            dishonest: bool,
            forwarded: bool,
        }
        let Self { label, dishonest, forwarded } = self;
        Shape { label, dishonest: *dishonest, forwarded: *forwarded }.serialize(serializer)
    }
}

/// `text`, `claimed_os`, `honest` and `forwarded`.
impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            text: Escaped<'a>,
            claimed_os: Option<&'a str>,
            honest: Option<bool>,
            forwarded: bool,
        }
        let Self { text, system, honest, forwarded } = self;
        let claimed_os = system.as_ref().map(|(system, _)| &**system);
        Shape { text: Escaped(text), claimed_os, honest: *honest, forwarded: *forwarded }
            .serialize(serializer)
    }
}

/// `ja4`, `transport` and `family`.
impl Serialize for TlsClientSeen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            ja4: Ja4,
            transport: Transport,
            family: Option<ClientFamily>,
        }
        Shape { ja4: self.ja4, transport: self.transport, family: self.family }.serialize(serializer)
    }
}

/// `system`, `several`, `behind`, `evidence` and `contradictions`.
impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            system: Option<&'a str>,
            several: Vec<&'a str>,
            behind: Option<&'a str>,
            evidence: &'a [Evidence],
            contradictions: &'a [Contradiction],
        }
        let Self { system, several, behind, evidence, contradictions } = self;
        let several = several.iter().map(|system| &**system).collect();
        Shape { system: system.as_deref(), several, behind: behind.as_deref(), evidence, contradictions }
            .serialize(serializer)
    }
}

/// `layer`, `says`, `grade`, `supports`, `count` and `text` (a sentence).
impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            layer: EvidenceLayer,
            says: &'a str,
            grade: Grade,
            supports: bool,
            count: u32,
            text: Text<&'a Evidence>,
        }
        let Self { layer, says, count, grade, supports, .. } = self;
        let (layer, grade, supports, count) = (*layer, *grade, *supports, *count);
        Shape { layer, says, grade, supports, count, text: Text(self) }.serialize(serializer)
    }
}

/// `one`, `other`, `count`, `explanation` and `text` (a sentence).
impl Serialize for Contradiction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            one: &'a Statement,
            other: &'a Statement,
            count: u32,
            explanation: Explanation,
            text: Text<&'a Contradiction>,
        }
        let Self { one, other, count, explanation } = self;
        Shape { one, other, count: *count, explanation: *explanation, text: Text(self) }.serialize(serializer)
    }
}

/// `who`, `says` and `by`.
impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            who: &'a str,
            says: &'a str,
            by: Option<&'a str>,
        }
        Shape { who: self.who, says: &self.says, by: self.by.as_deref() }.serialize(serializer)
    }
}

/// Writes the [name](Explanation::name) of the explanation.
impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
