//! Fingerprints as HTTP headers.

use std::borrow::Cow;
use std::fmt::Display;
use std::str;
use std::sync::Arc;

use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, InvalidHeaderName, TRAILER};

use crate::{ClientFingerprint, JoinedNames};

/// Writes fingerprints to the headers of a request, and removes forged ones.
///
/// ```
/// use http::HeaderMap;
/// use huginn_net_consistency::ClientBytes;
/// use huginn_net_proxy::{FingerprintHeaders, Fingerprinter};
///
/// let hello = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
/// let client = ClientBytes::default().tls(hello);
/// let fingerprint = Fingerprinter::default().fingerprint(&client);
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-client-ja4", "forged".parse()?);
/// headers.insert("x-client-admin", "forged".parse()?);
/// FingerprintHeaders::new("x-client-")?.apply(&fingerprint, &mut headers);
/// assert_eq!(headers["x-client-ja4"], "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
/// assert!(!headers.contains_key("x-client-admin"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FingerprintHeaders {
    prefix: Arc<str>,
    names: Arc<[(FingerprintField, HeaderName)]>,
}

huginn_net_wire::named! {
    /// A value of a [`ClientFingerprint`] that a header can have. The name of the header is the prefix and
    /// [`name`](Self::name).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum FingerprintField {
        /// `ja4`
        Ja4 = "ja4",
        /// `ja4-r`
        Ja4R = "ja4-r",
        /// `ja4-o`
        Ja4O = "ja4-o",
        /// `ja4-ro`
        Ja4Ro = "ja4-ro",
        /// `ja4-stable`
        Ja4Stable = "ja4-stable",
        /// `ja4-stable-r`
        Ja4StableR = "ja4-stable-r",
        /// `ja3`
        Ja3 = "ja3",
        /// `ja3-hash`
        Ja3Hash = "ja3-hash",
        /// `key-shares`: see [`TlsFingerprint::key_shares`](crate::TlsFingerprint::key_shares).
        KeyShares = "key-shares",
        /// `ech`: see [`TlsFingerprint::ech`](crate::TlsFingerprint::ech).
        Ech = "ech",
        /// `quic`: the QUIC fingerprint.
        Quic = "quic",
        /// `akamai`
        Akamai = "akamai",
        /// `akamai-hash`
        AkamaiHash = "akamai-hash",
        /// `header-order`
        HeaderOrder = "header-order",
        /// `http-sig`: p0f's signature of the request.
        HttpSig = "http-sig",
        /// `tcp-sig`: p0f's signature of the SYN.
        TcpSig = "tcp-sig",
        /// `tcp-system`
        TcpSystem = "tcp-system",
        /// `client-name`: see [`ClientFingerprint::client_name`].
        ClientName = "client-name",
        /// `verdict`: `consistent`, `imitation`, `proxy`, `unexplained` or `unknown`.
        Verdict = "verdict",
        /// `verdict-reasons`
        VerdictReasons = "verdict-reasons",
    }
}

impl FingerprintField {
    /// The fields that are written by default: those that are short.
    pub const DEFAULT: &[Self] = &[
        Self::Ja4,
        Self::Ja4O,
        Self::Ja3Hash,
        Self::Akamai,
        Self::AkamaiHash,
        Self::TcpSig,
        Self::TcpSystem,
        Self::ClientName,
        Self::Verdict,
    ];

    /// The text of the value in a fingerprint.
    pub fn value(self, fingerprint: &ClientFingerprint) -> Option<Cow<'_, str>> {
        let ClientFingerprint { tcp, tls, http, consistency } = fingerprint;
        let (tcp, tls, http, verdict) = (tcp.as_ref(), tls.as_ref(), http.as_ref(), consistency.as_ref());
        match self {
            Self::Ja4 => text(Some(&tls?.ja4)),
            Self::Ja4R => text(tls?.ja4_r.as_ref()),
            Self::Ja4O => text(Some(&tls?.ja4_o)),
            Self::Ja4Ro => text(tls?.ja4_ro.as_ref()),
            Self::Ja4Stable => text(Some(&tls?.ja4_stable)),
            Self::Ja4StableR => text(tls?.ja4_stable_r.as_ref()),
            Self::Ja3 => borrowed(tls?.ja3.as_deref()),
            Self::Ja3Hash => text(Some(&tls?.ja3_hash)),
            Self::KeyShares => borrowed(tls?.key_shares.as_ref().map(JoinedNames::as_str)),
            Self::Ech => borrowed(tls?.ech.as_deref()),
            Self::Quic => borrowed(tls?.quic.as_deref()),
            Self::Akamai => borrowed(http?.akamai.as_deref()),
            Self::AkamaiHash => text(http?.akamai_hash.as_ref()),
            Self::HeaderOrder => borrowed(http?.header_order.as_ref().map(JoinedNames::as_str)),
            Self::HttpSig => borrowed(http?.sig.as_deref()),
            Self::TcpSig => borrowed(Some(&tcp?.sig)),
            Self::TcpSystem => borrowed(tcp?.system.as_deref()),
            Self::ClientName => borrowed(fingerprint.client_name()),
            Self::Verdict => borrowed(Some(verdict?.outcome.name())),
            Self::VerdictReasons => borrowed(Some(verdict?.reasons.as_str()).filter(|text| !text.is_empty())),
        }
    }
}

