//! `Serialize` for events: the fields of [`JsonEvent`](crate::json::JsonEvent), but for `community_id` and `file`.
//! [`FlowId`](huginn_net_core::FlowId) adds `proto`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use huginn_net_core::{Escaped, Timestamp, serialize_as_text};
use huginn_net_db::{ClientMatch, HttpParams, Label, Software, TcpParams};
use huginn_net_http::http2::{Akamai, AkamaiHash};
use huginn_net_http::{HttpVersion, language};
use huginn_net_ssh::{Hassh, SshPeer};
use huginn_net_tcp::{Handshake, Mtu, TcpSignature};
use huginn_net_tls::{Ja4, TlsClient, TlsServer, Version};
use serde::{Serialize, Serializer};

use crate::connection::Connection;
use crate::consistency::{Consistency, Outcome};
use crate::finding::{
    ChangeFinding, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding, SshClientFinding,
    SystemCheck, TcpFinding, TlsClientFinding, UptimeFinding,
};
use crate::fingerprint_list::ListEntry;
use crate::hosts::Reasons;
use crate::{CommunityId, Finding};

serialize_as_text!(CommunityId);

/// Serializes the [`Display`] text of a value.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// `event` (`tcp_syn`, `tcp_syn_ack`, `mtu`, `uptime`, `http_request`, `http_response`, `tls_client`, `tls_server`, `ssh_client`,
/// `ssh_server`, `host_change`, `ip_sharing`, `mismatch` or `connection`), and the fields of the finding.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        enum Shape<'a> {
            TcpSyn(&'a TcpFinding),
            TcpSynAck(&'a TcpFinding),
            Mtu(&'a MtuFinding),
            HttpRequest(&'a HttpRequestFinding),
            HttpResponse(&'a HttpResponseFinding),
            TlsClient(&'a TlsClientFinding),
            TlsServer(&'a TlsServer),
            SshClient(&'a SshClientFinding),
            SshServer(&'a SshPeer),
            Uptime(&'a UptimeFinding),
            HostChange(&'a ChangeFinding),
            IpSharing(&'a ChangeFinding),
            Mismatch(&'a Consistency),
            Connection(&'a Connection),
        }
        match self {
            Self::Tcp(finding) => match finding.signature.handshake {
                Handshake::Syn => Shape::TcpSyn(finding),
                Handshake::SynAck => Shape::TcpSynAck(finding),
            },
            Self::Mtu(finding) => Shape::Mtu(finding),
            Self::HttpRequest(finding) => Shape::HttpRequest(finding),
            Self::HttpResponse(finding) => Shape::HttpResponse(finding),
            Self::TlsClient(finding) => Shape::TlsClient(finding),
            Self::TlsServer(server) => Shape::TlsServer(server),
            Self::SshClient(finding) => Shape::SshClient(finding),
            Self::SshServer(peer) => Shape::SshServer(peer),
            Self::Uptime(finding) => Shape::Uptime(finding),
            Self::HostChange(finding) => Shape::HostChange(finding),
            Self::IpSharing(finding) => Shape::IpSharing(finding),
            Self::Mismatch(consistency) => Shape::Mismatch(consistency),
            Self::Connection(connection) => Shape::Connection(connection),
        }
        .serialize(serializer)
    }
}

/// `sig`, `label`, `fuzzy`, `distance` (hops) and `params`.
impl Serialize for TcpFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            sig: &'a TcpSignature,
            label: Option<&'a Label>,
            fuzzy: bool,
            distance: u8,
            params: &'a TcpParams,
        }
        let Self { signature: sig, distance, params, .. } = self;
        Shape { sig, label: self.label(), fuzzy: params.fuzzy, distance: distance.hops, params }
            .serialize(serializer)
    }
}

/// The fields of the [client](TlsClient), `software`, and with a list of fingerprints `listed`.
impl Serialize for TlsClientFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            #[serde(flatten)]
            client: WithSoftware<'a, TlsClient>,
            #[serde(skip_serializing_if = "Option::is_none")]
            listed: Option<Option<Vec<&'a ListEntry>>>,
        }
        let client = WithSoftware { fingerprints: &self.client, software: self.software() };
        let listed = self.listed().map(|entries| Some(entries).filter(|entries| !entries.is_empty()));
        Shape { client, listed }.serialize(serializer)
    }
}

/// The fields of the [peer](SshPeer), and `software`.
impl Serialize for SshClientFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WithSoftware { fingerprints: &self.peer, software: self.software() }.serialize(serializer)
    }
}

/// Fingerprints, and the software that they name.
#[derive(Serialize)]
struct WithSoftware<'a, T> {
    #[serde(flatten)]
    fingerprints: &'a T,
    software: Option<ClientMatch>,
}

/// `mtu` (bytes) and `link`.
impl Serialize for MtuFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            mtu: Mtu,
            link: Option<&'a str>,
        }
        Shape { mtu: self.mtu, link: self.link.as_deref() }.serialize(serializer)
    }
}

