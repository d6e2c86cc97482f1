//! The Akamai fingerprint of HTTP/2 clients.
//!
//! The definition is "Passive Fingerprinting of HTTP/2 Clients" by O. Segal, A. Fridman and E. Shuster (Akamai, Black
//! Hat Europe 2017).

use std::fmt::{self, Write};
use std::str::{self, FromStr};

use huginn_net_wire::{Parsed, Progress, md5_digits, md5_from_digits};
use md5::{Digest, Md5};

use super::{Http2Error, Http2Event, Http2Reader, PseudoHeaders, Setting, StreamPriority};
use crate::limits::MAX_PRIORITIES;

/// The Akamai fingerprint of a client, up to its first request: `SETTINGS|WINDOW_UPDATE|PRIORITY|pseudo-headers`.
///
/// - The settings of the first SETTINGS frame in their order, at most 64: `id:value` joined by `;`.
/// - The increment of the first WINDOW_UPDATE frame of the connection, `00` without one.
/// - The PRIORITY frames: `stream:exclusive:depends on:weight` joined by `,`, or `0`. The priority in the HEADERS frame
///   of the first request is not included.
/// - The first letters of the pseudo-header fields of the first request in their order, joined by `,`.
///
/// ```
/// use huginn_net_http::http2::Akamai;
///
/// let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
/// bytes.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0xff, 0xff]); // SETTINGS
/// assert!(Akamai::from_client_bytes(&bytes)?.is_none());
///
/// bytes.extend([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x87, 0x41, 1, b'a']); // HEADERS
/// let parsed = Akamai::from_client_bytes(&bytes)?.expect("a request");
/// assert_eq!(parsed.value.to_string(), "4:65535|00|0|m,p,s,a");
/// assert_eq!(parsed.consumed, bytes.len());
/// # Ok::<(), huginn_net_http::http2::Http2Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Akamai {
    settings: Box<[Setting]>,
    window_update: Option<u32>,
    priorities: Box<[StreamPriority]>,
    pseudo_headers: PseudoHeaders,
    hash: AkamaiHash,
}

/// The MD5 of the text of an [`Akamai`] fingerprint. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AkamaiHash(pub [u8; 16]);

impl AkamaiHash {
    /// Hashes the text of an [`Akamai`] fingerprint.
    pub fn from_text(text: &str) -> Self {
        Self(Md5::digest(text).into())
    }
}

/// Reads the fingerprint of an HTTP/2 client from pieces of any size.
///
/// Time is linear in the bytes pushed. Memory is that of an [`Http2Reader`].
///
/// ```
/// use huginn_net_http::http2::AkamaiReader;
///
/// // What curl 7.88.1 sends, decrypted.
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/http2/curl.bin"));
/// let mut reader = AkamaiReader::new();
/// for piece in bytes.chunks(7) {
///     if let Some(akamai) = reader.push(piece)?.value() {
///         assert_eq!(akamai.to_string(), "3:100;4:33554432;2:0|33488897|0|m,p,s,a");
///         return Ok(());
///     }
/// }
/// panic!("no request");
/// # #[allow(unreachable_code)]
/// # Ok::<(), huginn_net_http::http2::Http2Error>(())
/// ```
#[derive(Debug)]
pub struct AkamaiReader {
    reader: Http2Reader,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Reading,
    Read,
    Failed(Http2Error),
}

impl AkamaiReader {
    /// Creates a reader from the preface of a client.
    pub fn new() -> Self {
        Self { reader: Http2Reader::client(), state: State::Reading }
    }

    /// Parses the next bytes. Returns the fingerprint once, when the field block of the first request is complete; later bytes
    /// are not read. The bytes up to the end of that block are consumed.
    ///
    /// # Errors
    /// [`Http2Error`] if the bytes are not HTTP/2. Later calls return the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress<Akamai>, Http2Error> {
        match self.state {
            State::Reading => {}
            State::Read => return Ok(Progress::NeedMore),
            State::Failed(error) => return Err(error),
        }
        let (mut found, mut rest) = (None, bytes);
        while !rest.is_empty() {
            // A frame at a time, so that nothing after the field block is read.
            let (piece, after) = rest.split_at_checked(self.reader.next_len()).unwrap_or((rest, &[]));
            let each = &mut |event| {
                if let Http2Event::Akamai(akamai) = event {
                    found = Some(akamai);
                }
            };
            if let Err(error) = self.reader.push(piece, each) {
                self.state = State::Failed(error);
                return Err(error);
            }
            if let Some(akamai) = found {
                *self = Self { state: State::Read, ..Self::new() };
                return Ok(Progress::complete(akamai, bytes.len().saturating_sub(after.len())));
            }
            rest = after;
        }
        Ok(Progress::NeedMore)
    }

    /// Heap memory in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.reader.buffered_bytes()
    }
}

