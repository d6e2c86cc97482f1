//! The fingerprint of a client over all layers.

/// What the first bytes of a connection show about its client. Layers that are not known are `None`.
///
/// All values are text, as the program `huginn-net` writes them. Texts that are longer than
/// [`MAX_TEXT_LEN`](crate::MAX_TEXT_LEN) are `None`, so that a fingerprint has a bounded size.
///
/// The feature `serde` implements `Serialize` and `Deserialize`; unknown layers and values are left out.
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
    /// Whether the layers fit the browser that the first request claims; `None` without a request.
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
    /// The operating system that it matches, such as `Linux 4.20 or newer`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub system: Option<String>,
    /// Whether the match is fuzzy.
    pub fuzzy: bool,
    /// Hops between client and server.
    pub distance: u8,
}

/// The fingerprints of a ClientHello.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct TlsFingerprint {
    /// The version, as JA4 writes it: `13`, `12`.
    pub version: String,
    /// The server name. Bytes that are not UTF-8, and control characters, are escaped as `\xNN`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub sni: Option<String>,
    /// The protocols that the client offers, in their order, joined by commas and escaped.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub alpn: Option<String>,
    /// JA4.
    pub ja4: String,
    /// JA4_r: the sorted lists.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ja4_r: Option<String>,
    /// JA4_o: in the order of the wire.
    pub ja4_o: String,
    /// JA4_ro: the lists in the order of the wire.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ja4_ro: Option<String>,
    /// JA4 without the extensions that differ in a resumed session.
    pub ja4_s1: String,
    /// The lists of `ja4_s1`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ja4_s1r: Option<String>,
    /// JA3.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ja3: Option<String>,
    /// The MD5 of JA3.
    pub ja3_hash: String,
    /// The software that the hello names, such as `libcurl 7.88`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub software: Option<String>,
}

/// The fingerprints of a first request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct HttpFingerprint {
    /// The version: `1.0`, `1.1`, `2`.
    pub version: String,
    /// The Akamai fingerprint of HTTP/2.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub akamai: Option<String>,
    /// The MD5 of the Akamai fingerprint.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub akamai_hash: Option<String>,
    /// The names of the headers in their order and spelling, joined by commas and escaped.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub header_order: Option<String>,
    /// The signature, as p0f writes it (`raw_sig`).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub sig: Option<String>,
    /// The software that the HTTP/2 frames name, or that the headers of HTTP/1 match.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub software: Option<String>,
}

/// Whether a client is the browser that it claims to be: the text of
/// [`Consistency`](huginn_net::consistency::Consistency).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ClientVerdict {
    /// `consistent`, `imitation`, `proxy` or `unknown`.
    pub outcome: String,
    /// The claim and what contradicts it, joined by `; `.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub reasons: Option<String>,
}

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
