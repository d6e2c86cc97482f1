//! Values that a format writes in another form than JSON.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Deref;

use huginn_net_core::{Escaped, FlowId, HexDigits, Timestamp, TransportKind};
use huginn_net_http::HttpVersion;
use huginn_net_tls::Version;
use sha1::{Digest, Sha1};

use crate::observation::Connection;
use crate::record::{CommunityId, Ip, describe};
use crate::{Event, Label, Observation, Side, json};

/// Bits of a flow number: JSON readers keep them in a double.
const FLOW_NUMBER_BITS: u32 = 52;
/// The digits of a uid of Zeek.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Number of these digits that 96 bits have.
const UID_DIGITS: usize = 17;

pub(super) fn number(out: &mut Vec<u8>, value: impl itoa::Integer) -> bool {
    json::write_number(out, value);
    true
}

pub(super) fn text(out: &mut Vec<u8>, value: &str) -> bool {
    json::write_text(out, value);
    true
}

/// Bytes from the wire as our JSON has them: up to the limit of texts, and escaped.
pub(super) fn wire_text(event: &Event, bytes: &[u8]) -> String {
    let (start, _) = event.kind.text_limit().cut(bytes);
    Escaped(start).to_string()
}

/// A flow, with its hashes.
pub(super) struct HashedFlow<'f> {
    flow: &'f FlowId,
    community_id: CommunityId,
    /// The bytes that identify a connection: a hash of its Community ID, the network that tunnels separate, and its first packet. Both
    /// directions of a tunnel have the same, also where each has an identifier of its own.
    pub(super) identity: [u8; 20],
}

impl<'f> HashedFlow<'f> {
    pub(super) fn new(event: &'f Event) -> Self {
        let Event { ref flow, first_packet, .. } = *event;
        let community_id = CommunityId::from_flow(flow);
        let mut hash = Sha1::new();
        hash.update(community_id.digest());
        hash.update(flow.tunnel_key().to_be_bytes());
        hash.update(first_packet.to_be_bytes());
        Self { flow, community_id, identity: hash.finalize().into() }
    }
}

impl Deref for HashedFlow<'_> {
    type Target = FlowId;

    fn deref(&self) -> &FlowId {
        self.flow
    }
}

pub(super) fn client_ip(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    describe::append(out, &Ip(flow.client.ip()));
}

pub(super) fn client_port(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    number(out, flow.client.port());
}

pub(super) fn server_ip(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    describe::append(out, &Ip(flow.server.ip()));
}

pub(super) fn server_port(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    number(out, flow.server.port());
}

pub(super) fn community_id(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    describe::append(out, &flow.community_id);
}

pub(super) fn transport(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    text(out, flow.transport.name());
}

pub(super) fn transport_upper(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    text(out, &flow.transport.name().to_ascii_uppercase());
}

pub(super) fn transport_number(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    number(out, flow.transport.number());
}

pub(super) fn iana_number(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    text(out, itoa::Buffer::new().format(flow.transport.number()));
}

pub(super) fn ip_version(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    number(out, if flow.client.is_ipv4() { 4_u8 } else { 6 });
}

pub(super) fn ip_version_name(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    text(out, if flow.client.is_ipv4() { "ipv4" } else { "ipv6" });
}

pub(super) fn tunnel(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    let layers = flow.tunnel.as_ref().map_or(&[][..], |tunnel| tunnel.layers());
    let layers: Vec<String> = layers.iter().map(ToString::to_string).collect();
    if layers.is_empty() {
        out.extend_from_slice(b"null");
    } else {
        describe::append(out, &layers);
    }
}

pub(super) fn flow_number(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    let [a, b, c, d, e, f, g, h, ..] = flow.identity;
    number(out, u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> (u64::BITS - FLOW_NUMBER_BITS));
}

pub(super) fn flow_uid(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    let mut rest = flow.identity.iter().take(12).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    out.extend_from_slice(b"\"C");
    for _ in 0..UID_DIGITS {
        let digit = usize::try_from(rest % 62).ok().and_then(|digit| BASE62.get(digit));
        out.push(digit.copied().unwrap_or(b'0'));
        rest /= 62;
    }
    out.push(b'"');
}

pub(super) fn flow_hex(flow: &HashedFlow<'_>, out: &mut Vec<u8>) {
    let start = flow.identity.first_chunk::<12>().copied().unwrap_or_default();
    // Writing to memory does not fail.
    let _ = write!(out, "\"{}\"", HexDigits(&start));
}

/// RFC 3339, as in our JSON.
pub(super) fn iso(time: Timestamp, out: &mut Vec<u8>) -> bool {
    out.push(b'"');
    out.extend_from_slice(time.text().as_ref());
    out.push(b'"');
    true
}

