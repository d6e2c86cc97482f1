//! X.509 certificates (RFC 5280), and the handshake messages that carry them up to TLS 1.2.

mod algorithm;
mod distinguished_name;
mod element;
mod fields;
mod host;
mod message;
#[cfg(feature = "self-signed")]
mod self_signed;
mod serial;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
mod tests;
mod time;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::thread::LocalKey;

use huginn_net_wire::{Amount, SeenCache};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::limits::{CERTIFICATE_CACHE_ENTRIES, MAX_CACHED_CERTIFICATE_LEN};

pub use self::fields::{AlternativeName, AlternativeNames, CertificateFields};
pub use self::message::{
    AuthorityName, AuthorityNames, CertificateList, CertificateMessage, CertificateRequest,
};
pub use self::time::{CertificateTime, CertificateTimeParseError};

/// An X.509 certificate as a peer sent it: its hashes, and its fields if it can be read.
///
/// Nothing is verified: neither the chain, nor revocation, nor signatures, except by [`is_self_signed`](Self::is_self_signed). Cloning
/// copies a pointer.
///
/// ```
/// use huginn_net_tls::Certificate;
///
/// // Made by `openssl req -x509`, with `-addext subjectAltName=DNS:www.example.com,DNS:*.example.org,...`.
/// let der = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/p256.der"));
/// let certificate = Certificate::from_der(der);
/// assert_eq!(certificate.len(), der.len());
/// let fields = certificate.fields().expect("a certificate");
/// assert_eq!(fields.subject.as_deref(), Some("CN=www.example.com,O=Example\\, Inc.,C=DE"));
/// assert_eq!((fields.key.as_deref(), fields.key_bits), (Some("EC P-256"), Some(256)));
/// assert_eq!(certificate.matches_name(b"host.example.org"), Some(true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate(Arc<Contents>);

type Cache = RefCell<SeenCache<[u8], Certificate>>;

thread_local! {
    static CACHE: Cache = RefCell::new(SeenCache::new(CERTIFICATE_CACHE_ENTRIES));
    /// Certificates with their bytes.
    static KEPT: Cache = RefCell::new(SeenCache::new(CERTIFICATE_CACHE_ENTRIES));
}

#[derive(Debug)]
struct Contents {
    der: Option<Arc<[u8]>>,
    len: usize,
    sha256: [u8; 32],
    sha1: [u8; 20],
    fields: Option<CertificateFields>,
}

/// By their contents, whether they keep their bytes or not.
impl PartialEq for Contents {
    fn eq(&self, other: &Self) -> bool {
        (self.len, &self.sha256, &self.sha1) == (other.len, &other.sha256, &other.sha1)
            && self.fields == other.fields
    }
}

