//! A reader of one side of a connection.

use super::akamai::AkamaiBuilder;
use super::connection::{Connection, Side};
use super::frame::FrameReader;
use super::{Akamai, Http2Error, PseudoHeaders, settings};
use crate::{Request, Response};

/// The client preface (RFC 9113, section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Parses one side of an HTTP/2 connection from in-order bytes in pieces of any size.
///
/// Memory is limited: a field table, an incomplete frame and the fields of an incomplete block of at most 64 KiB each, an incomplete field, and for
/// a client the parts of its fingerprint. Bodies are skipped.
#[derive(Debug)]
pub struct Http2Reader {
    /// The part of the preface that has not come yet.
    preface: &'static [u8],
    frames: FrameReader,
    connection: Connection,
    done: bool,
}

/// An event of an [`Http2Reader`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Http2Event {
    /// The fingerprint of a client, once per connection, before its first request.
    Akamai(Akamai),
    /// A request; trailers are not reported.
    Request {
        /// Stream identifier.
        stream: u32,
        /// The head: `:method`, `:path` as the target, `:authority`, and the regular fields.
        request: Request,
        /// The order of the pseudo-header fields.
        pseudo_headers: PseudoHeaders,
    },
    /// A response, including provisional ones (1xx); trailers are not reported.
    Response {
        /// Stream identifier of the request.
        stream: u32,
        /// The head.
        response: Response,
    },
    /// A head or trailers that exceed a limit, so that fields are missing. Its request or response follows, unless the method
    /// or the status is missing; its [`Headers::is_cut`](crate::Headers::is_cut) is true.
    HeadCut {
        /// Stream identifier.
        stream: u32,
    },
}

impl Http2Reader {
    /// Creates a reader of a client from its preface: by prior knowledge, or decrypted TLS.
    pub fn client() -> Self {
        Self::new(PREFACE, Side::Client(Some(Box::default())))
    }

    /// Creates a reader of a client after an upgrade from HTTP/1.1, from the preface. The upgrade request itself is the
    /// request of stream 1. `settings` is its HTTP2-Settings header (RFC 7540, section 3.2.1).
    pub fn upgraded_client(settings: &[u8]) -> Self {
        Self::new(
            PREFACE,
            Side::Client(Some(Box::new(AkamaiBuilder::upgraded(settings::parse_header(settings))))),
        )
    }

    /// Creates a reader of a server from its SETTINGS frame; after an upgrade, from the bytes after the response 101.
    pub const fn server() -> Self {
        Self::new(&[], Side::Server { has_settings: false })
    }

    const fn new(preface: &'static [u8], side: Side) -> Self {
        Self { preface, frames: FrameReader::new(), connection: Connection::new(side), done: false }
    }

    /// Parses the next bytes and emits the events that they complete.
    ///
    /// # Errors
    /// [`Http2Error`], once, if the bytes are not HTTP/2 or cannot be parsed. All later bytes are ignored.
    pub fn push(&mut self, bytes: &[u8], found: &mut impl FnMut(Http2Event)) -> Result<(), Http2Error> {
        if self.done {
            return Ok(());
        }
        let outcome = self.read(bytes, found);
        if outcome.is_err() {
            *self = Self { done: true, ..Self::server() };
        }
        outcome
    }

    /// Skips missing bytes. Missing bytes of a body do no harm.
    ///
    /// # Errors
    /// [`Http2Error`] if other bytes are missing: the start of the next frame and the field table are then unknown. As
    /// for [`push`](Self::push), all later bytes are ignored.
    pub fn gap(&mut self, missing: u64) -> Result<(), Http2Error> {
        if self.done || self.frames.gap(missing) {
            return Ok(());
        }
        *self = Self { done: true, ..Self::server() };
        Err(Http2Error::Gap { missing })
    }

    /// Whether reading has ended.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// Heap memory in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.frames.buffered_bytes().saturating_add(self.connection.buffered_bytes())
    }

    /// Whether a part of a frame is buffered.
    #[doc(hidden)]
    pub fn has_partial_frame(&self) -> bool {
        self.frames.buffered_bytes() > 0
    }

    /// Whether the next byte is of a frame that is skipped, such as a part of a body.
    #[cfg(feature = "packets")]
    pub(crate) fn is_in_body(&self) -> bool {
        self.frames.is_skipping()
    }

    /// Number of bytes to the end of the preface, of the current frame, or of its header.
    pub(super) fn next_len(&self) -> usize {
        if self.preface.is_empty() { self.frames.next_len() } else { self.preface.len() }
    }

    fn read(&mut self, bytes: &[u8], found: &mut impl FnMut(Http2Event)) -> Result<(), Http2Error> {
        let (preface, frames) = bytes.split_at_checked(self.preface.len()).unwrap_or((bytes, &[]));
        self.preface = self.preface.strip_prefix(preface).ok_or(Http2Error::NotHttp2)?;
        let connection = &mut self.connection;
        self.frames.push(frames, &mut |frame, payload| connection.on_frame(frame, payload, found))
    }
}
