//! Handshake messages with certificates. TLS 1.3 encrypts them.

use std::iter::FusedIterator;

use huginn_net_wire::Cursor;
use x509_parser::asn1_rs::FromDer;
use x509_parser::x509::X509Name;

use super::distinguished_name;
use crate::hello::Extensions;
use crate::hello::handshake::at;
use crate::limits::{MAX_AUTHORITIES, MAX_CERTIFICATE_MESSAGE_LEN, MAX_CERTIFICATES};
use crate::{TlsError, TlsField, U16List, Version, extension_type};

/// A Certificate message (RFC 5246, section 7.4.2): the chain of a server or client, its own certificate first.
#[derive(Clone, Copy, Debug)]
pub struct CertificateMessage<'a> {
    list: &'a [u8],
    is_truncated: bool,
    has_extensions: bool,
}

impl<'a> CertificateMessage<'a> {
    /// The handshake type.
    pub const TYPE: u8 = 11;
    /// Length of a body up to which certificates are read, in bytes.
    pub const MAX_LEN: usize = MAX_CERTIFICATE_MESSAGE_LEN;

    /// Parses the body of a message, without its header. Only the first [`MAX_LEN`](Self::MAX_LEN) bytes are needed. The
    /// complete certificates of a truncated body are read.
    pub fn from_body(body: &'a [u8]) -> Self {
        Self::from_list(Cursor::new(body.get(..Self::MAX_LEN).unwrap_or(body)), false)
    }

    /// Parses the decrypted body of a message of TLS 1.3 (RFC 8446, section 4.4.2), as [`from_body`](Self::from_body) does.
    /// Extensions of certificates are skipped.
    pub fn from_tls13_body(body: &'a [u8]) -> Self {
        let mut cursor = Cursor::new(body.get(..Self::MAX_LEN).unwrap_or(body));
        // The context is empty in a handshake.
        if cursor.u8().and_then(|len| cursor.skip(len.into())).is_err() {
            cursor = Cursor::new(&[]);
        }
        Self::from_list(cursor, true)
    }

    fn from_list(mut cursor: Cursor<'a>, has_extensions: bool) -> Self {
        let announced = cursor.u24_be().ok().and_then(|len| usize::try_from(len).ok());
        let list = announced.and_then(|len| cursor.take(len).ok());
        Self { list: list.unwrap_or(cursor.rest()), is_truncated: list.is_none(), has_extensions }
    }

    /// The certificates in DER, at most 16. A client without a certificate sends none.
    pub fn certificates(&self) -> CertificateList<'a> {
        let Self { list, has_extensions, .. } = *self;
        CertificateList { rest: list, left: MAX_CERTIFICATES, has_extensions }
    }

    /// Whether the message has more than its [`certificates`](Self::certificates): beyond the limits, or truncated.
    pub fn has_more(&self) -> bool {
        let mut certificates = self.certificates();
        while certificates.next().is_some() {}
        self.is_truncated || !certificates.rest.is_empty()
    }
}

/// The certificates of a message in DER, up to the first truncated one.
#[derive(Clone, Copy, Debug)]
pub struct CertificateList<'a> {
    rest: &'a [u8],
    left: usize,
    has_extensions: bool,
}

impl<'a> Iterator for CertificateList<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let left = self.left.checked_sub(1)?;
        let mut cursor = Cursor::new(self.rest);
        let len = usize::try_from(cursor.u24_be().ok()?).ok()?;
        let certificate = cursor.take(len).ok()?;
        if self.has_extensions {
            let len = usize::from(cursor.u16_be().ok()?);
            cursor.skip(len).ok()?;
        }
        (self.rest, self.left) = (cursor.rest(), left);
        Some(certificate)
    }
}

impl FusedIterator for CertificateList<'_> {}

/// A CertificateRequest message: a server asks for the certificate of the client.
#[derive(Clone, Copy, Debug)]
pub struct CertificateRequest<'a> {
    certificate_types: &'a [u8],
    signature_algorithms: Option<&'a [u8]>,
    authorities: &'a [u8],
}

impl<'a> CertificateRequest<'a> {
    /// The handshake type.
    pub const TYPE: u8 = 13;

