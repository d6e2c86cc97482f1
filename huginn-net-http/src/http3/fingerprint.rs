//! The fingerprint of HTTP/3 clients.

use std::fmt::{self, Write};

use huginn_net_wire::Cursor;
use md5::{Digest, Md5};

use crate::http2::PseudoHeaders;
use crate::limits::MAX_SETTINGS;

/// The fingerprint of an HTTP/3 client: its SETTINGS and the pseudo-header fields of its first request.
///
/// Displays as `1:65536;6:262144;7:100;51:1;GREASE|m,a,s,p`: the settings in their order, at most 64, as `id:value` joined by `;`,
/// then the first letters of the pseudo-header fields in their order, joined by `,`. A reserved setting (RFC 9114, section 7.2.4.1),
/// whose identifier and value are random, is `GREASE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Http3Fingerprint {
    settings: Box<[Http3Setting]>,
    pseudo_headers: PseudoHeaders,
    hash: [u8; 16],
}

/// A setting as sent. Displays as `id:value`, or `GREASE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Http3Setting {
    /// Identifier (IANA, "HTTP/3 Settings").
    pub id: u64,
    /// Value.
    pub value: u64,
}

impl Http3Setting {
    /// `SETTINGS_QPACK_MAX_TABLE_CAPACITY` (RFC 9204, section 5).
    pub(super) const QPACK_MAX_TABLE_CAPACITY: u64 = 1;

    /// Whether the identifier is reserved, to be ignored (RFC 9114, section 7.2.4.1).
    pub const fn is_grease(&self) -> bool {
        matches!(self.id.checked_sub(0x21), Some(rest) if rest % 0x1f == 0)
    }
}

/// Parses the payload of a SETTINGS frame (RFC 9114, section 7.2.4); `None` if it ends within a setting.
pub(super) fn parse_settings(payload: &[u8]) -> Option<Box<[Http3Setting]>> {
    let mut cursor = Cursor::new(payload);
    let mut settings = Vec::new();
    while !cursor.is_empty() && settings.len() < MAX_SETTINGS {
        settings.push(Http3Setting { id: cursor.varint().ok()?, value: cursor.varint().ok()? });
    }
    Some(settings.into())
}

impl Http3Fingerprint {
    pub(super) fn new(settings: Box<[Http3Setting]>, pseudo_headers: PseudoHeaders) -> Self {
        let unhashed = Self { settings, pseudo_headers, hash: [0; 16] };
        Self { hash: Md5::digest(unhashed.to_string()).into(), ..unhashed }
    }

    /// The MD5 of the text, which tables of clients have as key.
    pub fn hash(&self) -> [u8; 16] {
        self.hash
    }

    /// The settings in their order.
    pub fn settings(&self) -> &[Http3Setting] {
        &self.settings
    }

    /// The pseudo-header fields of the first request, in their order.
    pub fn pseudo_headers(&self) -> &PseudoHeaders {
        &self.pseudo_headers
    }
}

impl fmt::Display for Http3Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_grease() { f.write_str("GREASE") } else { write!(f, "{}:{}", self.id, self.value) }
    }
}

impl fmt::Display for Http3Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, setting) in self.settings.iter().enumerate() {
            if index > 0 {
                f.write_char(';')?;
            }
            write!(f, "{setting}")?;
        }
        write!(f, "|{}", self.pseudo_headers)
    }
}
