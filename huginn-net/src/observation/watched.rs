//! What lists have for an event: labels, and values that they watch.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_core::Escaped;
use huginn_net_db::ClientMatch;
use huginn_net_tls::Ja4;

use crate::text_limit::TextLimit;

/// A value of an event that a list watches. It follows its event; its subject is the side that the value belongs to.
///
/// [`Display`] names value, label and list: `watched ja4 t13d1516h2_8daaf6152771_02713d6af862, Chromium, list bad.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The name of the list.
    pub list: Arc<str>,
    /// The line of the list, from 1; `None` in JSON documents.
    pub line: Option<u32>,
    /// What the value was compared with.
    pub kind: IndicatorType,
    /// The value of the list: for a network the network, for a name with others below it `.name` or `*.name`.
    pub value: Arc<str>,
    /// The label, which may be empty or contain control characters.
    pub label: Arc<str>,
    /// The name of the kind of the event.
    pub event: &'static str,
    /// The server name of the event.
    pub server_name: Option<Box<[u8]>>,
    /// The Host header of the event.
    pub host: Option<Box<[u8]>>,
    /// The User-Agent header of the event.
    pub user_agent: Option<Box<[u8]>>,
    /// The JA4 of the event.
    pub ja4: Option<Ja4>,
    /// The software that the event shows.
    pub software: Option<ClientMatch>,
    /// Whether the handshake of the connection shows that neither side forged its address.
    pub is_proven: bool,
    pub(crate) text_limit: TextLimit,
}

impl Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "watched {} {:#}", self.kind.name(), Escaped(self.value.as_bytes()))?;
        if !self.label.is_empty() {
            write!(f, ", {:#}", Escaped(self.label.as_bytes()))?;
        }
        write!(f, ", list {:#}", Escaped(self.list.as_bytes()))
    }
}

huginn_net_core::named! {
    /// What a value of a list is compared with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum IndicatorType {
        /// JA4 of a ClientHello.
        Ja4 = "ja4",
        /// JA4 without the extensions of a resumed session.
        Ja4Stable = "ja4_stable",
        /// A JA4 with its values: `ja4_r` or `ja4_stable_r`.
        Ja4Raw = "ja4_r",
        /// The MD5 of a JA3.
        Ja3 = "ja3_hash",
        /// The MD5 of a JA3S.
        Ja3s = "ja3s_hash",
        /// HASSH of an SSH client.
        Hassh = "hassh",
        /// HASSHServer of an SSH server.
        HasshServer = "hassh_server",
        /// The MD5 of an Akamai HTTP/2 fingerprint.
        Akamai = "akamai_hash",
        /// A raw p0f signature of a SYN or SYN+ACK, at any distance.
        Signature = "sig",
        /// A server name of TLS or QUIC, or a Host header.
        Host = "host",
        /// SHA-256 of a certificate.
        CertificateSha256 = "certificate_sha256",
        /// SHA-1 of a certificate.
        CertificateSha1 = "certificate_sha1",
        /// An address, network, or address with port, of client or server.
        Address = "ip",
        /// A User-Agent header.
        UserAgent = "user_agent",
    }
}

impl IndicatorType {
    /// Whether an entry of the type labels events without being watched.
    pub(crate) fn has_labels(self) -> bool {
        !matches!(self, Self::Signature | Self::CertificateSha256 | Self::CertificateSha1 | Self::Address)
    }
}

/// A label of an event, from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    pub(crate) label: Arc<str>,
    pub(crate) watch: bool,
}

impl ListEntry {
    /// The label as the list has it, which may be empty or contain control characters.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether the entry is watched: it causes matches.
    pub fn is_watched(&self) -> bool {
        self.watch
    }
}