/// The form of Suricata: six digits, and an offset without a colon.
pub(super) fn iso_offset(time: Timestamp, out: &mut Vec<u8>) -> bool {
    out.push(b'"');
    let text = Timestamp::from_nanos(time.as_nanos(), 6).text();
    out.extend_from_slice(text.as_ref().strip_suffix(b"Z").unwrap_or_default());
    out.extend_from_slice(b"+0000\"");
    true
}

/// Seconds since the epoch, with six decimals.
pub(super) fn epoch(time: Timestamp, out: &mut Vec<u8>) -> bool {
    // Writing to memory does not fail.
    let _ = write!(out, "{}.{:06}", time.as_secs(), time.subsec_nanos() / 1_000);
    true
}

/// The packets of a TCP connection, in Zeek's letters.
pub(super) fn history(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event)
        .filter(|found| !found.history.is_empty())
        .is_some_and(|found| text(out, &found.history.to_string()))
}

/// Zeek's name of the state of a connection.
pub(super) fn conn_state(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event).is_some_and(|found| {
        let [client, server] = [found.client, found.server];
        let has_payload = client.bytes > 0 || server.bytes > 0;
        let state = match (found.history.is_empty(), client.packets > 0, server.packets > 0) {
            (false, ..) => found.history.state(has_payload),
            (true, true, true) => "SF",
            (true, true, false) => "S0",
            (true, false, true) => "SHR",
            (true, false, false) => "OTH",
        };
        text(out, state)
    })
}

fn connection(event: &Event) -> Option<&Connection> {
    match &event.kind {
        Observation::Connection(connection) => Some(connection),
        _ => None,
    }
}

/// The time of an event: of a connection, its first packet.
fn start_or_time(event: &Event) -> Timestamp {
    connection(event).map_or(event.ts, |connection| connection.start)
}

pub(super) fn time_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    iso_offset(event.ts, out)
}

pub(super) fn time_zeek(event: &Event, out: &mut Vec<u8>) -> bool {
    epoch(start_or_time(event), out)
}

pub(super) fn time_ecs(event: &Event, out: &mut Vec<u8>) -> bool {
    iso(event.ts, out)
}

pub(super) fn time_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    number(out, event.ts.as_millis())
}

pub(super) fn start_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event).is_some_and(|connection| iso_offset(connection.start, out))
}

pub(super) fn end_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event).is_some_and(|connection| iso_offset(connection.end, out))
}

pub(super) fn start_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event).is_some_and(|connection| number(out, connection.start.as_millis()))
}

pub(super) fn end_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event).is_some_and(|connection| number(out, connection.end.as_millis()))
}

pub(super) fn end_ecs(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event).is_some_and(|connection| iso(connection.end, out))
}

pub(super) fn age_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event)
        .is_some_and(|found| number(out, found.end.as_secs().saturating_sub(found.start.as_secs())))
}

pub(super) fn duration_ns(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event)
        .is_some_and(|found| number(out, found.end.as_nanos().saturating_sub(found.start.as_nanos())))
}

pub(super) fn duration_ms(event: &Event, out: &mut Vec<u8>) -> bool {
    connection(event)
        .is_some_and(|found| number(out, found.end.as_millis().saturating_sub(found.start.as_millis())))
}

fn is_http2(event: &Event) -> bool {
    let version = match &event.kind {
        Observation::HttpRequest(observation) => observation.request.version(),
        Observation::HttpResponse(observation) => observation.response.version(),
        _ => return false,
    };
    version == HttpVersion::Http2
}

pub(super) fn http2_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    is_http2(event) && text(out, "2")
}

pub(super) fn stream_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    let exchange = match &event.kind {
        Observation::HttpRequest(observation) => observation.exchange,
        Observation::HttpResponse(observation) => observation.exchange,
        _ => return false,
    };
    is_http2(event) && number(out, exchange)
}

/// OCSF's number of an activity that it does not name.
const OTHER_ACTIVITY: u32 = 99;

/// The activity of OCSF's HTTP Activity.
fn http_activity(event: &Event) -> u32 {
    let Observation::HttpRequest(observation) = &event.kind else { return 0 };
    match observation.request.method() {
        b"CONNECT" => 1,
        b"DELETE" => 2,
        b"GET" => 3,
        b"HEAD" => 4,
        b"OPTIONS" => 5,
        b"POST" => 6,
        b"PUT" => 7,
        b"TRACE" => 8,
        _ => OTHER_ACTIVITY,
    }
}

pub(super) fn activity_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    number(out, http_activity(event))
}

pub(super) fn http_type_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    number(out, http_activity(event).saturating_add(400_200))
}

