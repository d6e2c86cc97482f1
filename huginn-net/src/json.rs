//! Events as flat JSON objects.

use std::fmt;
use std::net::SocketAddr;

use huginn_net_core::TunnelPath;
use huginn_net_db::Label;
use huginn_net_http::language;
use huginn_net_tcp::Handshake;
use huginn_net_tls::{AlpnList, TlsClient, TlsServer};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use crate::{
    CommunityId, Escaped, Event, Finding, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding,
    Reasons, TcpFinding, UptimeFinding,
};

/// Serialises an event as one flat object: the fields that every event has, then those of its kind.
///
/// Absent values are `null`; `tunnel` and `file` are left out where there is none.
#[derive(Clone, Copy, Debug)]
pub struct JsonEvent<'a> {
    /// The event.
    pub event: &'a Event,
    /// The file it comes from, where several are read.
    pub file: Option<&'a str>,
}

impl Serialize for JsonEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { event, file } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ts", &Text(&event.ts))?;
        map.serialize_entry("event", name(&event.kind))?;
        map.serialize_entry("client", &Endpoint(event.flow.client))?;
        map.serialize_entry("server", &Endpoint(event.flow.server))?;
        map.serialize_entry("subject", &Text(&event.subject))?;
        if !event.flow.tunnel.is_empty() {
            map.serialize_entry("tunnel", &Layers(&event.flow.tunnel))?;
        }
        map.serialize_entry("community_id", &Text(&CommunityId::of(&event.flow)))?;
        if let Some(file) = file {
            map.serialize_entry("file", file)?;
        }
        match &event.kind {
            Finding::Tcp(finding) => tcp_entries(&mut map, finding)?,
            Finding::Mtu(MtuFinding { mtu, link }) => {
                map.serialize_entry("mtu", &mtu.0)?;
                map.serialize_entry("link", &link.as_deref())?;
            }
            Finding::HttpRequest(finding) => http_request_entries(&mut map, finding)?,
            Finding::HttpResponse(finding) => http_response_entries(&mut map, finding)?,
            Finding::TlsClient(client) => tls_client_entries(&mut map, client)?,
            Finding::TlsServer(server) => tls_server_entries(&mut map, server)?,
            Finding::Uptime(UptimeFinding { clock }) => {
                map.serialize_entry("minutes", &clock.uptime_minutes())?;
                map.serialize_entry("modulo_days", &clock.modulo_days())?;
                map.serialize_entry("frequency_hz", &clock.frequency())?;
                map.serialize_entry("raw_frequency_hz", &clock.raw_frequency())?;
            }
            Finding::HostChange(finding) | Finding::IpSharing(finding) => {
                map.serialize_entry("reasons", &Names(finding.reasons))?;
                map.serialize_entry("hits", &finding.hits)?;
            }
        }
        map.end()
    }
}

/// The name of this kind of event.
fn name(finding: &Finding) -> &'static str {
    match finding {
        Finding::Tcp(finding) => match finding.signature.handshake {
            Handshake::Syn => "tcp_syn",
            Handshake::SynAck => "tcp_syn_ack",
        },
        Finding::Mtu(_) => "mtu",
        Finding::HttpRequest(_) => "http_request",
        Finding::HttpResponse(_) => "http_response",
        Finding::TlsClient(_) => "tls_client",
        Finding::TlsServer(_) => "tls_server",
        Finding::Uptime(_) => "uptime",
        Finding::HostChange(_) => "host_change",
        Finding::IpSharing(_) => "ip_sharing",
    }
}

fn tcp_entries<M: SerializeMap>(map: &mut M, finding: &TcpFinding) -> Result<(), M::Error> {
    let TcpFinding { signature, distance, params, .. } = finding;
    map.serialize_entry("sig", &Text(signature))?;
    map.serialize_entry("label", &finding.label().map(JsonLabel))?;
    map.serialize_entry("fuzzy", &params.fuzzy)?;
    map.serialize_entry("distance", &distance.hops)?;
    map.serialize_entry("params", &Text(params))
}

fn http_request_entries<M: SerializeMap>(map: &mut M, finding: &HttpRequestFinding) -> Result<(), M::Error> {
    let HttpRequestFinding { request, exchange, akamai, verdict } = finding;
    map.serialize_entry("version", &Text(&request.version()))?;
    map.serialize_entry("exchange", exchange)?;
    map.serialize_entry("method", &Wire(request.method()))?;
    map.serialize_entry("host", &request.host().map(Wire))?;
    map.serialize_entry("path", &request.path().map(Wire))?;
    map.serialize_entry("user_agent", &request.user_agent().map(Wire))?;
    let tag = request.language();
    map.serialize_entry("language", &tag.map(|tag| language::name(tag).unwrap_or(tag)))?;
    http_entries(map, verdict)?;
    if let Some(akamai) = akamai {
        map.serialize_entry("akamai", &Text(&**akamai))?;
        map.serialize_entry("akamai_hash", &Text(&akamai.hash()))?;
    }
    Ok(())
}

