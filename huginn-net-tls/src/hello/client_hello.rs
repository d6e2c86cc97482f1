//! The ClientHello.

use std::borrow::Cow;
use std::net::IpAddr;
use std::str;

use huginn_net_wire::{Cursor, Parsed};

use super::extension::{AlpnList, Extension, Extensions, KeyShares, U16List, extension_type as kind};
use super::handshake::{self, CLIENT_HELLO, at};
use super::{Ech, Version, is_grease};
use crate::computed::Computed;
use crate::fingerprint::CachedFingerprints;
use crate::{TlsError, TlsField, Transport};

/// A ClientHello (RFC 8446, section 4.1.2; for DTLS: RFC 6347, section 4.2.1), borrowed or owned.
///
/// Mandatory fields are validated once, so that accessors cannot fail. Extensions are parsed leniently: a truncated one
/// ends the list, and [`is_well_formed`](Self::is_well_formed) returns false. The first of repeated extensions counts.
///
/// Fingerprints are computed on demand. Each thread caches the fingerprints of up to 256 distinct repeated hellos,
/// typically in less than 1 MB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientHello<'a> {
    message: Cow<'a, [u8]>,
    transport: Transport,
    layout: Layout,
    cached: Computed<CachedFingerprints>,
}

/// The byte ranges of the parts of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Layout {
    session_id: Span,
    cookie: Span,
    cipher_suites: Span,
    compression_methods: Span,
    extensions: Span,
    /// For each [`IndexedExtension`], the offset of its length field's end, or zero if it is absent.
    contents: [u32; IndexedExtension::Other as usize + 1],
    well_formed: bool,
}

/// The extensions with accessors.
#[derive(Clone, Copy, Debug)]
enum IndexedExtension {
    ServerName,
    SupportedGroups,
    EcPointFormats,
    SignatureAlgorithms,
    Alpn,
    EarlyData,
    SupportedVersions,
    KeyShare,
    EncryptedClientHello,
    /// Any other extension.
    Other,
}

/// A byte range of a message. A range that starts at offset 0, where the header is, is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    start: u32,
    len: u32,
}

impl<'a> ClientHello<'a> {
    /// Parses the handshake message at the start of these bytes, including its four-byte header. DTLS has a longer
    /// header and a cookie: pass its message with the header that TLS would use.
    ///
    /// `None` if the message is incomplete, which costs a look at its length. Bytes after the message are ignored.
    ///
    /// # Errors
    /// [`TlsError`] if the message is not a ClientHello, or ends within a mandatory field.
    pub fn from_message(bytes: &'a [u8], transport: Transport) -> Result<Option<Parsed<Self>>, TlsError> {
        handshake::parsed(Self::parse_message(bytes, transport), Self::message)
    }

    /// Parses a complete handshake message, including its header.
    pub(crate) fn parse_message(message: &'a [u8], transport: Transport) -> Result<Self, TlsError> {
        let body = handshake::body(message, CLIENT_HELLO)?;
        let end = body.position().saturating_add(body.remaining());
        let layout = Layout::parse(body, transport)?;
        let message = Cow::Borrowed(message.get(..end).unwrap_or(message));
        Ok(Self { message, transport, layout, cached: Computed::default() })
    }