/// The fields of the [clock](huginn_net_tcp::Clock).
impl Serialize for UptimeFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.clock.serialize(serializer)
    }
}

/// `outcome` and `reasons`.
impl Serialize for Consistency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            outcome: &'static str,
            reasons: &'a [String],
        }
        let Self { outcome, reasons } = self;
        Shape { outcome: outcome.name(), reasons }.serialize(serializer)
    }
}

/// The fields of the event; names are texts, `duration` is in seconds.
impl Serialize for Connection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            start: Timestamp,
            duration: f64,
            #[serde(flatten)]
            traffic: BTreeMap<&'static str, u64>,
            host: Option<Escaped<'a>>,
            client_system: Option<Text<&'a Label>>,
            server_system: Option<Text<&'a Label>>,
            client_software: Option<&'a str>,
            server_software: Option<Text<&'a Label>>,
            tls_client: Option<Text<&'a Software>>,
            tls_version: Option<Version>,
            ja4: Option<Ja4>,
            hassh: Option<Hassh>,
            hassh_server: Option<Hassh>,
            mismatch: Option<&'static str>,
        }
        Shape {
            start: self.start,
            duration: self.duration(),
            traffic: self.traffic().into(),
            host: self.host.as_deref().map(Escaped),
            client_system: self.client_system.as_deref().map(Text),
            server_system: self.server_system.as_deref().map(Text),
            client_software: self.client_software.as_deref(),
            server_software: self.server_software.as_deref().map(Text),
            tls_client: self.tls_client.as_ref().map(|found| Text(&*found.software)),
            tls_version: self.tls_version,
            ja4: self.ja4,
            hassh: self.hassh,
            hassh_server: self.hassh_server,
            mismatch: self.mismatch.map(Outcome::name),
        }
        .serialize(serializer)
    }
}

/// `reasons` and `hits`.
impl Serialize for ChangeFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            reasons: Reasons,
            hits: [u8; 4],
        }
        Shape { reasons: self.reasons, hits: self.hits }.serialize(serializer)
    }
}

/// `version`, `exchange`, `method`, `host`, `path`, `user_agent`, `language`, the fields of the [verdict](HttpVerdict), and
/// with HTTP/2 `akamai` and `akamai_hash`.
impl Serialize for HttpRequestFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            version: HttpVersion,
            exchange: u32,
            method: Escaped<'a>,
            host: Option<Escaped<'a>>,
            path: Option<Escaped<'a>>,
            user_agent: Option<Escaped<'a>>,
            language: Option<&'a str>,
            #[serde(flatten)]
            verdict: &'a HttpVerdict,
            #[serde(skip_serializing_if = "Option::is_none")]
            akamai: Option<&'a Akamai>,
            #[serde(skip_serializing_if = "Option::is_none")]
            akamai_hash: Option<AkamaiHash>,
            #[serde(skip_serializing_if = "Option::is_none")]
            software: Option<Option<&'a ClientMatch>>,
        }
        let Self { request, exchange, akamai, software, verdict } = self;
        let akamai = akamai.as_deref();
        Shape {
            version: request.version(),
            exchange: *exchange,
            method: Escaped(request.method()),
            host: request.host().map(Escaped),
            path: request.path().map(Escaped),
            user_agent: request.user_agent().map(Escaped),
            language: request.language().map(|tag| language::name(tag).unwrap_or(tag)),
            verdict,
            akamai,
            akamai_hash: akamai.map(Akamai::hash),
            software: akamai.map(|_| software.as_ref()),
        }
        .serialize(serializer)
    }
}

/// `version`, `exchange`, `status`, `server_header` and the fields of the [verdict](HttpVerdict).
impl Serialize for HttpResponseFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            version: HttpVersion,
            exchange: u32,
            status: u16,
            server_header: Option<Escaped<'a>>,
            #[serde(flatten)]
            verdict: &'a HttpVerdict,
        }
        let Self { response, exchange, verdict } = self;
        Shape {
            version: response.version(),
            exchange: *exchange,
            status: response.status(),
            server_header: response.server().map(Escaped),
            verdict,
        }
        .serialize(serializer)
    }
}

/// `sig`, `label`, `params`, `claimed_os` and `os_agrees`.
impl Serialize for HttpVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a, T> {
            sig: T,
            label: Option<&'a Label>,
            params: HttpParams,
            claimed_os: Option<&'a str>,
            os_agrees: Option<bool>,
        }
        Shape {
            sig: Text(self.raw_sig()),
            label: self.label(),
            params: self.params,
            claimed_os: self.system.claimed.as_deref(),
            os_agrees: self.system.agrees,
        }
        .serialize(serializer)
    }
}

/// `claimed`, `text` and `agrees`.
impl Serialize for SystemCheck {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            claimed: Option<&'a str>,
            text: Option<&'a str>,
            agrees: Option<bool>,
        }
        let [claimed, text] = [&self.claimed, &self.text].map(|text: &Option<Arc<str>>| text.as_deref());
        Shape { claimed, text, agrees: self.agrees }.serialize(serializer)
    }
}
