//! The fingerprint of a client over all layers.

use std::fmt;
use std::str::FromStr;

use huginn_net_consistency::Outcome;
use huginn_net_http::HttpVersion;
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{Ja3Hash, Ja4, Ja4Raw, Version};
#[cfg(feature = "serde")]
use {crate::as_text, crate::as_text::optional};

/// What the first bytes of a connection show about its client. Layers that are not known are `None`.
///
/// [`FingerprintField::value`](crate::FingerprintField::value) is the text of each value, as the program `huginn-net` writes
/// it. Values whose text is longer than [`MAX_TEXT_LEN`](crate::MAX_TEXT_LEN) are `None`, so that a fingerprint has a bounded
/// size.
///
/// The feature `serde` implements `Serialize` and `Deserialize`: all values are text, and unknown layers and values are left
/// out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ClientFingerprint {
    /// The SYN.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub tcp: Option<TcpFingerprint>,
    /// The ClientHello.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub tls: Option<TlsFingerprint>,
    /// The first request, and the frames of HTTP/2 before it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub http: Option<HttpFingerprint>,
    /// Whether the layers fit the browser that a request claims: the first one, or that of
    /// [`fingerprint_of`](crate::ConnectionFingerprint::fingerprint_of). `None` without a request.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub consistency: Option<ClientVerdict>,
}

/// The fingerprint of a SYN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct TcpFingerprint {
    /// The signature, as p0f writes it (`raw_sig`).
    pub sig: String,
    /// The operating system that it matches, such as `Linux 4.20 or newer`, or `Linux 4.20 or newer (fuzzy)`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub system: Option<String>,
    /// Whether the match is fuzzy.
    pub fuzzy: bool,
    /// Hops between client and server.
    pub distance: u8,
}

/// The fingerprints of a ClientHello.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TlsFingerprint {
    /// The version.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub version: Version,
    /// The server name. Bytes that are not UTF-8, and control characters, are escaped as `\xNN`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sni: Option<String>,
    /// The protocols that the client offers, in their order.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub alpn: Option<JoinedNames>,
    /// JA4.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub ja4: Ja4,
    /// JA4_r: the sorted lists.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub ja4_r: Option<Ja4Raw>,
    /// JA4_o: in the order of the wire.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub ja4_o: Ja4,
    /// JA4_ro: the lists in the order of the wire.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub ja4_ro: Option<Ja4Raw>,
    /// JA4 without the extensions that differ in a resumed session.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub ja4_stable: Ja4,
    /// The lists of `ja4_stable`.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub ja4_stable_r: Option<Ja4Raw>,
    /// JA3.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub ja3: Option<String>,
    /// The MD5 of JA3.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub ja3_hash: Ja3Hash,
    /// The groups of the key shares without GREASE, each with the length of its key in bytes, such as `x25519:32`.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub key_shares: Option<JoinedNames>,
    /// The kind of the extension encrypted_client_hello (RFC 9849): `outer`, `inner` or `other`. Browsers send `outer` also as
    /// GREASE.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub ech: Option<String>,
    /// The QUIC fingerprint in its sorted form (docs/quic-fingerprint.md); `None` if the QUIC version is not known.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub quic: Option<String>,
    /// The software that the hello names, such as `libcurl 7.88 and older`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub software: Option<String>,
}

/// The fingerprints of a first request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct HttpFingerprint {
    /// The version.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub version: HttpVersion,
    /// The Akamai fingerprint of HTTP/2.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub akamai: Option<String>,
    /// The MD5 of the Akamai fingerprint.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub akamai_hash: Option<AkamaiHash>,
    /// The names of the headers in their order and spelling.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none", with = "optional")
    )]
    pub header_order: Option<JoinedNames>,
    /// The signature, as p0f writes it (`raw_sig`).
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sig: Option<String>,
    /// The software that the HTTP/2 frames name, or that the headers of HTTP/1 match.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub software: Option<String>,
}

/// Whether a client is the browser that it claims to be: a [`Consistency`](huginn_net_consistency::Consistency) of bounded
/// size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ClientVerdict {
    /// The conclusion.
    #[cfg_attr(feature = "serde", serde(with = "as_text"))]
    pub outcome: Outcome,
    /// The claim and what contradicts it; empty without a claim.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "JoinedReasons::is_empty", with = "as_text")
    )]
    pub reasons: JoinedReasons,
}

/// Names in their order. [`Display`](fmt::Display) joins them with commas; control characters, bytes that are not UTF-8,
/// and commas in a name are escaped as `\xNN`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinedNames(String);

/// Reasons of a verdict. [`Display`](fmt::Display) joins them with `; `, which separates them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinedReasons(String);

impl JoinedNames {
    pub(crate) const SEPARATOR: &'static str = ",";
}

impl JoinedReasons {
    pub(crate) const SEPARATOR: &'static str = "; ";
}

/// Implements a list that is stored as its text.
macro_rules! joined {
    ($list:ident) => {
        impl $list {
            /// Takes the joined text; `None` if it is empty.
            pub(crate) fn new(text: String) -> Option<Self> {
                Some(Self(text)).filter(|list| !list.is_empty())
            }

            /// Iterates over the elements in order.
            pub fn iter(&self) -> impl Iterator<Item = &str> {
                self.0.split(Self::SEPARATOR).filter(|_| !self.is_empty())
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// The joined text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $list {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        /// Every text is a list.
        impl FromStr for $list {
            type Err = std::convert::Infallible;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ok(Self(text.to_owned()))
            }
        }
    };
}

joined!(JoinedNames);
joined!(JoinedReasons);

impl ClientFingerprint {
    /// The name of the client: the software that HTTP/2 or the headers name, else that of TLS.
    pub fn client_name(&self) -> Option<&str> {
        let http = self.http.as_ref().and_then(|http| http.software.as_deref());
        http.or_else(|| self.tls.as_ref().and_then(|tls| tls.software.as_deref()))
    }

    /// Takes each unknown layer from another fingerprint of the same client, such as the one that a load balancer sent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tcp: self.tcp.or(other.tcp),
            tls: self.tls.or(other.tls),
            http: self.http.or(other.http),
            consistency: self.consistency.or(other.consistency),
        }
    }
}