    /// Converts to a hello that owns its bytes.
    pub fn into_owned(self) -> ClientHello<'static> {
        let Self { message, transport, layout, cached } = self;
        ClientHello { message: Cow::Owned(message.into_owned()), transport, layout, cached }
    }

    /// The handshake message, including its header.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The offered version: the highest one of supported_versions, ignoring GREASE, or `legacy_version` without that
    /// extension.
    pub fn version(&self) -> Version {
        let offered = self.supported_versions().filter(|version| !is_grease(*version)).map(Version);
        offered.max_by_key(|version| version.rank()).unwrap_or_else(|| self.legacy_version())
    }

    /// `legacy_version`: the version field of the message.
    pub fn legacy_version(&self) -> Version {
        Version(self.numbers(Span::VERSION).next().unwrap_or_default())
    }

    /// `random`, 32 bytes.
    pub fn random(&self) -> &[u8] {
        self.part(Span::RANDOM)
    }

    /// `legacy_session_id`.
    pub fn session_id(&self) -> &[u8] {
        self.part(self.layout.session_id)
    }

    /// The cookie of DTLS 1.0 and 1.2; empty in TLS.
    pub fn cookie(&self) -> &[u8] {
        self.part(self.layout.cookie)
    }

    /// `cipher_suites`, including GREASE and signalling values.
    pub fn cipher_suites(&self) -> U16List<'_> {
        self.numbers(self.layout.cipher_suites)
    }

    /// `legacy_compression_methods`.
    pub fn compression_methods(&self) -> &[u8] {
        self.part(self.layout.compression_methods)
    }

    /// The extensions in wire order, including GREASE.
    pub fn extensions(&self) -> Extensions<'_> {
        Extensions::new(self.part(self.layout.extensions))
    }

    /// The data of the first extension of this type.
    pub fn extension(&self, kind: u16) -> Option<&[u8]> {
        self.extensions().find(|extension| extension.kind == kind).map(|extension| extension.data)
    }

    /// Whether there is an extension server_name, even an empty one.
    pub fn has_server_name(&self) -> bool {
        self.content(IndexedExtension::ServerName).is_some()
    }

    /// The host name of the extension server_name (RFC 6066, section 3), unvalidated.
    pub fn server_name(&self) -> Option<&[u8]> {
        let mut cursor = Cursor::new(self.content(IndexedExtension::ServerName)?);
        cursor.skip(2).ok()?;
        loop {
            let kind = cursor.u8().ok()?;
            let len = cursor.u16_be().ok()?;
            let name = cursor.take(usize::from(len)).ok()?;
            if kind == 0 {
                return Some(name);
            }
        }
    }

    /// Whether the hello asks for no server by its name: it has none, or an IP address, which is not allowed as one (RFC 6066,
    /// section 3). An encrypted name (ECH) is one.
    pub fn is_nameless(&self) -> bool {
        let is_address = |name: &[u8]| str::from_utf8(name).is_ok_and(|name| name.parse::<IpAddr>().is_ok());
        !self.has_ech() && self.server_name().is_none_or(is_address)
    }

    /// The protocols of the extension application_layer_protocol_negotiation (RFC 7301), unvalidated.
    pub fn alpn(&self) -> AlpnList<'_> {
        AlpnList::new(self.list(IndexedExtension::Alpn, 2))
    }

    /// The versions of the extension supported_versions, including GREASE.
    pub fn supported_versions(&self) -> U16List<'_> {
        U16List::new(self.list(IndexedExtension::SupportedVersions, 1))
    }

    /// The groups of the extension supported_groups, including GREASE.
    pub fn supported_groups(&self) -> U16List<'_> {
        U16List::new(self.list(IndexedExtension::SupportedGroups, 2))
    }

    /// The key shares of the extension key_share, including GREASE.
    pub fn key_shares(&self) -> KeyShares<'_> {
        KeyShares::new(self.list(IndexedExtension::KeyShare, 2))
    }

    /// The signature schemes of the extension signature_algorithms, including GREASE.
    pub fn signature_algorithms(&self) -> U16List<'_> {
        U16List::new(self.list(IndexedExtension::SignatureAlgorithms, 2))
    }

    /// The point formats of the extension ec_point_formats.
    pub fn ec_point_formats(&self) -> &[u8] {
        self.list(IndexedExtension::EcPointFormats, 1)
    }

    /// Whether there is an extension encrypted_client_hello (RFC 9849); real and GREASE ECH are indistinguishable.
    pub fn has_ech(&self) -> bool {
        self.content(IndexedExtension::EncryptedClientHello).is_some()
    }

    /// The extension encrypted_client_hello (RFC 9849).
    pub fn ech(&self) -> Option<Ech<'_>> {
        self.content(IndexedExtension::EncryptedClientHello).map(Ech::parse)
    }

    /// Whether the client announces early data (RFC 8446, section 4.2.10).
    pub fn has_early_data(&self) -> bool {
        self.content(IndexedExtension::EarlyData).is_some()
    }

    /// Whether the extensions exactly fill their block, and the block the message.
    pub fn is_well_formed(&self) -> bool {
        self.layout.well_formed
    }

    /// The extension types in wire order, without GREASE.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = u16> {
        self.extensions().map(|extension| extension.kind).filter(|kind| !is_grease(*kind))
    }

    /// The cached fingerprints of equivalent hellos in this thread.
    pub(crate) fn cached(&self) -> &CachedFingerprints {
        self.cached.get_or_init(|| CachedFingerprints::for_hello(self))
    }

    /// The cipher suites and the data of other extensions that fingerprints depend on, each with the offset of its
    /// first two-byte number, if any.
    pub(crate) fn fingerprinted_parts(&self) -> [(&[u8], Option<usize>); 5] {
        let content = |extension| self.content(extension).unwrap_or_default();
        [
            (self.part(self.layout.cipher_suites), Some(0)),
            (content(IndexedExtension::SignatureAlgorithms), Some(2)),
            (content(IndexedExtension::SupportedGroups), Some(2)),
            (content(IndexedExtension::SupportedVersions), Some(1)),
            (content(IndexedExtension::EcPointFormats), None),
        ]
    }

    fn part(&self, span: Span) -> &[u8] {
        span.slice(&self.message)
    }

    fn numbers(&self, span: Span) -> U16List<'_> {
        U16List::new(self.part(span))
    }

    /// The data of an extension, after its two-byte length.
    #[inline]
    fn content(&self, extension: IndexedExtension) -> Option<&[u8]> {
        let start = self.layout.contents.get(extension as usize).filter(|start| **start != 0)?;
        let (before, data) = self.message.split_at_checked(*start as usize)?;
        data.get(..usize::from(u16::from_be_bytes(*before.last_chunk()?)))
    }

    /// The list in an extension after its length prefix of `prefix` bytes, or the available part of the list.
    fn list(&self, extension: IndexedExtension, prefix: usize) -> &[u8] {
        let data = self.content(extension).unwrap_or_default();
        let (len, list) = data.split_at_checked(prefix).unwrap_or_default();
        let len = len.iter().fold(0_usize, |len, byte| len.wrapping_shl(8) | usize::from(*byte));
        list.get(..len).unwrap_or(list)
    }
}

