//! The fields of a certificate.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use const_oid::ObjectIdentifier;
use x509_parser::asn1_rs::FromDer;
use x509_parser::extensions::{BasicConstraints, GeneralName, SubjectAlternativeName};
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo, X509Name};

use super::element::{
    BIT_STRING, BOOLEAN, Element, Elements, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE,
};
use super::time::CertificateTime;
use super::{algorithm, distinguished_name, host, serial};
use crate::limits::{MAX_ALTERNATIVE_NAME_BYTES, MAX_ALTERNATIVE_NAMES, MAX_CERTIFICATE_MESSAGE_LEN};

/// Extensions that are read (RFC 5280, sections 4.2.1.6 and 4.2.1.9).
const SUBJECT_ALTERNATIVE_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");

/// The fields of a certificate (RFC 5280, section 4.1), as its author wrote them. Each is read for itself: one that is invalid, such
/// as a date of 30 February, hides no other. [`unreadable`](Self::unreadable) names those without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateFields {
    /// The version: 1, 2 or 3; `None` if it is another one.
    pub version: Option<u32>,
    /// The serial number in lower-case hexadecimal digits, two per byte and without leading zero bytes; after `-` if it is
    /// negative. `None` if it exceeds 64 bytes, or has none.
    pub serial: Option<Box<str>>,
    /// The subject as RFC 4514 writes it: the most specific attribute comes first, as in `CN=www.example.com,O=Example`.
    /// Attributes have OpenSSL's short names, or their number; characters that are not printable are escaped. Empty if the
    /// name is empty. `None` if it cannot be read, if its text exceeds 2 KiB, or if it has an attribute of an unknown type whose number
    /// has no text (2.40 and above, or parts of more than 32 bits).
    pub subject: Option<Box<str>>,
    /// The issuer, as [`subject`](Self::subject).
    pub issuer: Option<Box<str>>,
    /// The most specific common name of the subject, if it is valid text; not escaped.
    pub common_name: Option<Box<str>>,
    /// The subjectAltName extension; `None` if the certificate does not have one.
    pub alternative_names: Option<AlternativeNames>,
    /// The start of the validity; `None` if it is not a time, as 30 February.
    pub not_before: Option<CertificateTime>,
    /// The last second of the validity; `None` if it is not a time.
    pub not_after: Option<CertificateTime>,
    /// The type of the public key, such as `RSA`, `EC P-256` or `Ed25519`, or the number of its algorithm; `None` if it cannot be read.
    pub key: Option<Cow<'static, str>>,
    /// The size of the public key in bits: the modulus of RSA, the field of an elliptic curve, the prime of DSA, or the
    /// key itself (RFC 8032).
    pub key_bits: Option<u32>,
    /// The algorithm of the signature by OpenSSL's name, such as `sha256WithRSAEncryption`, or its number; `None` if it
    /// cannot be read.
    pub signature_algorithm: Option<Cow<'static, str>>,
    /// Whether the basic constraints name an authority; false without this extension, `None` if it cannot be read.
    pub is_ca: Option<bool>,
    /// Whether issuer and subject have the same bytes (RFC 5280, section 3.2). Anybody can write that: it does not say
    /// that the certificate is signed with its own key, as [`Certificate::is_self_signed`](crate::Certificate::is_self_signed) does.
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
    /// Reads the fields of a certificate in DER. `None` if the bytes are not the sequence of elements that a certificate is.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        if der.len() > MAX_CERTIFICATE_MESSAGE_LEN {
            return None;
        }
        let body = Body::split(der)?;
        let subject = name(body.subject);
        let (key, key_bits) = match SubjectPublicKeyInfo::from_der(body.key.whole) {
            Ok((_, info)) => algorithm::public_key(&info),
            Err(_) => (None, None),
        };
        let mut times = Elements::new(body.validity.content);
        let mut next_time = || times.next().and_then(|element| CertificateTime::from_der(element.whole));
        Some(Self {
            version: body.version(),
            serial: serial::text(body.serial.content),
            common_name: subject.as_ref().and_then(distinguished_name::common_name),
            subject: subject.as_ref().and_then(distinguished_name::text),
            issuer: name(body.issuer).as_ref().and_then(distinguished_name::text),
            alternative_names: alternative_names(&body),
            not_before: next_time(),
            not_after: next_time(),
            key,
            key_bits,
            signature_algorithm: AlgorithmIdentifier::from_der(body.signature_algorithm.whole)
                .ok()
                .and_then(|(_, found)| algorithm::signature(&found)),
            is_ca: is_ca(&body),
            is_self_issued: body.issuer.whole == body.subject.whole,
        })
    }

    /// The fields that have no value because they cannot be read, or exceed their limit, by their names in events: `names` stands for
    /// a subjectAltName extension without a readable name, `ca` for the basic constraints.
    pub fn unreadable(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let has_no_name =
            self.alternative_names.as_ref().is_some_and(|found| found.has_more && found.names.is_empty());
        [
            ("version", self.version.is_none()),
            ("serial", self.serial.is_none()),
            ("subject", self.subject.is_none()),
            ("issuer", self.issuer.is_none()),
            ("names", has_no_name),
            ("not_before", self.not_before.is_none()),
            ("not_after", self.not_after.is_none()),
            ("key", self.key.is_none()),
            ("signature_algorithm", self.signature_algorithm.is_none()),
            ("ca", self.is_ca.is_none()),
        ]
        .into_iter()
        .filter_map(|(name, is_unreadable)| is_unreadable.then_some(name))
    }

    /// Whether the certificate is for a host, given by name or as the text of an IP address (RFC 9525, section 6).
    ///
    /// Names are compared without regard to ASCII case. `*.` matches exactly one label, of a name with at least two further
    /// labels. IP addresses match IP addresses only. The common name counts only in a certificate without subjectAltName (RFC
    /// 6125, section 6.4.4), which current browsers refuse.
    ///
    /// `None` if no listed name matches and further names are unknown, or if the subject would count and cannot be read.
    pub fn matches_name(&self, host: &[u8]) -> Option<bool> {
        let Some(AlternativeNames { names, has_more }) = &self.alternative_names else {
            let name = self.common_name.as_deref();
            let is_known = name.is_some() || self.subject.is_some();
            return is_known.then(|| name.is_some_and(|name| host::matches_dns(name, host)));
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

    /// Whether a time, in seconds since the Unix epoch, is within the validity, including both ends. `None` if an end that decides it
    /// cannot be read.
    pub fn is_valid_at(&self, seconds: i64) -> Option<bool> {
        let has_begun = self.not_before.map(|start| start.seconds() <= seconds);
        let is_not_over = self.not_after.map(|end| seconds <= end.seconds());
        match (has_begun, is_not_over) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => Some(has_begun? && is_not_over?),
        }
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

/// The elements of a certificate (RFC 5280, section 4.1), whose contents are not read yet.
#[cfg_attr(not(feature = "self-signed"), expect(dead_code, reason = "no signature is verified"))]
pub(super) struct Body<'a> {
    /// All that the signature is over.
    pub(super) signed: Element<'a>,
    version: Option<Element<'a>>,
    serial: Element<'a>,
    /// The algorithm of the signature, as it is signed.
    pub(super) signed_algorithm: Element<'a>,
    issuer: Element<'a>,
    validity: Element<'a>,
    subject: Element<'a>,
    pub(super) key: Element<'a>,
    /// What follows the key: unique identifiers and extensions.
    rest: Elements<'a>,
    pub(super) signature_algorithm: Element<'a>,
    pub(super) signature: Element<'a>,
}

impl<'a> Body<'a> {
    /// Splits a certificate; `None` unless its elements are there, each with its tag, and nothing follows them.
    pub(super) fn split(der: &'a [u8]) -> Option<Self> {
        const VERSION: u8 = 0xa0;
        let mut outer = Elements::new(der);
        let mut parts = Elements::new(outer.next_if(SEQUENCE)?.content);
        let signed = parts.next_if(SEQUENCE)?;
        let mut rest = Elements::new(signed.content);
        let signature_algorithm = parts.next_if(SEQUENCE)?;
        let signature = parts.next_if(BIT_STRING)?;
        if !outer.is_empty() || !parts.is_empty() {
            return None;
        }
        let version = rest.next_if(VERSION);
        let serial = rest.next_if(INTEGER)?;
        let signed_algorithm = rest.next_if(SEQUENCE)?;
        let [issuer, validity, subject, key] = [
            rest.next_if(SEQUENCE)?,
            rest.next_if(SEQUENCE)?,
            rest.next_if(SEQUENCE)?,
            rest.next_if(SEQUENCE)?,
        ];
        Some(Self {
            signed,
            version,
            serial,
            signed_algorithm,
            issuer,
            validity,
            subject,
            key,
            rest,
            signature_algorithm,
            signature,
        })
    }

    fn version(&self) -> Option<u32> {
        let Some(version) = self.version else { return Some(1) };
        let mut elements = Elements::new(version.content);
        match elements.next_if(INTEGER)?.content {
            [number @ 0..=2] if elements.is_empty() => Some(u32::from(*number).saturating_add(1)),
            _ => None,
        }
    }

    /// The value of the only extension of a type; an error if there are several, or if the list of extensions cannot be read.
    fn extension(&self, kind: ObjectIdentifier) -> Result<Option<&'a [u8]>, ()> {
        const ISSUER_UNIQUE_ID: [u8; 2] = [0x81, 0xa1];
        const SUBJECT_UNIQUE_ID: [u8; 2] = [0x82, 0xa2];
        const EXTENSIONS: u8 = 0xa3;
        let mut rest = self.rest.clone();
        for tags in [ISSUER_UNIQUE_ID, SUBJECT_UNIQUE_ID] {
            let _ = tags.into_iter().find_map(|tag| rest.next_if(tag));
        }
        if rest.is_empty() {
            return Ok(None);
        }
        let list = rest.next_if(EXTENSIONS).filter(|_| rest.is_empty()).ok_or(())?;
        let mut list = Elements::new(list.content);
        let mut extensions =
            Elements::new(list.next_if(SEQUENCE).filter(|_| list.is_empty()).ok_or(())?.content);
        let mut found = None;
        while !extensions.is_empty() {
            let (oid, value) = extensions.next_if(SEQUENCE).and_then(extension).ok_or(())?;
            if oid == kind.as_bytes() && found.replace(value).is_some() {
                return Err(());
            }
        }
        Ok(found)
    }
}

