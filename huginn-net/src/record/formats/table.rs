//! The table of fields: where each format has a field of our events, and in which form.
//!
//! Names are those of `etc/schema.json` of Suricata 8.0, of Zeek's base scripts and its packages ja3, ja4 and hassh, of the
//! fields of ECS 9.4 and of the OCSF schema 1.5.

use super::alert;
use super::certificate::{self, CLIENT as OF_CLIENT, SERVER as OF_SERVER};
use super::values::{self as value, HashedFlow};
use crate::Event;
use crate::record::ALERT_NAMES as ALERTS;

/// Writes a value of the flow.
pub(super) type FlowValue = fn(&HashedFlow<'_>, &mut Vec<u8>);

/// Writes a value of the event; `false` leaves it out.
pub(super) type EventValue = fn(&Event, &mut Vec<u8>) -> bool;

/// A value in the form of one format.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// The value of our JSON.
    Same,
    /// The value of our JSON in another form; `None` leaves it out.
    Text(fn(&str) -> Option<String>),
    /// The same, by the event.
    TextOf(fn(&str, &Event) -> Option<String>),
    /// A value of the event; `false` leaves it out.
    Event(EventValue),
    /// A value of the flow. `null` is left out.
    Flow(FlowValue),
    /// A constant, as JSON.
    Constant(&'static str),
    /// A constant that is written if its object has another field.
    Companion(&'static str),
    /// The name of the sensor.
    Sensor,
    /// A field of the user, in the place of `NAME`.
    OwnField,
    /// The number of a record of an output.
    Sequence,
}

/// The place of a value in one format.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Under a name of our own.
    Own,
    /// Left out: another field of the format has it.
    Nowhere,
    /// At a path. `[]` after a name makes the object the only element of a list.
    At(&'static str, Form),
}

/// Kinds of events.
#[derive(Clone, Copy)]
pub(super) enum Kinds {
    /// These; all if there are none.
    Of(&'static [&'static str]),
    /// All but those of these lists.
    Except(&'static [&'static [&'static str]]),
}

impl Kinds {
    /// Whether an event is of one of the kinds.
    pub(super) fn contains(self, event: &str) -> bool {
        match self {
            Self::Of(kinds) => kinds.is_empty() || kinds.contains(&event),
            Self::Except(lists) => !lists.iter().any(|kinds| kinds.contains(&event)),
        }
    }
}

/// A row of the table.
pub(super) struct Row {
    /// The kinds of events.
    pub(super) events: Kinds,
    /// The field of our JSON, or in words what a value says that has no field.
    pub(super) field: &'static str,
    /// Whether `field` is a name.
    pub(super) is_field: bool,
    /// EVE, Zeek, ECS, OCSF.
    pub(super) places: [Place; 4],
}

const NO: Place = Place::Own;
const NOT: Place = Place::Nowhere;

const fn at(path: &'static str) -> Place {
    Place::At(path, Form::Same)
}

const fn text(path: &'static str, form: fn(&str) -> Option<String>) -> Place {
    Place::At(path, Form::Text(form))
}

const fn text_of(path: &'static str, form: fn(&str, &Event) -> Option<String>) -> Place {
    Place::At(path, Form::TextOf(form))
}

const fn event(path: &'static str, form: EventValue) -> Place {
    Place::At(path, Form::Event(form))
}

const fn flow(path: &'static str, form: FlowValue) -> Place {
    Place::At(path, Form::Flow(form))
}

const fn is(path: &'static str, json: &'static str) -> Place {
    Place::At(path, Form::Constant(json))
}

const fn with(path: &'static str, json: &'static str) -> Place {
    Place::At(path, Form::Companion(json))
}

const fn sensor(path: &'static str) -> Place {
    Place::At(path, Form::Sensor)
}

const fn own_field(path: &'static str) -> Place {
    Place::At(path, Form::OwnField)
}

const fn sequence(path: &'static str) -> Place {
    Place::At(path, Form::Sequence)
}

/// A row of a field of our JSON.
const fn field(events: &'static [&'static str], field: &'static str, places: [Place; 4]) -> Row {
    Row { events: Kinds::Of(events), field, is_field: true, places }
}

/// A row of a value that has no field in our JSON, or one that another row has, too.
const fn extra(events: &'static [&'static str], words: &'static str, places: [Place; 4]) -> Row {
    extra_of(Kinds::Of(events), words, places)
}

/// The same for any set of kinds.
const fn extra_of(events: Kinds, words: &'static str, places: [Place; 4]) -> Row {
    Row { events, field: words, is_field: false, places }
}

const ALL: &[&str] = &[];
const TCP: &[&str] = &["tcp_syn", "tcp_syn_ack"];
const SYN: &[&str] = &["tcp_syn"];
const SYN_ACK: &[&str] = &["tcp_syn_ack"];
const TLS: &[&str] = &["tls_client", "tls_server", "tls_handshake", "tls_certificates"];
const CLIENT: &[&str] = &["tls_client"];
const SERVER: &[&str] = &["tls_server"];
const HANDSHAKE: &[&str] = &["tls_handshake"];
const CERTIFICATES: &[&str] = &["tls_certificates"];
const HTTP: &[&str] = &["http_request", "http_response"];
const REQUEST: &[&str] = &["http_request"];
const RESPONSE: &[&str] = &["http_response"];
const SSH: &[&str] = &["ssh_client", "ssh_server", "ssh_handshake"];
const SSH_CLIENT: &[&str] = &["ssh_client"];
const SSH_SERVER: &[&str] = &["ssh_server"];
const SSH_HANDSHAKE: &[&str] = &["ssh_handshake"];
const CONNECTION: &[&str] = &["connection"];
const FINDING: &[&str] = &["finding"];
/// Events that Suricata and Zeek do not have.
const OURS: Kinds = Kinds::Except(&[TLS, HTTP, SSH, CONNECTION, ALERTS]);
/// Events that are not about one protocol above TCP and UDP.
const OCSF_NETWORK: Kinds = Kinds::Except(&[HTTP, SSH, CONNECTION, ALERTS]);
/// Events that only state facts.
const FACTS: Kinds = Kinds::Except(&[ALERTS]);

/// What all kinds of alerts are.
const CATEGORY: &str = "\"Passive traffic analysis\"";
/// The number of the program among those that have numbers of signatures. Suricata's rules have 1.
pub(super) const GID: &str = "4817";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // All events.
    field(ALL, "ts", [event("timestamp", value::time_eve), event("ts", value::time_zeek), event("@timestamp", value::time_ecs), event("time", value::time_ocsf)]),
    field(ALL, "packet", [at("pcap_cnt"), NO, NO, NO]),
    field(ALL, "file", [at("pcap_filename"), NO, NO, NO]),
    field(ALL, "interface", [at("in_iface"), NO, at("observer.ingress.interface.name"), NO]),
    field(ALL, "client.ip", [flow("src_ip", value::client_ip), flow("id.orig_h", value::client_ip), flow("source.ip", value::client_ip), flow("src_endpoint.ip", value::client_ip)]),
    field(ALL, "client.port", [flow("src_port", value::client_port), flow("id.orig_p", value::client_port), flow("source.port", value::client_port), flow("src_endpoint.port", value::client_port)]),
    field(ALL, "server.ip", [flow("dest_ip", value::server_ip), flow("id.resp_h", value::server_ip), flow("destination.ip", value::server_ip), flow("dst_endpoint.ip", value::server_ip)]),
    field(ALL, "server.port", [flow("dest_port", value::server_port), flow("id.resp_p", value::server_port), flow("destination.port", value::server_port), flow("dst_endpoint.port", value::server_port)]),
    field(ALL, "community_id", [flow("community_id", value::community_id), flow("community_id", value::community_id), flow("network.community_id", value::community_id), flow("connection_info.community_uid", value::community_id)]),
    field(ALL, "tunnel", [flow("huginn.tunnel", value::tunnel), flow("huginn.tunnel", value::tunnel), flow("huginn.tunnel", value::tunnel), flow("unmapped.tunnel", value::tunnel)]),
    extra(ALL, "number of the flow", [flow("flow_id", value::flow_number), flow("uid", value::flow_uid), NOT, flow("connection_info.uid", value::flow_hex)]),
    field(ALL, "transport", [flow("proto", value::transport_upper), NOT, flow("network.transport", value::transport), flow("connection_info.protocol_name", value::transport)]),
    extra(ALL, "number of the transport", [NOT, NOT, flow("network.iana_number", value::iana_number), flow("connection_info.protocol_num", value::transport_number)]),
    extra(ALL, "IP version", [flow("ip_v", value::ip_version), NOT, flow("network.type", value::ip_version_name), flow("connection_info.protocol_ver_id", value::ip_version)]),
    extra(ALL, "direction", [NOT, NOT, NOT, is("connection_info.direction_id", "0")]),
    extra(ALL, "version of the format", [NOT, NOT, is("ecs.version", "\"9.4.0\""), is("metadata.version", "\"1.5.0\"")]),
    extra(ALL, "program", [NOT, NOT, is("event.module", "\"huginn-net\""), is("metadata.product.name", "\"huginn-net\"")]),
    extra(ALL, "name of the sensor (`--sensor-name`)", [sensor("host"), sensor("huginn.sensor"), sensor("observer.name"), sensor("metadata.loggers[].name")]),
    extra(ALL, "a field of the user (`--add-field`, `--site`)", [own_field("huginn.NAME"), own_field("huginn.NAME"), own_field("labels.NAME"), own_field("unmapped.NAME")]),
    extra(ALL, "number of the record (`--statistics`)", [sequence("huginn.seq"), sequence("huginn.seq"), sequence("event.sequence"), sequence("metadata.sequence")]),
    extra_of(FACTS, "severity", [NOT, NOT, NOT, is("severity_id", "1")]),
    extra_of(FACTS, "category", [NOT, NOT, is("event.category", "[\"network\"]"), is("category_uid", "4")]),
    extra_of(FACTS, "kind of document", [NOT, NOT, is("event.kind", "\"event\""), NOT]),

    // Which event it is.
    extra_of(OURS, "event of ours", [is("event_type", "\"huginn\""), is("_path", "\"huginn\""), is("event.type", "[\"info\"]"), NOT]),
    extra(TLS, "TLS", [is("event_type", "\"tls\""), is("_path", "\"ssl\""), is("event.type", "[\"protocol\"]"), NOT]),
    extra(TLS, "protocol", [NOT, NOT, is("network.protocol", "\"tls\""), NOT]),
    extra(HTTP, "HTTP", [is("event_type", "\"http\""), is("_path", "\"http\""), is("event.type", "[\"protocol\"]"), is("class_uid", "4002")]),
    extra(HTTP, "protocol", [NOT, NOT, is("network.protocol", "\"http\""), NOT]),
    extra(SSH, "SSH", [is("event_type", "\"ssh\""), is("_path", "\"ssh\""), is("event.type", "[\"protocol\"]"), is("class_uid", "4007")]),
    extra(SSH, "protocol", [NOT, NOT, is("network.protocol", "\"ssh\""), NOT]),
    extra(CONNECTION, "end of a connection", [is("event_type", "\"flow\""), is("_path", "\"conn\""), is("event.type", "[\"connection\",\"end\"]"), is("class_uid", "4001")]),
    extra_of(OCSF_NETWORK, "Network Activity", [NOT, NOT, NOT, is("class_uid", "4001")]),
    extra_of(OCSF_NETWORK, "activity Traffic", [NOT, NOT, NOT, is("activity_id", "6")]),
    extra_of(OCSF_NETWORK, "type", [NOT, NOT, NOT, is("type_uid", "400106")]),
    extra(SSH, "activity Traffic", [NOT, NOT, NOT, is("activity_id", "6")]),
    extra(SSH, "type", [NOT, NOT, NOT, is("type_uid", "400706")]),
    extra(CONNECTION, "activity Close", [NOT, NOT, NOT, is("activity_id", "2")]),
    extra(CONNECTION, "type", [NOT, NOT, NOT, is("type_uid", "400102")]),
    extra(HTTP, "activity: the method", [NOT, NOT, NOT, event("activity_id", value::activity_ocsf)]),
    extra(HTTP, "type", [NOT, NOT, NOT, event("type_uid", value::http_type_ocsf)]),

    // Alerts.
    extra(ALERTS, "alert", [is("event_type", "\"alert\""), is("_path", "\"notice\""), is("event.kind", "\"alert\""), is("is_alert", "true")]),
    extra(ALERTS, "category", [is("alert.category", CATEGORY), NOT, is("event.category", "[\"network\",\"intrusion_detection\"]"), is("category_uid", "2")]),
    extra(ALERTS, "class", [NOT, NOT, is("event.type", "[\"info\"]"), is("class_uid", "2004")]),
    extra(ALERTS, "activity", [is("alert.action", "\"allowed\""), NOT, NOT, event("activity_id", alert::activity_ocsf)]),
    extra(ALERTS, "type", [NOT, NOT, NOT, event("type_uid", alert::type_ocsf)]),
    extra(ALERTS, "severity", [event("alert.severity", alert::severity_eve), NOT, event("event.severity", alert::severity_ecs), event("severity_id", alert::severity_ocsf)]),
    extra(ALERTS, "transport", [NOT, event("proto", alert::transport), NOT, NOT]),
    extra(ALERTS, "kind", [NOT, event("note", alert::note), event("rule.id", alert::kind), event("finding_info.analytic.uid", alert::kind)]),
    extra(ALERTS, "kind in a list", [NOT, NOT, NOT, event("finding_info.types", alert::kinds)]),
    extra(ALERTS, "number of the kind", [event("alert.signature_id", alert::kind_number), NOT, NOT, NOT]),
    extra(ALERTS, "source of the kinds", [is("alert.gid", GID), NOT, NOT, NOT]),
    extra(ALERTS, "version of the kind", [is("alert.rev", "1"), NOT, NOT, NOT]),
    extra(ALERTS, "title of the kind", [event("alert.signature", alert::title), NOT, event("rule.name", alert::title), event("finding_info.title", alert::title)]),
    extra(ALERTS, "title of the kind", [NOT, NOT, NOT, event("finding_info.analytic.name", alert::title)]),
    extra(ALERTS, "category of the kind", [NOT, NOT, is("rule.category", CATEGORY), is("finding_info.analytic.category", CATEGORY)]),
    extra(ALERTS, "a rule", [NOT, NOT, NOT, is("finding_info.analytic.type_id", "1")]),
    extra(ALERTS, "section of the documentation", [NOT, NOT, event("rule.reference", alert::page), NOT]),
    extra(ALERTS, "reason", [event("huginn.reason", alert::reason), event("msg", alert::reason), event("message", alert::reason), event("message", alert::reason)]),
    extra(ALERTS, "reason", [NOT, NOT, NOT, event("finding_info.desc", alert::reason)]),
    extra(ALERTS, "host", [NOT, event("src", alert::host), NOT, NOT]),
    extra(ALERTS, "other side of the connection", [NOT, event("dst", alert::peer), NOT, NOT]),
    extra(ALERTS, "port of the server", [NOT, event("p", alert::server_port), NOT, NOT]),
    extra(ALERTS, "targets, contacts, failed logins or SYNs", [NOT, event("n", alert::count), NOT, NOT]),
    extra(ALERTS, "actions", [NOT, event("actions", alert::actions), NOT, NOT]),
    extra(ALERTS, "suppression", [NOT, event("suppress_for", alert::suppress_for), NOT, NOT]),
    field(ALERTS, "id", [NO, NO, at("event.id"), at("finding_info.uid")]),
    field(FINDING, "reason", [NOT, NOT, NOT, NOT]),
    field(FINDING, "page", [NO, NO, NOT, NO]),

    // TCP.
    extra(TCP, "name of the label", [NOT, NOT, event("host.os.name", value::os_name), NOT]),
    extra(TCP, "flavor of the label", [NOT, NOT, event("host.os.version", value::os_version), NOT]),
    extra(TCP, "address of the labelled host", [NOT, NOT, event("host.ip", value::host_ip), NOT]),
    extra(SYN, "name of the label", [NOT, NOT, NOT, event("src_endpoint.os.name", value::os_name)]),
    extra(SYN, "flavor of the label", [NOT, NOT, NOT, event("src_endpoint.os.version", value::os_version)]),
    extra(SYN, "type of the system", [NOT, NOT, NOT, event("src_endpoint.os.type_id", value::os_type)]),
    extra(SYN_ACK, "name of the label", [NOT, NOT, NOT, event("dst_endpoint.os.name", value::os_name)]),
    extra(SYN_ACK, "flavor of the label", [NOT, NOT, NOT, event("dst_endpoint.os.version", value::os_version)]),
    extra(SYN_ACK, "type of the system", [NOT, NOT, NOT, event("dst_endpoint.os.type_id", value::os_type)]),

    // TLS.
    extra(&["tls_client", "tls_certificates"], "version that the server selects: not in the event", [is("tls.version", "\"UNDETERMINED\""), NOT, NOT, NOT]),
    extra(CLIENT, "version that the server selects: not in the event", [NOT, NOT, NOT, is("tls.version", "\"Unknown\"")]),
    field(CLIENT, "sni", [at("tls.sni"), at("server_name"), at("tls.client.server_name"), at("tls.sni")]),
    field(CLIENT, "alpn", [at("tls.client_alpns"), NO, NO, NO]),
    field(CLIENT, "ja4", [at("tls.ja4"), at("ja4"), NO, at("ja4_fingerprint_list[].value")]),
    extra(CLIENT, "type of the fingerprint", [NOT, NOT, NOT, with("ja4_fingerprint_list[].type_id", "1")]),
    field(CLIENT, "ja3", [at("tls.ja3.string"), NO, NO, NO]),
    field(CLIENT, "ja3_hash", [at("tls.ja3.hash"), at("ja3"), at("tls.client.ja3"), at("tls.ja3_hash.value")]),
    extra(CLIENT, "algorithm of the fingerprint", [NOT, NOT, NOT, with("tls.ja3_hash.algorithm_id", "1")]),
    field(SERVER, "version", [event("tls.version", value::version_eve), text("version", value::version_zeek), text("tls.version", value::version_number), text("tls.version", value::version_ocsf)]),
    extra(&["tls_server", "tls_handshake"], "protocol of the version", [NOT, NOT, event("tls.version_protocol", value::version_protocol), NOT]),
    field(SERVER, "cipher_name", [NO, at("cipher"), at("tls.cipher"), at("tls.cipher")]),
    field(SERVER, "group", [NO, at("curve"), at("tls.curve"), NO]),
    field(SERVER, "alpn", [at("tls.server_alpns"), text("next_protocol", value::only_element), text("tls.next_protocol", value::only_element), NO]),
    field(SERVER, "ja3s", [at("tls.ja3s.string"), NO, NO, NO]),
    field(SERVER, "ja3s_hash", [at("tls.ja3s.hash"), at("ja3s"), at("tls.server.ja3s"), at("tls.ja3s_hash.value")]),
    extra(SERVER, "algorithm of the fingerprint", [NOT, NOT, NOT, with("tls.ja3s_hash.algorithm_id", "1")]),
    field(HANDSHAKE, "completed", [NO, at("established"), at("tls.established"), NO]),
    field(HANDSHAKE, "version", [event("tls.version", value::version_eve), text("version", value::version_zeek), text("tls.version", value::version_number), text("tls.version", value::version_ocsf)]),
    field(HANDSHAKE, "group", [NO, at("curve"), at("tls.curve"), NO]),
    field(HANDSHAKE, "resumed", [NO, text("resumed", value::resumed), text("tls.resumed", value::resumed), NO]),
    field(CERTIFICATES, "name_matches", [NO, at("sni_matches_cert"), NO, NO]),
    extra(CERTIFICATES, "subject of the server's certificate", [event("tls.subject", certificate::subject_eve::<OF_SERVER>), event("subject", certificate::subject::<OF_SERVER>), event("tls.server.x509.subject.distinguished_name", certificate::subject::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "issuer of the server's certificate", [event("tls.issuerdn", certificate::issuer_eve::<OF_SERVER>), event("issuer", certificate::issuer::<OF_SERVER>), event("tls.server.x509.issuer.distinguished_name", certificate::issuer::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "common name of the server's certificate", [NOT, NOT, event("tls.server.x509.subject.common_name", certificate::common_name::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "serial number of the server's certificate", [event("tls.serial", certificate::serial_eve::<OF_SERVER>), NOT, event("tls.server.x509.serial_number", certificate::serial_ecs::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "SHA-1 of the server's certificate", [event("tls.fingerprint", certificate::fingerprint_eve::<OF_SERVER>), NOT, event("tls.server.hash.sha1", certificate::sha1_ecs::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "SHA-256 of the server's certificate", [NOT, NOT, event("tls.server.hash.sha256", certificate::sha256_ecs::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "start of validity of the server's certificate", [event("tls.notbefore", certificate::not_before_eve::<OF_SERVER>), NOT, event("tls.server.x509.not_before", certificate::not_before::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "end of validity of the server's certificate", [event("tls.notafter", certificate::not_after_eve::<OF_SERVER>), NOT, event("tls.server.x509.not_after", certificate::not_after::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "alternative names of the server's certificate", [event("tls.subjectaltname", certificate::names::<OF_SERVER>), NOT, event("tls.server.x509.alternative_names", certificate::names::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "type of the key of the server's certificate", [NOT, NOT, event("tls.server.x509.public_key_algorithm", certificate::key_algorithm::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "size of the key of the server's certificate", [NOT, NOT, event("tls.server.x509.public_key_size", certificate::key_size::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "algorithm of the signature of the server's certificate", [NOT, NOT, event("tls.server.x509.signature_algorithm", certificate::signature_algorithm::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "version of the server's certificate", [NOT, NOT, event("tls.server.x509.version_number", certificate::version::<OF_SERVER>), NOT]),
    extra(CERTIFICATES, "SHA-256 of the server's certificates", [NOT, event("cert_chain_fps", certificate::fingerprints::<OF_SERVER>), NOT, NOT]),
    extra(CERTIFICATES, "subject of the client's certificate", [event("tls.client.subject", certificate::subject_eve::<OF_CLIENT>), event("client_subject", certificate::subject::<OF_CLIENT>), event("tls.client.x509.subject.distinguished_name", certificate::subject::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "issuer of the client's certificate", [event("tls.client.issuerdn", certificate::issuer_eve::<OF_CLIENT>), event("client_issuer", certificate::issuer::<OF_CLIENT>), event("tls.client.x509.issuer.distinguished_name", certificate::issuer::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "common name of the client's certificate", [NOT, NOT, event("tls.client.x509.subject.common_name", certificate::common_name::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "serial number of the client's certificate", [event("tls.client.serial", certificate::serial_eve::<OF_CLIENT>), NOT, event("tls.client.x509.serial_number", certificate::serial_ecs::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "SHA-1 of the client's certificate", [event("tls.client.fingerprint", certificate::fingerprint_eve::<OF_CLIENT>), NOT, event("tls.client.hash.sha1", certificate::sha1_ecs::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "SHA-256 of the client's certificate", [NOT, NOT, event("tls.client.hash.sha256", certificate::sha256_ecs::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "start of validity of the client's certificate", [event("tls.client.notbefore", certificate::not_before_eve::<OF_CLIENT>), NOT, event("tls.client.x509.not_before", certificate::not_before::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "end of validity of the client's certificate", [event("tls.client.notafter", certificate::not_after_eve::<OF_CLIENT>), NOT, event("tls.client.x509.not_after", certificate::not_after::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "alternative names of the client's certificate", [event("tls.client.subjectaltname", certificate::names::<OF_CLIENT>), NOT, event("tls.client.x509.alternative_names", certificate::names::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "type of the key of the client's certificate", [NOT, NOT, event("tls.client.x509.public_key_algorithm", certificate::key_algorithm::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "size of the key of the client's certificate", [NOT, NOT, event("tls.client.x509.public_key_size", certificate::key_size::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "algorithm of the signature of the client's certificate", [NOT, NOT, event("tls.client.x509.signature_algorithm", certificate::signature_algorithm::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "version of the client's certificate", [NOT, NOT, event("tls.client.x509.version_number", certificate::version::<OF_CLIENT>), NOT]),
    extra(CERTIFICATES, "SHA-256 of the client's certificates", [NOT, event("client_cert_chain_fps", certificate::fingerprints::<OF_CLIENT>), NOT, NOT]),

    // HTTP.
    field(HTTP, "version", [text("http.protocol", value::http_protocol), at("version"), at("http.version"), NO]),
    extra(HTTP, "version 2", [event("http.version", value::http2_eve), NOT, NOT, NOT]),
    extra(HTTP, "stream of HTTP/2", [event("http.http2.stream_id", value::stream_eve), NOT, NOT, NOT]),
    field(REQUEST, "method", [at("http.http_method"), at("method"), at("http.request.method"), text_of("http_request.http_method", value::method_ocsf)]),
    extra(REQUEST, "method that OCSF does not have", [NOT, NOT, NOT, event("unmapped.method", value::other_method_ocsf)]),
    field(REQUEST, "host", [text_of("http.hostname", value::host_eve), at("host"), text("url.domain", value::host_name), text("http_request.url.hostname", value::host_name)]),
    extra(REQUEST, "port of the Host header", [event("http.http_port", value::host_port), NOT, event("url.port", value::host_port), event("http_request.url.port", value::host_port)]),
    field(REQUEST, "path", [at("http.url"), at("uri"), at("url.original"), text_of("http_request.url.url_string", value::url_ocsf)]),
    field(REQUEST, "user_agent", [at("http.http_user_agent"), at("user_agent"), at("user_agent.original"), at("http_request.user_agent")]),
    field(RESPONSE, "status", [at("http.status"), at("status_code"), at("http.response.status_code"), at("http_response.code")]),

    // SSH.
    field(SSH_CLIENT, "protocol_version", [at("ssh.client.proto_version"), text("version", value::ssh_version), NO, at("protocol_ver")]),
    field(SSH_CLIENT, "banner", [text("ssh.client.software_version", value::ssh_software), at("client"), NO, NO]),
    extra(&["ssh_client", "ssh_server"], "comments of the banner", [event("huginn.comments", value::ssh_comments), NOT, NOT, NOT]),
    field(SSH_CLIENT, "hassh", [at("ssh.client.hassh.hash"), at("hassh"), NO, at("client_hassh.fingerprint.value")]),
    extra(SSH_CLIENT, "algorithm of the fingerprint", [NOT, NOT, NOT, with("client_hassh.fingerprint.algorithm_id", "1")]),
    field(SSH_CLIENT, "hassh_algorithms", [at("ssh.client.hassh.string"), at("hasshAlgorithms"), NO, at("client_hassh.algorithm")]),
    field(SSH_SERVER, "protocol_version", [at("ssh.server.proto_version"), text("version", value::ssh_version), NO, at("protocol_ver")]),
    field(SSH_SERVER, "banner", [text("ssh.server.software_version", value::ssh_software), at("server"), NO, NO]),
    field(SSH_SERVER, "hassh", [at("ssh.server.hassh.hash"), at("hasshServer"), NO, at("server_hassh.fingerprint.value")]),
    extra(SSH_SERVER, "algorithm of the fingerprint", [NOT, NOT, NOT, with("server_hassh.fingerprint.algorithm_id", "1")]),
    field(SSH_SERVER, "hassh_algorithms", [at("ssh.server.hassh.string"), at("hasshServerAlgorithms"), NO, at("server_hassh.algorithm")]),
    field(SSH_HANDSHAKE, "kex", [NO, at("kex_alg"), NO, NO]),
    field(SSH_HANDSHAKE, "host_key", [NO, at("host_key_alg"), NO, NO]),

    // Connections.
    extra(CONNECTION, "transport", [NOT, event("proto", alert::transport), NOT, NOT]),
    field(CONNECTION, "start", [event("flow.start", value::start_eve), NOT, at("event.start"), event("start_time", value::start_ocsf)]),
    extra(CONNECTION, "time of the last packet", [event("flow.end", value::end_eve), NOT, event("event.end", value::end_ecs), event("end_time", value::end_ocsf)]),
    field(CONNECTION, "duration", [event("flow.age", value::age_eve), text("duration", value::duration_zeek), event("event.duration", value::duration_ns), event("duration", value::duration_ms)]),
    extra(CONNECTION, "how far both sides came", [NOT, event("conn_state", value::conn_state), NOT, NOT]),
    extra(CONNECTION, "kinds of packets", [NOT, event("history", value::history), NOT, NOT]),
    field(CONNECTION, "client_packets", [at("flow.pkts_toserver"), at("orig_pkts"), at("source.packets"), at("traffic.packets_out")]),
    field(CONNECTION, "server_packets", [at("flow.pkts_toclient"), at("resp_pkts"), at("destination.packets"), at("traffic.packets_in")]),
    field(CONNECTION, "client_bytes", [NO, NO, at("source.bytes"), at("traffic.bytes_out")]),
    field(CONNECTION, "server_bytes", [NO, NO, at("destination.bytes"), at("traffic.bytes_in")]),
    field(CONNECTION, "ja4", [NO, NO, NO, at("ja4_fingerprint_list[].value")]),
    extra(CONNECTION, "type of the fingerprint", [NOT, NOT, NOT, with("ja4_fingerprint_list[].type_id", "1")]),
];
