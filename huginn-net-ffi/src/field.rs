//! Values of a fingerprint.

use std::borrow::Cow;

use huginn_net_proxy::{ClientFingerprint, FingerprintField};

/// A value of a fingerprint.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HuginnField {
    /// JA4.
    Ja4 = 0,
    /// JA4_r: the sorted lists.
    Ja4R = 1,
    /// JA4_o: in the order of the wire.
    Ja4O = 2,
    /// JA4_ro: the lists in the order of the wire.
    Ja4Ro = 3,
    /// JA4 that session resumption does not change.
    Ja4Stable = 4,
    /// The stable JA4 with its lists.
    Ja4StableR = 5,
    /// JA3.
    Ja3 = 6,
    /// The MD5 of JA3.
    Ja3Hash = 7,
    /// The server name.
    Sni = 8,
    /// The offered protocols, joined by commas.
    Alpn = 9,
    /// The Akamai fingerprint of HTTP/2.
    Akamai = 10,
    /// The MD5 of the Akamai fingerprint.
    AkamaiHash = 11,
    /// The names of the headers of the first request, joined by commas.
    HeaderOrder = 12,
    /// p0f's signature of the first request.
    HttpSig = 13,
    /// p0f's signature of the SYN.
    TcpSig = 14,
    /// The operating system that the SYN matches.
    TcpSystem = 15,
    /// The software that HTTP/2, the headers or TLS name.
    ClientName = 16,
    /// Whether the client is the browser that it claims to be: consistent, imitation, proxy, unexplained or unknown.
    Verdict = 17,
    /// The claim and what contradicts it.
    VerdictReasons = 18,
    /// The groups of the key shares and the lengths of their keys in bytes, joined by commas: X25519MLKEM768:1216,x25519:32.
    KeyShares = 19,
    /// The kind of the extension encrypted_client_hello: outer, inner or other.
    Ech = 20,
    /// The QUIC fingerprint in its sorted form.
    Quic = 21,
}

impl HuginnField {
    const ALL: [Self; 22] = [
        Self::Ja4,
        Self::Ja4R,
        Self::Ja4O,
        Self::Ja4Ro,
        Self::Ja4Stable,
        Self::Ja4StableR,
        Self::Ja3,
        Self::Ja3Hash,
        Self::Sni,
        Self::Alpn,
        Self::Akamai,
        Self::AkamaiHash,
        Self::HeaderOrder,
        Self::HttpSig,
        Self::TcpSig,
        Self::TcpSystem,
        Self::ClientName,
        Self::Verdict,
        Self::VerdictReasons,
        Self::KeyShares,
        Self::Ech,
        Self::Quic,
    ];

    /// The field of a number, which C may choose freely.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The value in a fingerprint.
    pub(crate) fn value(self, found: &ClientFingerprint) -> Option<Cow<'_, str>> {
        let field = match self {
            Self::Sni => return found.tls.as_ref()?.sni.as_deref().map(Cow::Borrowed),
            Self::Alpn => return found.tls.as_ref()?.alpn.as_ref().map(|names| names.as_str().into()),
            Self::Ja4 => FingerprintField::Ja4,
            Self::Ja4R => FingerprintField::Ja4R,
            Self::Ja4O => FingerprintField::Ja4O,
            Self::Ja4Ro => FingerprintField::Ja4Ro,
            Self::Ja4Stable => FingerprintField::Ja4Stable,
            Self::Ja4StableR => FingerprintField::Ja4StableR,
            Self::Ja3 => FingerprintField::Ja3,
            Self::Ja3Hash => FingerprintField::Ja3Hash,
            Self::Akamai => FingerprintField::Akamai,
            Self::AkamaiHash => FingerprintField::AkamaiHash,
            Self::HeaderOrder => FingerprintField::HeaderOrder,
            Self::HttpSig => FingerprintField::HttpSig,
            Self::TcpSig => FingerprintField::TcpSig,
            Self::TcpSystem => FingerprintField::TcpSystem,
            Self::ClientName => FingerprintField::ClientName,
            Self::Verdict => FingerprintField::Verdict,
            Self::VerdictReasons => FingerprintField::VerdictReasons,
            Self::KeyShares => FingerprintField::KeyShares,
            Self::Ech => FingerprintField::Ech,
            Self::Quic => FingerprintField::Quic,
        };
        field.value(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_fields() {
        for (number, field) in (0..).zip(HuginnField::ALL) {
            assert_eq!((field as u32, HuginnField::from_number(number)), (number, Some(field)));
        }
        assert_eq!(HuginnField::from_number(22), None);
        assert_eq!(HuginnField::from_number(u32::MAX), None);
    }
}