fn http_response_entries<M: SerializeMap>(
    map: &mut M,
    finding: &HttpResponseFinding,
) -> Result<(), M::Error> {
    let HttpResponseFinding { response, exchange, verdict } = finding;
    map.serialize_entry("version", &Text(&response.version()))?;
    map.serialize_entry("exchange", exchange)?;
    map.serialize_entry("status", &response.status())?;
    map.serialize_entry("server_header", &response.server().map(Wire))?;
    http_entries(map, verdict)
}

fn http_entries<M: SerializeMap>(map: &mut M, verdict: &HttpVerdict) -> Result<(), M::Error> {
    map.serialize_entry("sig", &Text(&verdict.raw_sig()))?;
    map.serialize_entry("label", &verdict.label().map(JsonLabel))?;
    map.serialize_entry("params", &Text(&verdict.params))?;
    map.serialize_entry("claimed_os", &verdict.system.claimed.as_deref())?;
    map.serialize_entry("os_agrees", &verdict.system.agrees)
}

fn tls_client_entries<M: SerializeMap>(map: &mut M, client: &TlsClient) -> Result<(), M::Error> {
    let TlsClient { hello, retry, .. } = client;
    let raws = [hello.ja4_r(), hello.ja4_ro(), hello.ja4_s1r()];
    map.serialize_entry("transport", &Text(&hello.transport()))?;
    map.serialize_entry("version", &Text(&hello.version()))?;
    map.serialize_entry("sni", &hello.server_name().map(Wire))?;
    map.serialize_entry("alpn", &WireList(hello.alpn()))?;
    map.serialize_entry("ech", &hello.has_ech())?;
    map.serialize_entry("retry", retry)?;
    for (raw, (name, name_of_raw)) in
        raws.iter().zip([("ja4", "ja4_r"), ("ja4_o", "ja4_ro"), ("ja4_s1", "ja4_s1r")])
    {
        map.serialize_entry(name, &Text(&raw.ja4()))?;
        map.serialize_entry(name_of_raw, &Text(raw))?;
    }
    map.serialize_entry("ja3", &Text(&hello.ja3()))?;
    map.serialize_entry("ja3_hash", &Text(&hello.ja3_hash()))
}

fn tls_server_entries<M: SerializeMap>(map: &mut M, server: &TlsServer) -> Result<(), M::Error> {
    let TlsServer { hello, .. } = server;
    map.serialize_entry("transport", &Text(&hello.transport()))?;
    map.serialize_entry("version", &Text(&hello.version()))?;
    map.serialize_entry("cipher", &Text(&format_args!("{:04x}", hello.cipher_suite())))?;
    map.serialize_entry("alpn", &hello.alpn().map(Wire))?;
    map.serialize_entry("retry", &hello.is_retry_request())?;
    map.serialize_entry("ja3s", &Text(&hello.ja3s()))?;
    map.serialize_entry("ja3s_hash", &Text(&hello.ja3s_hash()))
}

/// Bytes of the wire as text.
struct Wire<'a>(&'a [u8]);

impl Serialize for Wire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Escaped(self.0))
    }
}

/// A list of them.
struct WireList<'a>(AlpnList<'a>);

impl Serialize for WireList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.map(Wire))
    }
}

/// A list of the names of reasons.
struct Names(Reasons);

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.names())
    }
}

/// A value as its text.
struct Text<'a, T>(&'a T);

impl<T: fmt::Display> Serialize for Text<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// `{"ip": "...", "port": n}`.
struct Endpoint(SocketAddr);

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Endpoint", 2)?;
        object.serialize_field("ip", &Text(&self.0.ip()))?;
        object.serialize_field("port", &self.0.port())?;
        object.end()
    }
}

/// The layers of a tunnel, outermost first.
struct Layers<'a>(&'a TunnelPath);

impl Serialize for Layers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let layers = self.0.layers();
        let mut list = serializer.serialize_seq(Some(layers.len()))?;
        for layer in layers {
            list.serialize_element(&Text(layer))?;
        }
        list.end()
    }
}

/// `{"class", "name", "flavor", "generic"}`.
struct JsonLabel<'a>(&'a Label);

impl Serialize for JsonLabel<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Label", 4)?;
        object.serialize_field("class", self.0.class.as_deref().unwrap_or("!"))?;
        object.serialize_field("name", &*self.0.name)?;
        object.serialize_field("flavor", &self.0.flavor.as_deref())?;
        object.serialize_field("generic", &self.0.generic)?;
        object.end()
    }
}