impl Default for AkamaiReader {
    fn default() -> Self {
        Self::new()
    }
}

impl Akamai {
    /// Computes the fingerprint from the first bytes of a client. `None` if the field block of the first request is
    /// incomplete. The frames up to the end of that block are consumed.
    ///
    /// Each call reads from the first byte, so a loop that calls it after every read takes quadratic time. [`AkamaiReader`] takes bytes piece
    /// by piece, and reads each once.
    ///
    /// # Errors
    /// [`Http2Error`] if the bytes are not HTTP/2.
    pub fn from_client_bytes(bytes: &[u8]) -> Result<Option<Parsed<Self>>, Http2Error> {
        Ok(AkamaiReader::new().push(bytes)?.done())
    }

    /// The settings in their order.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Increment of the connection's flow-control window, in bytes.
    pub fn window_update(&self) -> Option<u32> {
        self.window_update
    }

    /// The PRIORITY frames in their order.
    pub fn priorities(&self) -> &[StreamPriority] {
        &self.priorities
    }

    /// The pseudo-header fields of the first request, in their order.
    pub fn pseudo_headers(&self) -> &PseudoHeaders {
        &self.pseudo_headers
    }

    /// The MD5 of the fingerprint's text.
    pub fn hash(&self) -> AkamaiHash {
        self.hash
    }
}

impl fmt::Display for Akamai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, &self.settings, ';')?;
        match self.window_update {
            Some(increment) => write!(f, "|{increment}|")?,
            None => f.write_str("|00|")?,
        }
        match &*self.priorities {
            [] => f.write_char('0')?,
            priorities => write_list(f, priorities, ',')?,
        }
        write!(f, "|{}", self.pseudo_headers)
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, list: &[impl fmt::Display], separator: char) -> fmt::Result {
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            f.write_char(separator)?;
        }
        write!(f, "{element}")?;
    }
    Ok(())
}

/// A text that is not the 32 hexadecimal digits of an MD5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the hash of an Akamai fingerprint: expected 32 hexadecimal digits")]
#[non_exhaustive]
pub struct AkamaiHashParseError;

impl FromStr for AkamaiHash {
    type Err = AkamaiHashParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        md5_from_digits(text).map(Self).ok_or(AkamaiHashParseError)
    }
}

impl fmt::Display for AkamaiHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&md5_digits(self.0)).unwrap_or_default())
    }
}

impl fmt::Debug for AkamaiHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AkamaiHash({self})")
    }
}

/// The parts of a fingerprint before the first request.
#[derive(Debug, Default)]
pub(super) struct AkamaiBuilder {
    settings: Option<Box<[Setting]>>,
    upgrade_settings: Box<[Setting]>,
    window_update: Option<u32>,
    priorities: Vec<StreamPriority>,
}

impl AkamaiBuilder {
    /// Creates a builder for a client that sent settings in the header of an upgrade.
    pub(super) fn upgraded(settings: Box<[Setting]>) -> Self {
        Self { upgrade_settings: settings, ..Self::default() }
    }

    pub(super) fn add_settings(&mut self, settings: Box<[Setting]>) {
        self.settings.get_or_insert(settings);
    }

    pub(super) fn add_window_update(&mut self, increment: u32) {
        self.window_update.get_or_insert(increment);
    }

    pub(super) fn add_priority(&mut self, priority: StreamPriority) {
        if self.priorities.len() < MAX_PRIORITIES {
            self.priorities.push(priority);
        }
    }

    /// Heap memory in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let first = self.settings.as_deref().unwrap_or_default();
        let settings = size_of_val(first).saturating_add(size_of_val(&*self.upgrade_settings));
        let priorities = self.priorities.capacity().saturating_mul(size_of::<StreamPriority>());
        settings.saturating_add(priorities)
    }

    /// Finishes the fingerprint with the first request. The settings of an upgrade apply if the client does not repeat
    /// them.
    pub(super) fn akamai(self, pseudo_headers: PseudoHeaders) -> Akamai {
        let settings = self.settings.filter(|settings| !settings.is_empty()).unwrap_or(self.upgrade_settings);
        let mut akamai = Akamai {
            settings,
            window_update: self.window_update,
            priorities: self.priorities.into(),
            pseudo_headers,
            hash: AkamaiHash::default(),
        };
        akamai.hash = AkamaiHash::from_text(&akamai.to_string());
        akamai
    }
}
