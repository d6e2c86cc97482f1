//! The columns: names, types, meaning, and the fields of the JSON events that they equal.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::column::{Double, Flag, Flags, Int, Long, Numbers, Text, Texts, Time};

/// Version of the schema. A new column increments the second number; a column that changes or goes, the first one.
pub const SCHEMA_VERSION: &str = "1.0";

/// A column of the schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// The name.
    pub name: &'static str,
    /// The type.
    pub data_type: DataType,
    /// What the values mean.
    pub meaning: &'static str,
    /// Events with this column, and the path of the equal field in their JSON; the path is empty if there is none.
    pub sources: &'static [(&'static [&'static str], &'static str)],
}

const ALL: &[&str] = &huginn_net::record::EVENT_NAMES;
const TCP: &[&str] = &["tcp_syn", "tcp_syn_ack"];
const MTU: &[&str] = &["mtu"];
const HTTP: &[&str] = &["http_request", "http_response"];
const REQUEST: &[&str] = &["http_request"];
const RESPONSE: &[&str] = &["http_response"];
const LABELLED: &[&str] = &["tcp_syn", "tcp_syn_ack", "http_request", "http_response"];
const CLIENTS: &[&str] = &["tls_client", "ssh_client", "http_request"];
const SSH: &[&str] = &["ssh_client", "ssh_server"];
const TLS: &[&str] = &["tls_client", "tls_server"];
const LISTED: &[&str] = &["http_request", "tls_client", "tls_server", "ssh_client", "ssh_server"];
const TLS_CLIENT: &[&str] = &["tls_client"];
const TLS_SERVER: &[&str] = &["tls_server"];
const UPTIME: &[&str] = &["uptime"];
const CHANGE: &[&str] = &["host_change", "ip_sharing"];
const MISMATCH: &[&str] = &["mismatch"];
const FINDING: &[&str] = &["finding"];
const CONNECTION: &[&str] = &["connection"];

/// Declares the columns: the struct of their builders, their descriptions, and the schema.
macro_rules! columns {
    ($($name:ident: $column:ty, $meaning:literal $(, $events:ident => $path:literal)+;)+) => {
        /// A builder for each column. A value is set at a row; rows between have none.
        #[derive(Debug, Default)]
        pub(crate) struct Columns {
            $(pub(crate) $name: $column,)+
        }

        impl Columns {
            /// Takes all rows of the selected columns.
            pub(crate) fn finish(&mut self, rows: usize) -> Vec<ArrayRef> {
                [$(self.$name.finish(rows),)+].into_iter().flatten().collect()
            }

            /// Bytes of the texts of all columns.
            pub(crate) fn text_len(&self) -> usize {
                [$(self.$name.text_len(),)+].into_iter().fold(0, usize::saturating_add)
            }

            /// Ignores the values of all other columns.
            pub(crate) fn select(&mut self, names: &[&str]) {
                $(if !names.contains(&stringify!($name)) {
                    self.$name.skip();
                })+
            }
        }

        /// Returns the columns in the order of the schema.
        pub fn columns() -> Vec<ColumnInfo> {
            vec![$(ColumnInfo {
                name: stringify!($name),
                data_type: <$column>::data_type(),
                meaning: $meaning,
                sources: &[$(($events, $path)),+],
            },)+]
        }
    };
}

