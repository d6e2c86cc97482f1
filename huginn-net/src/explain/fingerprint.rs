//! The kinds of fingerprints that `explain` accepts.

use std::str::FromStr;

use huginn_net_http::{HttpSignature, Role};
use huginn_net_tcp::{ParseError, TcpSignature};
use huginn_net_tls::{Ja4ParseError, TlsError};

use super::hello::Hello;
use super::quic::{self, QuicText};
use super::value::Value;

/// A fingerprint of any kind, or a TLS hello in hexadecimal digits, parsed from its text.
#[derive(Clone, Debug)]
pub struct Fingerprint(pub(super) Kind);

/// The kinds of fingerprints, as they were typed.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// JA4 in any form.
    Ja4(Value),
    /// The text of a JA3.
    Ja3(String),
    /// The text of a JA3S.
    Ja3s(String),
    /// The text of an Akamai fingerprint of HTTP/2.
    Akamai(String),
    /// The text of an HTTP/3 fingerprint.
    Http3(String),
    /// An MD5: of a JA3, a JA3S, an Akamai fingerprint or SSH algorithms.
    Hash([u8; 16]),
    /// The algorithms of a HASSH or HASSHServer.
    HasshAlgorithms(String),
    /// A QUIC fingerprint, and its text.
    Quic(QuicText, String),
    /// A p0f signature of a SYN or SYN+ACK.
    Tcp(Box<TcpSignature>),
    /// A p0f signature of a request, and the same text as a signature of a response.
    Http(Box<[HttpSignature; 2]>),
    /// A hello of a TLS client or server.
    Hello(Hello),
}

/// Why a text is not a fingerprint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// Malformed JA4.
    #[error("no JA4: {0}")]
    Ja4(#[from] Ja4ParseError),
    /// Malformed QUIC fingerprint, with the item that is wrong.
    #[error("no QUIC fingerprint: \"{0}\" is not a transport parameter")]
    Quic(String),
    /// Malformed TLS hello.
    #[error("no TLS hello: {0}")]
    Hello(#[from] TlsError),
    /// TLS hello with missing bytes.
    #[error("the TLS hello is incomplete")]
    IncompleteHello,
    /// Malformed p0f signature.
    #[error("no p0f signature of TCP: {0}")]
    Tcp(#[from] ParseError),
    /// Unknown kind.
    #[error(
        "neither JA4, JA3, JA3S, HASSH, an MD5 of 32 digits, Akamai's, an HTTP/3 or a QUIC fingerprint, a p0f signature nor a TLS hello in hexadecimal digits"
    )]
    Unknown,
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        text.parse().map(Self)
    }
}

impl FromStr for Kind {
    type Err = FingerprintError;

    /// Decides by the separators: Akamai's text has three bars and no brackets, that of QUIC one after a version, that of HTTP/3 one
    /// before letters. p0f's signatures have colons; those of HTTP
    /// have two colons at least and begin with a version. JA4 has underscores or begins with a transport. HASSH has
    /// three semicolons. Hexadecimal digits are those of a hello if there are more than those of a hash.
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        const HASH_LEN: usize = 32;
        if let Some(hello) = (text.len() > HASH_LEN).then(|| Hello::from_digits(text)).flatten() {
            return hello.map(Self::Hello);
        }
        if text.matches('|').count() == 3 && !text.contains('[') {
            return Ok(Self::Akamai(text.to_owned()));
        }
        if text.split_once('|').is_some_and(|(_, order)| is_field_order(order)) {
            return Ok(Self::Http3(text.to_owned()));
        }
        if quic::is_quic(text) {
            return Ok(Self::Quic(text.parse()?, text.to_owned()));
        }
        let http = |role| HttpSignature::from_raw_sig(role, text);
        if let Some((request, response)) = http(Role::Request).zip(http(Role::Response)) {
            return Ok(Self::Http(Box::new([request, response])));
        }
        if text.contains('_') || text.starts_with(['t', 'q']) {
            return Ok(Self::Ja4(text.parse()?));
        }
        if text.matches(';').count() == 3 {
            return Ok(Self::HasshAlgorithms(text.to_owned()));
        }
        if text.contains(':') {
            return Ok(Self::Tcp(Box::new(text.parse()?)));
        }
        if let Some(hash) = hash(text) {
            return Ok(Self::Hash(hash));
        }
        let is_list = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'-'));
        match text.matches(',').count() {
            4 if is_list => Ok(Self::Ja3(text.to_owned())),
            2 if is_list => Ok(Self::Ja3s(text.to_owned())),
            _ => Err(FingerprintError::Unknown),
        }
    }
}

/// Whether a text is an order of pseudo-header fields: letters between commas.
fn is_field_order(text: &str) -> bool {
    text.split(',').all(|field| matches!(field.as_bytes(), [letter] if letter.is_ascii_lowercase()))
}

/// Parses 32 hexadecimal digits.
fn hash(text: &str) -> Option<[u8; 16]> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}