    /// Parses the body of a message, without its header. TLS 1.2 and DTLS 1.2 have signature algorithms (RFC 5246, section
    /// 7.4.4), earlier versions do not (RFC 4346, section 7.4.4): `version` is that of the ServerHello. The request of TLS 1.3,
    /// which is decrypted, has extensions (RFC 8446, section 4.3.2).
    ///
    /// # Errors
    /// [`TlsError::Truncated`] if the message ends within a list.
    pub fn from_body(body: &'a [u8], version: Version) -> Result<Self, TlsError> {
        if version == Version::TLS_1_3 {
            return Self::from_tls13_body(body);
        }
        let mut cursor = Cursor::new(body);
        let mut short = |field| cursor.u8().and_then(|len| cursor.take(len.into())).map_err(at(field));
        let certificate_types = short(TlsField::CertificateTypes)?;
        let mut long = |field| cursor.u16_be().and_then(|len| cursor.take(len.into())).map_err(at(field));
        let signature_algorithms = match version {
            Version::TLS_1_2 | Version::DTLS_1_2 => Some(long(TlsField::SignatureAlgorithms)?),
            _ => None,
        };
        let authorities = long(TlsField::Authorities)?;
        Ok(Self { certificate_types, signature_algorithms, authorities })
    }

    fn from_tls13_body(body: &'a [u8]) -> Result<Self, TlsError> {
        let mut cursor = Cursor::new(body);
        cursor.u8().and_then(|len| cursor.take(len.into())).map_err(at(TlsField::CertificateTypes))?;
        let (mut signature_algorithms, mut authorities) = (None, &[][..]);
        let block = cursor.u16_be().and_then(|len| cursor.take(len.into()));
        for extension in Extensions::new(block.map_err(at(TlsField::CertificateExtensions))?) {
            let list = |field| {
                let mut data = Cursor::new(extension.data);
                data.u16_be().and_then(|len| data.take(len.into())).map_err(at(field))
            };
            match extension.kind {
                extension_type::SIGNATURE_ALGORITHMS => {
                    signature_algorithms = Some(list(TlsField::SignatureAlgorithms)?)
                }
                extension_type::CERTIFICATE_AUTHORITIES => authorities = list(TlsField::Authorities)?,
                _ => {}
            }
        }
        Ok(Self { certificate_types: &[], signature_algorithms, authorities })
    }

    /// The types of certificates (IANA, "TLS ClientCertificateType Identifiers"): 1 is RSA, 64 is ECDSA.
    pub const fn certificate_types(&self) -> &'a [u8] {
        self.certificate_types
    }

    /// The signature algorithms of TLS 1.2; none before.
    pub fn signature_algorithms(&self) -> U16List<'a> {
        U16List::new(self.signature_algorithms.unwrap_or_default())
    }

    /// The names of the accepted authorities, at most 512. An empty list accepts any.
    pub fn authorities(&self) -> AuthorityNames<'a> {
        AuthorityNames { rest: self.authorities, left: MAX_AUTHORITIES }
    }

    /// Whether the message has more than its [`authorities`](Self::authorities): beyond the limit, or truncated.
    pub fn has_more_authorities(&self) -> bool {
        let mut authorities = self.authorities();
        while authorities.next().is_some() {}
        !authorities.rest.is_empty()
    }
}

/// The names of the authorities in a CertificateRequest, up to the first truncated one.
#[derive(Clone, Copy, Debug)]
pub struct AuthorityNames<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Iterator for AuthorityNames<'a> {
    type Item = AuthorityName<'a>;

    fn next(&mut self) -> Option<AuthorityName<'a>> {
        let left = self.left.checked_sub(1)?;
        let mut cursor = Cursor::new(self.rest);
        let len = cursor.u16_be().ok()?;
        let der = cursor.take(len.into()).ok()?;
        (self.rest, self.left) = (cursor.rest(), left);
        Some(AuthorityName(der))
    }
}

impl FusedIterator for AuthorityNames<'_> {}

/// The distinguished name of an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorityName<'a>(&'a [u8]);

impl<'a> AuthorityName<'a> {
    /// The name in DER.
    pub const fn der(&self) -> &'a [u8] {
        self.0
    }

    /// The name as text, as [`CertificateFields::subject`](super::CertificateFields::subject); `None` also if it cannot be
    /// read.
    pub fn text(&self) -> Option<Box<str>> {
        match X509Name::from_der(self.0) {
            Ok(([], name)) => distinguished_name::text(&name),
            _ => None,
        }
    }
}
