//! The fields of a certificate.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use const_oid::ObjectIdentifier;
use x509_parser::asn1_rs::FromDer;
use x509_parser::certificate::{TbsCertificate, X509CertificateParser};
use x509_parser::extensions::{BasicConstraints, GeneralName, SubjectAlternativeName, X509Extension};
use x509_parser::nom::Parser;

use super::time::CertificateTime;
use super::{algorithm, distinguished_name, host, serial};
use crate::limits::{MAX_ALTERNATIVE_NAME_BYTES, MAX_ALTERNATIVE_NAMES, MAX_CERTIFICATE_MESSAGE_LEN};

/// Extensions that are read (RFC 5280, sections 4.2.1.6 and 4.2.1.9).
const SUBJECT_ALTERNATIVE_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");

/// The fields of a certificate (RFC 5280, section 4.1), as its author wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateFields {
    /// The version: 1, 2 or 3.
    pub version: u32,
    /// The serial number in lower-case hexadecimal digits, two per byte and without leading zero bytes; after `-` if it is
    /// negative. `None` if it exceeds 64 bytes.
    pub serial: Option<Box<str>>,
    /// The subject as RFC 4514 writes it: the most specific attribute comes first, as in `CN=www.example.com,O=Example`.
    /// Attributes have OpenSSL's short names, or their number; characters that are not printable are escaped. Empty if the
    /// name is empty. `None` if its text exceeds 2 KiB, or if it has an attribute of an unknown type whose number has no text
    /// (2.40 and above, or parts of more than 32 bits).
    pub subject: Option<Box<str>>,
    /// The issuer, as [`subject`](Self::subject).
    pub issuer: Option<Box<str>>,
    /// The most specific common name of the subject, if it is valid text; not escaped.
    pub common_name: Option<Box<str>>,
    /// The subjectAltName extension; `None` if the certificate does not have one.
    pub alternative_names: Option<AlternativeNames>,
    /// The start of the validity.
    pub not_before: CertificateTime,
    /// The last second of the validity.
    pub not_after: CertificateTime,
    /// The type of the public key, such as `RSA`, `EC P-256` or `Ed25519`, or the number of its algorithm.
    pub key: Option<Cow<'static, str>>,
    /// The size of the public key in bits: the modulus of RSA, the field of an elliptic curve, the prime of DSA, or the
    /// key itself (RFC 8032).
    pub key_bits: Option<u32>,
    /// The algorithm of the signature by OpenSSL's name, such as `sha256WithRSAEncryption`, or its number.
    pub signature_algorithm: Option<Cow<'static, str>>,
    /// Whether the basic constraints name an authority; false without this extension, `None` if it cannot be read.
    pub is_ca: Option<bool>,
    /// Whether issuer and subject have the same bytes (RFC 5280, section 3.2). Anybody can write that: it does not say
    /// that the certificate is signed with its own key.
    pub is_self_issued: bool,
}

/// The names in a subjectAltName extension (RFC 5280, section 4.2.1.6): hosts, IP addresses, email addresses and URIs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlternativeNames {
    /// The first names in wire order: at most 256, and 16 KiB.
    pub names: Box<[AlternativeName]>,
    /// Whether the extension has further names of these kinds, or one that cannot be read.
    pub has_more: bool,
}

/// A name in a subjectAltName extension. Displays the name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlternativeName {
    /// The name of a host or, with `*.`, of hosts.
    Dns(Box<str>),
    /// An IP address.
    Ip(IpAddr),
    /// An email address.
    Email(Box<str>),
    /// A URI.
    Uri(Box<str>),
}