fn text(value: Option<&impl Display>) -> Option<Cow<'static, str>> {
    value.map(|value| Cow::Owned(value.to_string()))
}

fn borrowed(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

impl FingerprintHeaders {
    /// Uses this prefix and the [default fields](FingerprintField::DEFAULT). The prefix is reserved: a client cannot send
    /// any header that begins with it.
    ///
    /// # Errors
    /// The prefix is empty, or has bytes that a header name cannot have (RFC 9110, section 5.1).
    pub fn new(prefix: &str) -> Result<Self, InvalidHeaderName> {
        prefix.parse::<HeaderName>()?;
        let mut headers = Self { prefix: prefix.to_ascii_lowercase().into(), names: Arc::default() };
        headers.names = headers.names(FingerprintField::DEFAULT)?;
        Ok(headers)
    }

    /// Writes these fields instead.
    #[must_use]
    pub fn with_fields(mut self, fields: &[FingerprintField]) -> Self {
        // The prefix was valid before, and so is every name.
        self.names = self.names(fields).unwrap_or_default();
        self
    }

    fn names(
        &self,
        fields: &[FingerprintField],
    ) -> Result<Arc<[(FingerprintField, HeaderName)]>, InvalidHeaderName> {
        let name =
            |field: &FingerprintField| Ok((*field, format!("{}{}", self.prefix, field.name()).parse()?));
        fields.iter().map(name).collect()
    }

    /// Removes the headers of a request that begin with the prefix, and writes those of a fingerprint.
    pub fn apply(&self, fingerprint: &ClientFingerprint, headers: &mut HeaderMap) {
        self.strip(headers);
        headers.extend(self.render(fingerprint));
    }

    /// Removes the headers that begin with the prefix.
    ///
    /// The comparison ignores case, and treats all punctuation as equal: CGI, WSGI and other interfaces write `_` for `-`,
    /// and some servers for all punctuation. The headers Connection and Trailer lose such names too: the next proxy would
    /// otherwise remove the headers that this one writes (RFC 9110, section 7.6.1), or forward trailers with these names
    /// (section 6.6.2).
    pub fn strip(&self, headers: &mut HeaderMap) {
        let forged: Vec<HeaderName> =
            headers.keys().filter(|name| self.is_reserved(name.as_str())).cloned().collect();
        for name in forged {
            headers.remove(name);
        }
        let names =
            |value: &HeaderValue| value.as_bytes().split(|byte| *byte == b',').any(|name| self.lists(name));
        for list in [CONNECTION, TRAILER] {
            if headers.get_all(&list).iter().any(names) {
                let kept: Vec<HeaderValue> =
                    headers.get_all(&list).iter().filter_map(|value| self.without(value)).collect();
                headers.remove(&list);
                for value in kept {
                    headers.append(&list, value);
                }
            }
        }
    }

    /// The headers of a fingerprint. Control characters and bytes beyond ASCII are escaped as `\xNN`.
    pub(crate) fn render(&self, fingerprint: &ClientFingerprint) -> Vec<(HeaderName, HeaderValue)> {
        let header = |(field, name): &(FingerprintField, HeaderName)| {
            Some((name.clone(), header_value(&field.value(fingerprint)?)?))
        };
        self.names.iter().filter_map(header).collect()
    }

    fn is_reserved(&self, name: &str) -> bool {
        let is_punctuation = |byte: u8| !byte.is_ascii_alphanumeric();
        let same = |(one, other): (u8, u8)| one == other || is_punctuation(one) && is_punctuation(other);
        name.len() >= self.prefix.len()
            && name.bytes().map(|byte| byte.to_ascii_lowercase()).zip(self.prefix.bytes()).all(same)
    }

    /// Whether an element of a list of names is reserved.
    fn lists(&self, name: &[u8]) -> bool {
        str::from_utf8(name.trim_ascii()).is_ok_and(|name| self.is_reserved(name))
    }

    /// A list of names without reserved ones.
    fn without(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let kept = value.as_bytes().split(|byte| *byte == b',').filter(|name| !self.lists(name));
        HeaderValue::from_bytes(&kept.collect::<Vec<_>>().join(&b','))
            .ok()
            .filter(|value| !value.as_bytes().trim_ascii().is_empty())
    }
}

fn header_value(text: &str) -> Option<HeaderValue> {
    if text.bytes().all(is_visible) {
        return HeaderValue::from_str(text).ok();
    }
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_visible(byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("\\x{byte:02x}"));
        }
    }
    HeaderValue::from_str(&escaped).ok()
}

fn is_visible(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}