/// The type and the value of an extension.
fn extension(element: Element<'_>) -> Option<(&[u8], &[u8])> {
    let mut parts = Elements::new(element.content);
    let kind = parts.next_if(OBJECT_IDENTIFIER)?;
    let _is_critical = parts.next_if(BOOLEAN);
    let value = parts.next_if(OCTET_STRING).filter(|_| parts.is_empty())?;
    Some((kind.content, value.content))
}

/// A name, if all its parts can be read.
fn name(element: Element<'_>) -> Option<X509Name<'_>> {
    let (_, name) = X509Name::from_der(element.whole).ok()?;
    (name.as_raw().len() == element.whole.len()).then_some(name)
}

fn alternative_names(body: &Body<'_>) -> Option<AlternativeNames> {
    let unreadable = AlternativeNames { has_more: true, ..AlternativeNames::default() };
    let Ok(value) = body.extension(SUBJECT_ALTERNATIVE_NAME) else { return Some(unreadable) };
    let value = value?;
    let Ok((rest, found)) = SubjectAlternativeName::from_der(value) else {
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

fn is_ca(body: &Body<'_>) -> Option<bool> {
    let Some(value) = body.extension(BASIC_CONSTRAINTS).ok()? else { return Some(false) };
    match BasicConstraints::from_der(value) {
        Ok(([], constraints)) => Some(constraints.ca),
        _ => None,
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