impl Layout {
    fn parse(mut body: Cursor<'_>, transport: Transport) -> Result<Self, TlsError> {
        Span::fixed(&mut body, Span::VERSION.len as usize, TlsField::Version)?;
        Span::fixed(&mut body, Span::RANDOM.len as usize, TlsField::Random)?;
        let mut layout = Self { session_id: Span::short(&mut body, TlsField::SessionId)?, ..Self::default() };
        if transport == Transport::Dtls {
            layout.cookie = Span::short(&mut body, TlsField::Cookie)?;
        }
        layout.cipher_suites = Span::long(&mut body, TlsField::CipherSuites)?;
        layout.compression_methods = Span::short(&mut body, TlsField::CompressionMethods)?;
        layout.read_extensions(body);
        Ok(layout)
    }

    fn read_extensions(&mut self, mut body: Cursor<'_>) {
        if body.is_empty() {
            self.well_formed = true;
            return;
        }
        let Ok(announced) = body.u16_be() else { return };
        let start = body.position();
        let block = body.rest().get(..usize::from(announced)).unwrap_or(body.rest());
        self.extensions = Span::new(start, block.len());
        let mut extensions = Extensions::new(block);
        let mut end = self.extensions.start;
        for Extension { kind, data } in extensions.by_ref() {
            // Type and length precede the data.
            let start = end.wrapping_add(4);
            if let Some(target) = self.contents.get_mut(IndexedExtension::from_type(kind) as usize) {
                *target = if *target == 0 { start } else { *target };
            }
            end = start.wrapping_add(u32::try_from(data.len()).unwrap_or_default());
        }
        self.well_formed = extensions.rest.is_empty() && body.remaining() == usize::from(announced);
    }
}

impl IndexedExtension {
    /// Lookup table for low extension types.
    #[expect(clippy::indexing_slicing, reason = "evaluated and checked at compile time")]
    const BY_LOW_TYPE: [Self; 64] = {
        let mut table = [Self::Other; 64];
        table[kind::SERVER_NAME as usize] = Self::ServerName;
        table[kind::SUPPORTED_GROUPS as usize] = Self::SupportedGroups;
        table[kind::EC_POINT_FORMATS as usize] = Self::EcPointFormats;
        table[kind::SIGNATURE_ALGORITHMS as usize] = Self::SignatureAlgorithms;
        table[kind::ALPN as usize] = Self::Alpn;
        table[kind::EARLY_DATA as usize] = Self::EarlyData;
        table[kind::SUPPORTED_VERSIONS as usize] = Self::SupportedVersions;
        table[kind::KEY_SHARE as usize] = Self::KeyShare;
        table[kind::DRAFT_KEY_SHARE as usize] = Self::KeyShare;
        table
    };

    fn from_type(extension: u16) -> Self {
        match Self::BY_LOW_TYPE.get(usize::from(extension)) {
            Some(target) => *target,
            None if extension == kind::ENCRYPTED_CLIENT_HELLO => Self::EncryptedClientHello,
            None => Self::Other,
        }
    }
}

impl Span {
    /// `legacy_version`, after the four-byte header.
    const VERSION: Self = Self { start: 4, len: 2 };
    /// `random`, after `legacy_version`.
    const RANDOM: Self = Self { start: Self::VERSION.start + Self::VERSION.len, len: 32 };

    /// Creates a range. Offsets fit in 32 bits, because messages are shorter.
    fn new(start: usize, len: usize) -> Self {
        let number = |value| u32::try_from(value).unwrap_or(u32::MAX);
        Self { start: number(start), len: number(len) }
    }

    fn fixed(cursor: &mut Cursor<'_>, len: usize, field: TlsField) -> Result<Self, TlsError> {
        let start = cursor.position();
        cursor.skip(len).map_err(at(field))?;
        Ok(Self::new(start, len))
    }

    /// Reads a part with a one-byte length prefix.
    fn short(cursor: &mut Cursor<'_>, field: TlsField) -> Result<Self, TlsError> {
        let len = cursor.u8().map_err(at(field))?;
        Self::fixed(cursor, usize::from(len), field)
    }

    /// Reads a part with a two-byte length prefix.
    fn long(cursor: &mut Cursor<'_>, field: TlsField) -> Result<Self, TlsError> {
        let len = cursor.u16_be().map_err(at(field))?;
        Self::fixed(cursor, usize::from(len), field)
    }

    fn slice(self, message: &[u8]) -> &[u8] {
        let start = self.start as usize;
        message.get(start..start.saturating_add(self.len as usize)).unwrap_or_default()
    }
}