/// The target of a request; of a tunnel of HTTP/2, which has none, the host.
pub(super) fn url_ocsf(value: &str, event: &Event) -> Option<String> {
    let Observation::HttpRequest(observation) = &event.kind else { return None };
    let host = || observation.request.host().map(|host| json_text(&wire_text(event, host)));
    if value == "null" { host() } else { Some(value.to_owned()) }
}

fn json_text(value: &str) -> String {
    let mut out = Vec::new();
    text(&mut out, value);
    String::from_utf8(out).unwrap_or_default()
}

/// The method, if OCSF has it.
pub(super) fn method_ocsf(value: &str, event: &Event) -> Option<String> {
    (http_activity(event) != OTHER_ACTIVITY).then(|| value.to_owned())
}

/// The method, if OCSF does not have it.
pub(super) fn other_method_ocsf(event: &Event, out: &mut Vec<u8>) -> bool {
    let Observation::HttpRequest(observation) = &event.kind else { return false };
    let is_other = http_activity(event) == OTHER_ACTIVITY;
    is_other && text(out, &wire_text(event, observation.request.method()))
}

/// The system that a TCP signature names; none for a tool.
fn label(event: &Event) -> Option<&Label> {
    match &event.kind {
        Observation::Tcp(observation) => observation.label().filter(|label| !label.is_tool()),
        _ => None,
    }
}

pub(super) fn os_name(event: &Event, out: &mut Vec<u8>) -> bool {
    label(event).is_some_and(|label| text(out, &label.name))
}

pub(super) fn os_version(event: &Event, out: &mut Vec<u8>) -> bool {
    // In brackets are remarks and other systems.
    let flavor = label(event).and_then(|label| label.flavor.as_deref());
    flavor.filter(|flavor| !flavor.starts_with('(')).is_some_and(|flavor| text(out, flavor))
}

/// The address of the host whose system is known.
pub(super) fn host_ip(event: &Event, out: &mut Vec<u8>) -> bool {
    if label(event).is_none() {
        return false;
    }
    let host = match event.subject {
        Side::Client => event.flow.client,
        Side::Server => event.flow.server,
    };
    out.push(b'[');
    describe::append(out, &Ip(host.ip()));
    out.push(b']');
    true
}

/// OCSF's number of a system.
pub(super) fn os_type(event: &Event, out: &mut Vec<u8>) -> bool {
    label(event).is_some_and(|label| {
        let kind = match &*label.name {
            "Windows" => 100_u16,
            "Linux" => 200,
            "Android" => 201,
            "Mac OS X" | "macOS" => 300,
            "iOS" => 301,
            "Solaris" => 400,
            "AIX" => 401,
            "HP-UX" => 402,
            // Several systems: unknown.
            name if name.contains(" or ") => 0,
            _ => 99,
        };
        number(out, kind)
    })
}

/// A TLS version: JA4's two characters, as JSON.
fn version_name(value: &str, names: [&str; 9]) -> Option<String> {
    let codes = ["13", "12", "11", "10", "s3", "s2", "d1", "d2", "d3"];
    let code = value.trim_matches('"');
    let name = codes.iter().zip(names).find(|(known, _)| **known == code)?.1;
    (!name.is_empty()).then(|| format!("\"{name}\""))
}

/// Suricata's name of the version that a server selects: always one, as its events have.
pub(super) fn version_eve(event: &Event, out: &mut Vec<u8>) -> bool {
    // Suricata has no DTLS, and so no numbers of its versions.
    let is_known = |version: &Version| event.flow.transport == TransportKind::Tcp || version.name().is_some();
    text(out, &version_of_suricata(selected_version(event).filter(is_known)))
}

/// Suricata's name of a version: drafts of TLS 1.3 have names, and other unknown versions are decimal numbers.
pub(super) fn version_of_suricata(version: Option<Version>) -> Cow<'static, str> {
    let Some(version) = version.filter(|version| version.0 != 0) else { return "UNDETERMINED".into() };
    match version {
        Version::TLS_1_0 => "TLSv1".into(),
        Version::SSL_3 => "SSLv3".into(),
        Version::SSL_2 => "SSLv2".into(),
        Version(0x7f01..=0x7f0f) => "TLS 1.3 draft-<16".into(),
        Version(number @ 0x7f10..=0x7f1c) => format!("TLS 1.3 draft-{}", number & 0xff).into(),
        Version(number @ (0xfb14..=0xfb17 | 0xfb1a)) => format!("TLS 1.3 draft-{}-fb", number & 0xff).into(),
        Version(number) => version.name().map_or_else(|| number.to_string().into(), Cow::Borrowed),
    }
}

pub(super) fn version_zeek(value: &str) -> Option<String> {
    let names = ["TLSv13", "TLSv12", "TLSv11", "TLSv10", "SSLv3", "SSLv2", "DTLSv10", "DTLSv12", "DTLSv13"];
    version_name(value, names)
}