impl CertificateFields {
    /// Parses a certificate in DER.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        if der.len() > MAX_CERTIFICATE_MESSAGE_LEN {
            return None;
        }
        let mut parser = X509CertificateParser::new().with_deep_parse_extensions(false);
        let (rest, certificate) = parser.parse(der).ok()?;
        let body = &certificate.tbs_certificate;
        let (key, key_bits) = algorithm::public_key(&body.subject_pki);
        let fields = Self {
            version: body.version.0.checked_add(1).filter(|version| *version <= 3)?,
            serial: serial::text(body.raw_serial()),
            subject: distinguished_name::text(&body.subject),
            issuer: distinguished_name::text(&body.issuer),
            common_name: distinguished_name::common_name(&body.subject),
            alternative_names: alternative_names(body),
            not_before: CertificateTime::from_seconds(body.validity.not_before.timestamp())?,
            not_after: CertificateTime::from_seconds(body.validity.not_after.timestamp())?,
            key,
            key_bits,
            signature_algorithm: algorithm::signature(&certificate.signature_algorithm),
            is_ca: is_ca(body),
            is_self_issued: body.issuer.as_raw() == body.subject.as_raw(),
        };
        rest.is_empty().then_some(fields)
    }

    /// Whether the certificate is for a host, given by name or as the text of an IP address (RFC 9525, section 6).
    ///
    /// Names are compared without regard to ASCII case. `*.` matches exactly one label, of a name with at least two further
    /// labels. IP addresses match IP addresses only. The common name counts only in a certificate without subjectAltName (RFC
    /// 6125, section 6.4.4), which current browsers refuse.
    ///
    /// `None` if no listed name matches and further names are unknown.
    pub fn matches_name(&self, host: &[u8]) -> Option<bool> {
        let Some(AlternativeNames { names, has_more }) = &self.alternative_names else {
            return Some(self.common_name.as_ref().is_some_and(|name| host::matches_dns(name, host)));
        };
        let matches = match host::address(host) {
            Some(address) => names.contains(&AlternativeName::Ip(address)),
            None => names.iter().any(|name| match name {
                AlternativeName::Dns(name) => host::matches_dns(name, host),
                _ => false,
            }),
        };
        (matches || !has_more).then_some(matches)
    }

    /// Whether a time, in seconds since the Unix epoch, is within the validity, including both ends.
    pub fn is_valid_at(&self, seconds: i64) -> bool {
        (self.not_before.seconds()..=self.not_after.seconds()).contains(&seconds)
    }
}

impl AlternativeName {
    /// Length of the name in memory, in bytes.
    fn len(&self) -> usize {
        match self {
            Self::Dns(text) | Self::Email(text) | Self::Uri(text) => text.len(),
            Self::Ip(_) => size_of::<IpAddr>(),
        }
    }

    /// Converts a general name; `None` if its kind is not listed, or an error if it cannot be read.
    fn from_general(name: &GeneralName<'_>) -> Option<Result<Self, ()>> {
        let text =
            |text: &str| if text.len() <= MAX_ALTERNATIVE_NAME_BYTES { Ok(text.into()) } else { Err(()) };
        match name {
            GeneralName::DNSName(name) => Some(text(name).map(Self::Dns)),
            GeneralName::RFC822Name(name) => Some(text(name).map(Self::Email)),
            GeneralName::URI(name) => Some(text(name).map(Self::Uri)),
            GeneralName::IPAddress(bytes) => Some(address(bytes).map(Self::Ip).ok_or(())),
            GeneralName::Invalid(..) => Some(Err(())),
            _ => None,
        }
    }
}

impl fmt::Display for AlternativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(text) | Self::Email(text) | Self::Uri(text) => f.write_str(text),
            Self::Ip(address) => address.fmt(f),
        }
    }
}

/// The only extension of this type; an error if there are several.
fn extension<'a, 'b>(
    body: &'b TbsCertificate<'a>,
    kind: ObjectIdentifier,
) -> Option<Result<&'b X509Extension<'a>, ()>> {
    let mut found = body.extensions().iter().filter(|extension| extension.oid.as_bytes() == kind.as_bytes());
    let first = found.next()?;
    Some(if found.next().is_none() { Ok(first) } else { Err(()) })
}

fn alternative_names(body: &TbsCertificate<'_>) -> Option<AlternativeNames> {
    let unreadable = AlternativeNames { has_more: true, ..AlternativeNames::default() };
    let Ok(extension) = extension(body, SUBJECT_ALTERNATIVE_NAME)? else { return Some(unreadable) };
    let Ok((rest, found)) = SubjectAlternativeName::from_der(extension.value) else {
        return Some(unreadable);
    };
    let (mut names, mut has_more, mut bytes) = (Vec::new(), !rest.is_empty(), 0_usize);
    for name in found.general_names.iter().filter_map(AlternativeName::from_general) {
        let Ok(name) = name else {
            has_more = true;
            continue;
        };
        bytes = bytes.saturating_add(name.len());
        if names.len() >= MAX_ALTERNATIVE_NAMES || bytes > MAX_ALTERNATIVE_NAME_BYTES {
            has_more = true;
            break;
        }
        names.push(name);
    }
    Some(AlternativeNames { names: names.into(), has_more })
}

fn is_ca(body: &TbsCertificate<'_>) -> Option<bool> {
    match extension(body, BASIC_CONSTRAINTS) {
        None => Some(false),
        Some(extension) => match BasicConstraints::from_der(extension.ok()?.value) {
            Ok(([], constraints)) => Some(constraints.ca),
            _ => None,
        },
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
