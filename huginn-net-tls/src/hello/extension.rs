//! The lists of a hello: extensions and two-byte numbers.

use std::iter::FusedIterator;

/// Extension types with a meaning here (IANA, "TLS ExtensionType Values").
pub mod extension_type {
    /// RFC 6066, section 3.
    pub const SERVER_NAME: u16 = 0x0000;
    /// RFC 8422, section 5.1.1; RFC 7919.
    pub const SUPPORTED_GROUPS: u16 = 0x000a;
    /// RFC 8422, section 5.1.2.
    pub const EC_POINT_FORMATS: u16 = 0x000b;
    /// RFC 8446, section 4.2.3.
    pub const SIGNATURE_ALGORITHMS: u16 = 0x000d;
    /// RFC 7301.
    pub const ALPN: u16 = 0x0010;
    /// RFC 7685.
    pub const PADDING: u16 = 0x0015;
    /// RFC 8879.
    pub const COMPRESS_CERTIFICATE: u16 = 0x001b;
    /// RFC 8449.
    pub const RECORD_SIZE_LIMIT: u16 = 0x001c;
    /// RFC 5077.
    pub const SESSION_TICKET: u16 = 0x0023;
    /// RFC 8446, section 4.2.11.
    pub const PRE_SHARED_KEY: u16 = 0x0029;
    /// RFC 8446, section 4.2.10.
    pub const EARLY_DATA: u16 = 0x002a;
    /// RFC 8446, section 4.2.1.
    pub const SUPPORTED_VERSIONS: u16 = 0x002b;
    /// RFC 8446, section 4.2.4.
    pub const CERTIFICATE_AUTHORITIES: u16 = 0x002f;
    /// RFC 8446, section 4.2.3.
    pub const SIGNATURE_ALGORITHMS_CERT: u16 = 0x0032;
    /// cookie (RFC 8446, section 4.2.2).
    pub const COOKIE: u16 = 0x002c;
    /// key_share of the drafts of RFC 8446 before the 23rd; unassigned since.
    pub const DRAFT_KEY_SHARE: u16 = 0x0028;
    /// RFC 8446, section 4.2.8.
    pub const KEY_SHARE: u16 = 0x0033;
    /// RFC 9001, section 8.2.
    pub const QUIC_TRANSPORT_PARAMETERS: u16 = 0x0039;
    /// quic_transport_parameters of the drafts of RFC 9001.
    pub const DRAFT_QUIC_TRANSPORT_PARAMETERS: u16 = 0xffa5;
    /// draft-vvv-tls-alps, application_settings; the number that Chrome used up to version 132.
    pub const OLD_APPLICATION_SETTINGS: u16 = 0x4469;
    /// draft-vvv-tls-alps, application_settings.
    pub const APPLICATION_SETTINGS: u16 = 0x44cd;
    /// draft-ietf-tls-trust-anchor-ids, trust_anchors.
    pub const TRUST_ANCHORS: u16 = 0xca34;
    /// Encrypted Client Hello (RFC 9849).
    pub const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
}

/// An extension (RFC 8446, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Extension type.
    pub kind: u16,
    /// The data, without type and length.
    pub data: &'a [u8],
}

/// The extensions of a hello in wire order, up to the first truncated one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extensions<'a> {
    /// The unread part of the block; after the last extension, its trailing bytes.
    pub(crate) rest: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// Iterates over a block of extensions, without its length prefix.
    pub(crate) const fn new(block: &'a [u8]) -> Self {
        Self { rest: block }
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    #[inline]
    fn next(&mut self) -> Option<Extension<'a>> {
        let ([kind_high, kind_low, len_high, len_low], body) = self.rest.split_first_chunk()?;
        let len = usize::from(u16::from_be_bytes([*len_high, *len_low]));
        let (data, rest) = body.split_at_checked(len)?;
        self.rest = rest;
        Some(Extension { kind: u16::from_be_bytes([*kind_high, *kind_low]), data })
    }
}

impl FusedIterator for Extensions<'_> {}

/// A list of two-byte numbers in wire order. A trailing odd byte is ignored.
#[derive(Clone, Copy, Debug, Default)]
pub struct U16List<'a> {
    rest: &'a [u8],
}

impl<'a> U16List<'a> {
    /// Iterates over the numbers in these bytes.
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Iterator for U16List<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u16::from_be_bytes(*first))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.rest.len() / 2;
        (len, Some(len))
    }
}

impl ExactSizeIterator for U16List<'_> {}
impl FusedIterator for U16List<'_> {}

/// A key share of a client (RFC 8446, section 4.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShare<'a> {
    /// The group, by its number in IANA's registry "TLS Supported Groups".
    pub group: u16,
    /// The public key, or what the group defines in place of it.
    pub key: &'a [u8],
}

/// The key shares of a client in wire order, up to the first truncated one.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyShares<'a> {
    rest: Extensions<'a>,
}

impl<'a> KeyShares<'a> {
    /// Iterates over a list of key shares, without its length prefix.
    pub(crate) const fn new(list: &'a [u8]) -> Self {
        // A key share is laid out as an extension: a number, a length and the data.
        Self { rest: Extensions::new(list) }
    }
}

impl<'a> Iterator for KeyShares<'a> {
    type Item = KeyShare<'a>;

    fn next(&mut self) -> Option<KeyShare<'a>> {
        self.rest.next().map(|Extension { kind, data }| KeyShare { group: kind, key: data })
    }
}

impl FusedIterator for KeyShares<'_> {}

/// The protocol names of an ALPN extension (RFC 7301, section 3.1), up to the first truncated one.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlpnList<'a> {
    rest: &'a [u8],
}

impl<'a> AlpnList<'a> {
    /// Iterates over a list of names, without its length prefix.
    pub(crate) const fn new(list: &'a [u8]) -> Self {
        Self { rest: list }
    }
}

impl<'a> Iterator for AlpnList<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, body) = self.rest.split_first()?;
        let (name, rest) = body.split_at_checked(usize::from(*len))?;
        self.rest = rest;
        Some(name)
    }
}

impl FusedIterator for AlpnList<'_> {}
