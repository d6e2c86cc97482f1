//! The types of the values of baselines.

use std::net::IpAddr;

use huginn_net_core::is_printable;
use huginn_net_tls::Ja4;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_BASELINE_LONG_VALUES, MAX_BASELINE_VALUE_BYTES};

/// Maximum number of values of a type in a baseline, those of its files included: hashes, servers, names, clients. Seven types: 110 MiB,
/// if all names are as long as possible.
const MAX_BASELINE_VALUES: usize = 1 << 16;

/// Maximum number of tools in a baseline: more than databases name.
const MAX_BASELINE_TOOLS: usize = 1 << 10;

huginn_net_core::table_enum! {
    /// A type of values that a [`Baseline`](crate::hosts::Baseline) lists.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum BaselineType {
        /// The signature of a SYN, as p0f's `raw_sig` without distance: its TTL is the initial one.
        TcpSyn: "tcp_syn", "SYN signature", MAX_BASELINE_LONG_VALUES;
        /// The stable JA4 of a ClientHello over TCP, QUIC or DTLS: resumed sessions have it, too.
        Ja4Stable: "ja4_stable", "stable JA4", MAX_BASELINE_VALUES;
        /// The Akamai fingerprint of an HTTP/2 client; its MD5 if the text has more than 512 bytes.
        Akamai: "akamai", "HTTP/2 fingerprint", MAX_BASELINE_LONG_VALUES;
        /// HASSH of an SSH client.
        Hassh: "hassh", "HASSH", MAX_BASELINE_VALUES;
        /// HASSHServer of an SSH server.
        HasshServer: "hassh_server", "HASSHServer", MAX_BASELINE_VALUES;
        /// A scanner or packet maker.
        Tool: "tool", "tool", MAX_BASELINE_TOOLS;
        /// A server over TCP that the client names by its address alone, as address and port; or a server whose certificate has a
        /// private issuer, as name and port.
        Server: "server", "server", MAX_BASELINE_VALUES;
        /// The issuer of a certificate that is not self-issued: its organization and country, or its name without these.
        Issuer: "issuer", "issuer", MAX_BASELINE_LONG_VALUES;
        /// The address of a TLS client over TCP, and the hash of cipher suites in its JA4. Neither resumption nor server name, ALPN or most
        /// updates of a browser change this hash.
        Client: "client", "TLS client", MAX_BASELINE_VALUES;
        /// The SHA-256 of a server's certificate.
        Certificate: "certificate", "certificate", MAX_BASELINE_VALUES;
        /// A server name or Host header.
        Name: "name", "name", MAX_BASELINE_VALUES;
        /// The first 512 bytes of a User-Agent.
        UserAgent: "user_agent", "User-Agent", MAX_BASELINE_LONG_VALUES;
    }
    /// The name in files and events.
    pub fn name -> &'static str = 0;
    /// The name in sentences.
    pub(crate) fn title -> &'static str = 1;
    /// Maximum number of values of the type.
    pub(crate) fn limit -> usize = 2;
}

/// The number of types.
pub(crate) const TYPES: usize = BaselineType::ALL.len();

/// The values of the field `type` of findings: the types that are reported.
pub(crate) const FINDING_TYPES: [&str; 9] =
    ["tcp_syn", "ja4_stable", "akamai", "hassh", "hassh_server", "tool", "server", "issuer", "client"];

impl BaselineType {
    /// Whether a text can be a value of this type. Those without a form of their own only have to be short and printable.
    pub(crate) fn admits(self, value: &str) -> bool {
        if value.is_empty() || value.len() > MAX_BASELINE_VALUE_BYTES || !value.chars().all(is_printable) {
            return false;
        }
        match self {
            Self::TcpSyn | Self::Akamai => value.bytes().all(|byte| byte.is_ascii_graphic()),
            Self::Ja4Stable => value.parse::<Ja4>().is_ok_and(|ja4| ja4.to_string() == value),
            Self::Hassh | Self::HasshServer => is_digits(value, 32),
            Self::Certificate => is_digits(value, 64),
            Self::Server => value.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|number| number.to_string() == port)
            }),
            Self::Client => client_host(value).is_some_and(|ip| {
                value.strip_prefix(&format!("{ip} ")).is_some_and(|hash| is_digits(hash, CIPHER_HASH_LEN))
            }),
            Self::Issuer | Self::Name | Self::UserAgent | Self::Tool => true,
        }
    }
}

/// Characters of the hash of cipher suites in a JA4.
const CIPHER_HASH_LEN: usize = 12;

/// Whether a text is this number of hexadecimal digits in lower case.
pub(crate) fn is_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The address of a value of [`BaselineType::Client`].
pub(crate) fn client_host(value: &str) -> Option<IpAddr> {
    value.split_once(' ')?.0.parse().ok()
}