pub(super) fn version_number(value: &str) -> Option<String> {
    version_name(value, ["1.3", "1.2", "1.1", "1.0", "3.0", "2.0", "1.0", "1.2", "1.3"])
}

/// The same; OCSF demands a version.
pub(super) fn version_ocsf(value: &str) -> Option<String> {
    version_number(value).or_else(|| Some("\"Unknown\"".to_owned()))
}

/// The version that the server selects.
fn selected_version(event: &Event) -> Option<Version> {
    match &event.kind {
        Observation::TlsServer(observation) => Some(observation.server.hello.version()),
        Observation::TlsHandshake(observation) => observation.handshake.version,
        _ => None,
    }
}

pub(super) fn version_protocol(event: &Event, out: &mut Vec<u8>) -> bool {
    let version = selected_version(event);
    let protocol = match version.map(|version| version.to_string()).as_deref() {
        Some("13" | "12" | "11" | "10") => "tls",
        Some("s3" | "s2") => "ssl",
        Some("d1" | "d2" | "d3") => "dtls",
        _ => return false,
    };
    text(out, protocol)
}

/// Whether a session continues an earlier one.
pub(super) fn resumed(value: &str) -> Option<String> {
    match value {
        "null" => None,
        "\"no\"" => Some("false".into()),
        _ => Some("true".into()),
    }
}

/// Splits a Host header into name and port (RFC 3986, section 3.2). Where what follows the last colon is not a port, as in an
/// IPv6 address without brackets, all of it is the name.
fn split_host(host: &str) -> (&str, Option<u16>) {
    let Some((name, port)) = host.rsplit_once(':') else { return (host, None) };
    let is_address = name.starts_with('[') && name.ends_with(']');
    let is_name = !name.is_empty() && (is_address || !name.contains(':'));
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_name && is_number => (name, Some(port)),
        // A port may be empty.
        Err(_) if is_name && port.is_empty() => (name, None),
        _ => (host, None),
    }
}

/// The name of a Host header, without the port.
pub(super) fn host_name(value: &str) -> Option<String> {
    let host = value.strip_prefix('"')?.strip_suffix('"')?;
    let (name, _) = split_host(host);
    (!name.is_empty()).then(|| format!("\"{name}\""))
}

/// The port of the Host header.
pub(super) fn host_port(event: &Event, out: &mut Vec<u8>) -> bool {
    let Observation::HttpRequest(observation) = &event.kind else { return false };
    let host = observation.request.host().map(String::from_utf8_lossy).unwrap_or_default();
    let (_, port) = split_host(&host);
    port.is_some_and(|port| number(out, port))
}

/// The name in lower case; of HTTP/2, as it is.
pub(super) fn host_eve(value: &str, event: &Event) -> Option<String> {
    if is_http2(event) {
        return (value != "null").then(|| value.to_owned());
    }
    host_name(value).map(|name| name.to_ascii_lowercase())
}

/// `HTTP/1.1`; nothing for HTTP/2.
pub(super) fn http_protocol(value: &str) -> Option<String> {
    let version = value.trim_matches('"');
    (version != "2").then(|| format!("\"HTTP/{version}\""))
}

/// The software version of an identification string (RFC 4253, section 4.2), without comments.
pub(super) fn ssh_software(value: &str) -> Option<String> {
    let text = value.strip_prefix("\"SSH-")?.strip_suffix('"')?;
    let (_, software) = text.split_once('-')?;
    let software = software.split(' ').next().filter(|software| !software.is_empty())?;
    Some(format!("\"{software}\""))
}

/// The comments of an identification string, which the software version leaves out.
pub(super) fn ssh_comments(event: &Event, out: &mut Vec<u8>) -> bool {
    let identification = match &event.kind {
        Observation::SshClient(observation) => observation.peer.identification.as_bytes(),
        Observation::SshServer(observation) => observation.peer.identification.as_bytes(),
        _ => return false,
    };
    let banner = wire_text(event, identification);
    banner.split_once(' ').is_some_and(|(_, comments)| !comments.is_empty() && text(out, comments))
}

/// A duration in seconds; nothing for a connection of one packet.
pub(super) fn duration_zeek(value: &str) -> Option<String> {
    (value != "0.0").then(|| value.to_owned())
}

/// Zeek's number of an SSH version.
pub(super) fn ssh_version(value: &str) -> Option<String> {
    match value {
        "\"2.0\"" => Some("2".into()),
        "\"1.5\"" | "\"1.3\"" => Some("1".into()),
        _ => None,
    }
}

/// The only element of a list.
pub(super) fn only_element(value: &str) -> Option<String> {
    value.strip_prefix('[')?.strip_suffix(']').map(str::to_owned)
}
