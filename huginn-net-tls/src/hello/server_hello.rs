//! The ServerHello.

use std::borrow::Cow;

use huginn_net_wire::Parsed;

use super::Version;
use super::extension::{AlpnList, Extensions, U16List, extension_type as kind};
use super::handshake::{self, SERVER_HELLO, at};
use crate::{TlsError, TlsField, Transport};

/// A ServerHello (RFC 8446, section 4.1.3), borrowed or owned; a HelloRetryRequest has the same structure.
///
/// Extensions are parsed leniently, as for a [`ClientHello`](crate::ClientHello).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHello<'a> {
    message: Cow<'a, [u8]>,
    transport: Transport,
    legacy_version: Version,
    /// The byte range of the session id.
    session_id: (usize, usize),
    cipher_suite: u16,
    is_retry_request: bool,
    /// The byte range of the extensions.
    extensions: (usize, usize),
}

/// The `random` of a HelloRetryRequest: the SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, //
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

impl<'a> ServerHello<'a> {
    /// Parses the handshake message at the start of these bytes, including its four-byte header.
    ///
    /// `None` if the message is incomplete. Bytes after the message are ignored.
    ///
    /// # Errors
    /// [`TlsError`] if the message is not a ServerHello, or ends within a mandatory field.
    pub fn from_message(bytes: &'a [u8], transport: Transport) -> Result<Option<Parsed<Self>>, TlsError> {
        handshake::parsed(Self::parse_message(bytes, transport), Self::message)
    }

    /// Parses a complete handshake message, including its header.
    pub(crate) fn parse_message(message: &'a [u8], transport: Transport) -> Result<Self, TlsError> {
        let mut body = handshake::body(message, SERVER_HELLO)?;
        let end = body.position().saturating_add(body.remaining());
        let legacy_version = Version(body.u16_be().map_err(at(TlsField::Version))?);
        let random: [u8; 32] = body.array().map_err(at(TlsField::Random))?;
        // TLS 1.3 before draft 22 omitted the session id and the compression method.
        let draft = (0x7f00..0x7f16).contains(&legacy_version.0);
        let mut session_id = (0, 0);
        if !draft {
            let len = body.u8().map_err(at(TlsField::SessionId))?;
            let start = body.position();
            body.skip(usize::from(len)).map_err(at(TlsField::SessionId))?;
            session_id = (start, body.position());
        }
        let cipher_suite = body.u16_be().map_err(at(TlsField::CipherSuites))?;
        if !draft {
            body.skip(1).map_err(at(TlsField::CompressionMethods))?;
        }
        let len = body.u16_be().map_or(0, usize::from).min(body.remaining());
        let start = body.position();
        Ok(Self {
            message: Cow::Borrowed(message.get(..end).unwrap_or(message)),
            transport,
            legacy_version,
            session_id,
            cipher_suite,
            is_retry_request: random == HELLO_RETRY_REQUEST,
            extensions: (start, start.saturating_add(len)),
        })
    }

    /// Converts to a hello that owns its bytes.
    pub fn into_owned(self) -> ServerHello<'static> {
        ServerHello { message: Cow::Owned(self.message.into_owned()), ..self }
    }

    /// The handshake message, including its header.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The transport.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The selected version: that of supported_versions, or else `legacy_version`.
    pub fn version(&self) -> Version {
        let chosen = self.extension(kind::SUPPORTED_VERSIONS).and_then(|data| U16List::new(data).next());
        chosen.map_or(self.legacy_version, Version)
    }

    /// `legacy_version`: the version field of the message.
    pub fn legacy_version(&self) -> Version {
        self.legacy_version
    }

    /// The session id. TLS 1.3 repeats that of the client; in earlier versions it is the same if the server resumes the
    /// session.
    pub fn session_id(&self) -> &[u8] {
        let (start, end) = self.session_id;
        self.message.get(start..end).unwrap_or_default()
    }

    /// The selected cipher suite.
    pub fn cipher_suite(&self) -> u16 {
        self.cipher_suite
    }

    /// The extensions in wire order.
    pub fn extensions(&self) -> Extensions<'_> {
        let (start, end) = self.extensions;
        Extensions::new(self.message.get(start..end).unwrap_or_default())
    }

    /// The data of the first extension of this type.
    pub fn extension(&self, kind: u16) -> Option<&[u8]> {
        self.extensions().find(|extension| extension.kind == kind).map(|extension| extension.data)
    }

    /// The selected ALPN protocol, unvalidated; since TLS 1.3 it is encrypted and thus not visible.
    pub fn alpn(&self) -> Option<&[u8]> {
        let (_, list) = self.extension(kind::ALPN)?.split_at_checked(2)?;
        AlpnList::new(list).next()
    }

    /// The group of the key share, or the one that a HelloRetryRequest asks for (RFC 8446, section 4.2.8), by its number in
    /// IANA's registry "TLS Supported Groups". Up to TLS 1.2 another message has the group.
    pub fn group(&self) -> Option<u16> {
        U16List::new(self.key_share_data()?).next()
    }

    /// The key of the key share (RFC 8446, section 4.2.8); a HelloRetryRequest has none.
    pub fn key_share(&self) -> Option<&[u8]> {
        let (_, key) = self.key_share_data()?.split_at_checked(4)?;
        Some(key)
    }

    /// The number of the pre-shared key that the server accepts, in the list of the client (RFC 8446, section 4.2.11).
    pub fn selected_psk(&self) -> Option<u16> {
        U16List::new(self.extension(kind::PRE_SHARED_KEY)?).next()
    }

    fn key_share_data(&self) -> Option<&[u8]> {
        self.extension(kind::KEY_SHARE).or_else(|| self.extension(kind::DRAFT_KEY_SHARE))
    }

    /// Whether the messages after this one are encrypted, as in TLS 1.3 and its drafts.
    pub(crate) fn encrypts_handshake(&self) -> bool {
        !matches!(
            self.version(),
            Version::SSL_2
                | Version::SSL_3
                | Version::TLS_1_0
                | Version::TLS_1_1
                | Version::TLS_1_2
                | Version::DTLS_1_0
                | Version::DTLS_1_2
        )
    }

    /// Whether it requests another ClientHello (RFC 8446, section 4.1.4).
    pub fn is_retry_request(&self) -> bool {
        self.is_retry_request
    }
}
