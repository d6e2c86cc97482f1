//! The types of the values of baselines.

use std::net::IpAddr;

use huginn_net_core::is_printable;
use huginn_net_tls::Ja4;
use serde::{Deserialize, Serialize};

use crate::limits::{
    MAX_BASELINE_LONG_VALUES, MAX_BASELINE_TOOLS, MAX_BASELINE_VALUE_BYTES, MAX_BASELINE_VALUES,
};

/// A type of values that a [`Baseline`](crate::hosts::Baseline) lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BaselineType {
    /// The signature of a SYN, as p0f's `raw_sig` without distance: its TTL is the initial one.
    TcpSyn,
    /// The stable JA4 of a ClientHello over TCP, QUIC or DTLS: resumed sessions have it, too.
    Ja4Stable,
    /// The Akamai fingerprint of an HTTP/2 client; its MD5 if the text has more than 512 bytes.
    Akamai,
    /// HASSH of an SSH client.
    Hassh,
    /// HASSHServer of an SSH server.
    HasshServer,
    /// A scanner or packet maker.
    Tool,
    /// A server over TCP that the client names by its address alone, as address and port; or a server whose certificate has a
    /// private issuer, as name and port.
    Server,
    /// The issuer of a certificate that is not self-issued: its organization and country, or its name without these.
    Issuer,
    /// The address of a TLS client over TCP, and the hash of cipher suites in its JA4. Neither resumption nor server name, ALPN or most
    /// updates of a browser change this hash.
    Client,
    /// The SHA-256 of a server's certificate.
    Certificate,
    /// A server name or Host header.
    Name,
    /// The first 512 bytes of a User-Agent.
    UserAgent,
}

/// The number of types.
pub(crate) const TYPES: usize = 12;

/// The values of the field `type` of findings: the types that are reported.
pub(crate) const FINDING_TYPES: [&str; 9] =
    ["tcp_syn", "ja4_stable", "akamai", "hassh", "hassh_server", "tool", "server", "issuer", "client"];

impl BaselineType {
    /// All types, in the order of files.
    pub const ALL: [Self; TYPES] = [
        Self::TcpSyn,
        Self::Ja4Stable,
        Self::Akamai,
        Self::Hassh,
        Self::HasshServer,
        Self::Tool,
        Self::Server,
        Self::Issuer,
        Self::Client,
        Self::Certificate,
        Self::Name,
        Self::UserAgent,
    ];

    /// The name in files and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpSyn => "tcp_syn",
            Self::Ja4Stable => "ja4_stable",
            Self::Akamai => "akamai",
            Self::Hassh => "hassh",
            Self::HasshServer => "hassh_server",
            Self::Tool => "tool",
            Self::Server => "server",
            Self::Issuer => "issuer",
            Self::Client => "client",
            Self::Certificate => "certificate",
            Self::Name => "name",
            Self::UserAgent => "user_agent",
        }
    }

    /// The name in sentences.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::TcpSyn => "SYN signature",
            Self::Ja4Stable => "stable JA4",
            Self::Akamai => "HTTP/2 fingerprint",
            Self::Hassh => "HASSH",
            Self::HasshServer => "HASSHServer",
            Self::Tool => "tool",
            Self::Server => "server",
            Self::Issuer => "issuer",
            Self::Client => "TLS client",
            Self::Certificate => "certificate",
            Self::Name => "name",
            Self::UserAgent => "User-Agent",
        }
    }

    /// Maximum number of values of the type.
    pub(crate) const fn limit(self) -> usize {
        match self {
            Self::TcpSyn | Self::Akamai | Self::Issuer | Self::UserAgent => MAX_BASELINE_LONG_VALUES,
            Self::Tool => MAX_BASELINE_TOOLS,
            _ => MAX_BASELINE_VALUES,
        }
    }

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