columns! {
    ts: Time, "capture time of the packet, in microseconds", ALL => "ts";
    ts_nanos: Int, "nanoseconds within the microsecond: 0 to 999", ALL => "";
    event: Text, "kind of the event", ALL => "event";
    subject: Text, "subject of the event: `client` or `server`", ALL => "subject";
    transport: Text, "`tcp` or `udp`; of TLS events `tcp`, `quic` or `dtls`", ALL => "", TLS => "transport", CONNECTION => "transport";
    client_ip: Text, "address of the client", ALL => "client.ip";
    client_port: Int, "port of the client", ALL => "client.port";
    server_ip: Text, "address of the server", ALL => "server.ip";
    server_port: Int, "port of the server", ALL => "server.port";
    host_ip: Text, "address of the subject", ALL => "";
    tunnel: Texts, "VLAN tags and tunnels around the packets, the outermost first; null without any", ALL => "tunnel";
    community_id: Text, "Community ID of the flow, version 1", ALL => "community_id";
    file: Text, "capture file, if several are read", ALL => "file";
    interface: Text, "interface that captured the packet, if there are several", ALL => "interface";
    packet: Long, "number of the packet in the capture, from 1", ALL => "packet";
    conflict: Text, "why the bytes of the event compete with others of the same place in the stream, if they do", ALL => "conflict";
    cut: Texts, "fields of the JSON whose text was cut, because it was longer than the limit; null without any", ALL => "cut";
    sig: Text, "signature in the syntax of p0f", LABELLED => "sig";
    label_class: Text, "class of the label; `!` of software", LABELLED => "label.class";
    label_name: Text, "name of the system or software; null without a match", LABELLED => "label.name";
    label_flavor: Text, "versions, as the database names them", LABELLED => "label.flavor";
    label_generic: Flag, "whether the label is one of last resort", LABELLED => "label.generic";
    params: Text, "remarks on the match, as p0f prints them", LABELLED => "params";
    tcp_fuzzy: Flag, "whether the packet differs from the signature in ways that the network may cause", TCP => "fuzzy";
    tcp_distance: Int, "distance in hops", TCP => "distance";
    mtu: Int, "size of the largest IP packet, in bytes", MTU => "mtu";
    mtu_link: Text, "link type with this MTU", MTU => "link";
    http_version: Text, "HTTP version", HTTP => "version";
    http_exchange: Long, "number of the request in its connection, from 1", HTTP => "exchange";
    http_head_cut: Flag, "true if header fields are missing, because the head exceeded a limit", HTTP => "head_cut";
    http_method: Text, "request method", REQUEST => "method";
    http_host: Text, "Host header, or :authority", REQUEST => "host";
    http_path: Text, "path of the request", REQUEST => "path";
    http_user_agent: Text, "User-Agent header", REQUEST => "user_agent";
    http_language: Text, "preferred language", REQUEST => "language";
    http_status: Int, "status code", RESPONSE => "status";
    http_server: Text, "Server header", RESPONSE => "server_header";
    http_claimed_os: Text, "system that the User-Agent or Server header names", HTTP => "claimed_os";
    http_os_agrees: Flag, "whether it agrees with the system that TCP shows", HTTP => "os_agrees";
    http_akamai: Text, "Akamai HTTP/2 fingerprint", REQUEST => "akamai";
    http_akamai_hash: Text, "MD5 of the Akamai fingerprint", REQUEST => "akamai_hash";
    software_library: Text, "library that the fingerprint names", CLIENTS => "software.library";
    software_application: Text, "application that the fingerprint names", CLIENTS => "software.application";
    software_versions: Text, "versions of the application or the library", CLIENTS => "software.versions";
    software_candidates: Texts, "all recorded clients with the fingerprint", CLIENTS => "software.candidates";
    software_match: Text, "how the software was identified", CLIENTS => "software.match";
    software_nearest_ja4_s1: Text, "most similar known fingerprint of a structural match", CLIENTS => "software.nearest.ja4_s1";
    software_nearest_name: Text, "its software", CLIENTS => "software.nearest.name";
    software_nearest_difference: Text, "how it differs", CLIENTS => "software.nearest.difference";
    ssh_protocol: Text, "SSH protocol version", SSH => "protocol";
    ssh_banner: Text, "identification string", SSH => "banner";
    hassh: Text, "HASSH of the client; of the event `ssh_server`, HASSHServer", SSH => "hassh", CONNECTION => "hassh";
    hassh_algorithms: Text, "the algorithms behind the hash", SSH => "hassh_algorithms";
    tls_version: Text, "version that the client offers, or the server selects", TLS => "version", CONNECTION => "tls_version";
    tls_version_name: Text, "its name, such as TLS 1.3; null of drafts", TLS => "", CONNECTION => "";
    tls_sni: Text, "server name that the client asks for", TLS_CLIENT => "sni";
    tls_alpn: Texts, "protocols that the client offers, or the one that the server selects", TLS => "alpn";
    tls_ech: Flag, "whether the hello has the extension encrypted_client_hello", TLS_CLIENT => "ech";
    tls_retry: Flag, "whether the hello answers a HelloRetryRequest, or is one", TLS => "retry";
    ja4: Text, "JA4 of the client", TLS_CLIENT => "ja4", CONNECTION => "ja4";
    ja4_r: Text, "JA4 with the values in place of the hashes", TLS_CLIENT => "ja4_r";
    ja4_o: Text, "JA4 in the order of the hello", TLS_CLIENT => "ja4_o";
    ja4_ro: Text, "JA4 in the order of the hello, with the values", TLS_CLIENT => "ja4_ro";
    ja4_s1: Text, "JA4 without extensions that vary in a session", TLS_CLIENT => "ja4_s1";
    ja4_s1r: Text, "JA4 without extensions that vary in a session, with the values", TLS_CLIENT => "ja4_s1r";
    ja3: Text, "JA3 text", TLS_CLIENT => "ja3";
    ja3_hash: Text, "MD5 of the JA3 text", TLS_CLIENT => "ja3_hash";
    listed_labels: Texts, "labels of fingerprint lists with this fingerprint", LISTED => "listed.label";
    listed_watch: Flags, "whether each of these entries is watched", LISTED => "listed.watch";
    tls_cipher: Text, "cipher suite that the server selects, in hexadecimal", TLS_SERVER => "cipher";
    tls_cipher_name: Text, "its name in IANA's registry", TLS_SERVER => "cipher_name";
    ja3s: Text, "JA3S text", TLS_SERVER => "ja3s";
    ja3s_hash: Text, "MD5 of the JA3S text", TLS_SERVER => "ja3s_hash";
    uptime_minutes: Long, "uptime in minutes, modulo `uptime_modulo_days`", UPTIME => "minutes";
    uptime_modulo_days: Long, "days after which the clock begins again", UPTIME => "modulo_days";
    uptime_frequency_hz: Long, "frequency of the clock, rounded as p0f rounds it", UPTIME => "frequency_hz";
    uptime_raw_frequency_hz: Double, "frequency as measured", UPTIME => "raw_frequency_hz";
    change_reasons: Texts, "why the host is taken for changed, or for several", CHANGE => "reasons";
    change_hits: Numbers, "number of observations that support it, by strength", CHANGE => "hits";
    mismatch_outcome: Text, "`imitation` or `proxy`", MISMATCH => "outcome", CONNECTION => "mismatch";
    mismatch_reasons: Texts, "statements that do not agree", MISMATCH => "reasons";
    finding: Text, "kind of the finding: `conflict`", FINDING => "finding";
    finding_reason: Text, "what distinguishes the packets of a conflict", FINDING => "reason";
    connection_start: Time, "time of the first packet, in microseconds", CONNECTION => "start";
    connection_start_nanos: Int, "nanoseconds within this microsecond: 0 to 999", CONNECTION => "";
    connection_duration: Double, "time from the first packet to the last one, in seconds", CONNECTION => "duration";
    connection_client_packets: Long, "packets of the client", CONNECTION => "client_packets";
    connection_server_packets: Long, "packets of the server", CONNECTION => "server_packets";
    connection_client_bytes: Long, "bytes of the client", CONNECTION => "client_bytes";
    connection_server_bytes: Long, "bytes of the server", CONNECTION => "server_bytes";
    connection_host: Text, "first server name or Host header", CONNECTION => "host";
    connection_client_system: Text, "system of the client", CONNECTION => "client_system";
    connection_server_system: Text, "system of the server", CONNECTION => "server_system";
    connection_client_software: Text, "software of the client", CONNECTION => "client_software";
    connection_server_software: Text, "software of the server", CONNECTION => "server_software";
    connection_tls_client: Text, "software of the TLS client", CONNECTION => "tls_client";
    connection_hassh_server: Text, "HASSHServer of the server", CONNECTION => "hassh_server";
}

/// The schema of all batches. Its metadata has the version of the schema, and of this crate.
pub fn schema() -> SchemaRef {
    schema_of(|_| true)
}

/// The schema of the columns that `is_selected` selects by their names.
pub(crate) fn schema_of(is_selected: impl Fn(&str) -> bool) -> SchemaRef {
    let selected = columns().into_iter().filter(|column| is_selected(column.name));
    let fields: Vec<Field> = selected.map(|column| Field::new(column.name, column.data_type, true)).collect();
    Arc::new(Schema::new(fields).with_metadata(metadata()))
}

/// The versions of the schema and of this crate.
pub(crate) fn metadata() -> HashMap<String, String> {
    let versions = [("huginn_net.schema", SCHEMA_VERSION), ("huginn_net.version", env!("CARGO_PKG_VERSION"))];
    HashMap::from(versions.map(|(name, value)| (name.to_owned(), value.to_owned())))
}