impl Eq for Contents {}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// Any bytes are accepted: those that are not a certificate have hashes and a length, but no [fields](Self::fields).
    ///
    /// Each thread caches up to 256 repeated certificates of at most 4 KiB: servers send the same ones in each connection.
    pub fn from_der(der: &[u8]) -> Self {
        Self::from_cache(&CACHE, der, || Self::read(der, None))
    }

    /// Reads a certificate as [`from_der`](Self::from_der) does, and keeps its [bytes](Self::der), in a cache of its own, too.
    pub fn from_kept_der(der: &[u8]) -> Self {
        Self::from_cache(&KEPT, der, || Self::read(der, Some(der.into())))
    }

    fn from_cache(cache: &'static LocalKey<Cache>, der: &[u8], read: impl Fn() -> Self) -> Self {
        let is_cacheable = der.len() <= MAX_CACHED_CERTIFICATE_LEN;
        let cached = is_cacheable.then(|| SeenCache::recall(cache, der, &read)).flatten();
        cached.unwrap_or_else(read)
    }

    fn read(der: &[u8], kept: Option<Arc<[u8]>>) -> Self {
        Self(Arc::new(Contents {
            der: kept,
            len: der.len(),
            sha256: Sha256::digest(der).into(),
            sha1: Sha1::digest(der).into(),
            fields: CertificateFields::parse(der),
        }))
    }

    /// Length of the DER, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length of the wire, not of a collection")]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// The DER, as the peer sent it: for programs that verify certificates. `None` unless it was [kept](Self::from_kept_der), which
    /// [`TlsObserver::certificate_bytes`](crate::TlsObserver::certificate_bytes) enables for those of packets.
    ///
    /// ```
    /// use huginn_net_tls::Certificate;
    ///
    /// let der = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/p256.der"));
    /// assert_eq!(Certificate::from_kept_der(der).der(), Some(&der[..]));
    /// assert_eq!(Certificate::from_der(der).der(), None);
    /// ```
    pub fn der(&self) -> Option<&[u8]> {
        self.0.der.as_deref()
    }

    /// SHA-256 of the DER.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.0.sha256
    }

    /// SHA-1 of the DER, as older lists of certificates have it.
    pub fn sha1(&self) -> &[u8; 20] {
        &self.0.sha1
    }

    /// The fields; `None` if the bytes are not a certificate in DER, or longer than 256 KiB. A field that cannot be read hides no
    /// other: see [`CertificateFields::unreadable`].
    pub fn fields(&self) -> Option<&CertificateFields> {
        self.0.fields.as_ref()
    }

    /// Whether the certificate is for a host: [`CertificateFields::matches_name`]. `None` also if it cannot be read.
    pub fn matches_name(&self, host: &[u8]) -> Option<bool> {
        self.fields()?.matches_name(host)
    }

    /// Whether the certificate is signed with its own key (RFC 5280, section 3.2): its issuer is its subject, and the signature
    /// verifies with its key. `Some(false)` if the two names have other bytes, or if they are the same and the signature was not made
    /// with the key, or is broken.
    ///
    /// `None` if the names are the same and the signature cannot be verified: the certificate was not [kept](Self::from_kept_der), or
    /// its algorithm is another one than RSA (PKCS#1 or PSS, keys of 512 to 8,192 bits, with SHA-1, SHA-256, SHA-384 or SHA-512), ECDSA on
    /// P-256 or P-384 (with SHA-256, SHA-384 or SHA-512), or Ed25519.
    ///
    /// Each call verifies again.
    ///
    /// ```
    /// use huginn_net_tls::Certificate;
    ///
    /// // A certificate signed with its own key, and one that an authority signed.
    /// let own = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/p256.der"));
    /// assert_eq!(Certificate::from_kept_der(own).is_self_signed(), Some(true));
    /// let issued = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/certificates/rsa2048.der"));
    /// assert_eq!(Certificate::from_kept_der(issued).is_self_signed(), Some(false));
    /// ```
    #[cfg(feature = "self-signed")]
    pub fn is_self_signed(&self) -> Option<bool> {
        let fields = self.fields()?;
        if fields.is_self_issued { self_signed::verifies(self.der()?, fields) } else { Some(false) }
    }

    /// Whether a time is within the validity: [`CertificateFields::is_valid_at`]. `None` if the certificate or its
    /// validity cannot be read.
    pub fn is_valid_at(&self, seconds: i64) -> Option<bool> {
        self.fields()?.is_valid_at(seconds)
    }
}

/// Writes subject, issuer and validity in one line.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(CertificateFields { subject, issuer, not_before, not_after, .. }) = self.fields() else {
            return write!(
                f,
                "unreadable certificate of {}",
                Amount(u64::try_from(self.len()).unwrap_or(u64::MAX), "byte(s)")
            );
        };
        let [subject, issuer] = [subject, issuer].map(|name| match name.as_deref() {
            Some("") => "(no name)",
            Some(name) => name,
            None => "(unreadable name)",
        });
        let [start, end] = [not_before, not_after]
            .map(|time| time.map_or_else(|| "(unreadable date)".to_owned(), |time| time.to_string()));
        write!(f, "{subject}, issued by {issuer}, valid from {start} to {end}")
    }
}
