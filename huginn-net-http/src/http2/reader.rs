//! One side of a connection, from its bytes in order.

use super::akamai::AkamaiBuilder;
use super::connection::{Connection, Side};
use super::frame::FrameReader;
use super::{Akamai, Http2Error, PseudoHeaders, settings};
use crate::{Request, Response};

/// What a client begins with (RFC 9113, section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads one side of an HTTP/2 connection from its bytes in order, cut anywhere.
///
/// What it keeps between calls is bounded: a table of fields, an unfinished frame and an unfinished field block of at
/// most 64 KiB each, and of a client the parts of its fingerprint. Bodies are skipped.
#[derive(Debug)]
pub struct Http2Reader {
    /// What is still to come of the preface.
    preface: &'static [u8],
    frames: FrameReader,
    connection: Connection,
    done: bool,
}

/// What one side has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Http2Event {
    /// The fingerprint of a client, once a connection, before its first request.
    Akamai(Akamai),
    /// A request. Trailers are none.
    Request {
        /// The stream that it opens.
        stream: u32,
        /// Its head: `:method`, `:path` as the target, `:authority`, and the fields that are no pseudo-header fields.
        request: Request,
        /// The order of its pseudo-header fields.
        pseudo_headers: PseudoHeaders,
    },
    /// A response, one of status 100 to 199 before the final one too. Trailers are none.
    Response {
        /// The stream of the request that it answers.
        stream: u32,
        /// Its head.
        response: Response,
    },
}

impl Http2Reader {
    /// For what a client sends, from the preface on: by prior knowledge, or in TLS.
    pub fn client() -> Self {
        Self::new(PREFACE, Side::Client(Some(Box::default())))
    }

    /// For what a client sends after an upgrade from HTTP/1.1, from the preface on. The request of stream 1 was the one
    /// that asked for it; `settings` is its HTTP2-Settings header (RFC 7540, section 3.2.1).
    pub fn upgraded_client(settings: &[u8]) -> Self {
        Self::new(
            PREFACE,
            Side::Client(Some(Box::new(AkamaiBuilder::upgraded(settings::parse_header(settings))))),
        )
    }

    /// For what a server sends, from its settings on: after an upgrade, behind the response with the status 101.
    pub const fn server() -> Self {
        Self::new(&[], Side::Server { has_settings: false })
    }

    const fn new(preface: &'static [u8], side: Side) -> Self {
        Self { preface, frames: FrameReader::new(), connection: Connection::new(side), done: false }
    }

    /// Takes the next bytes and hands on what they complete.
    ///
    /// # Errors
    /// What is no HTTP/2 or cannot be read; once. The bytes after it are ignored.
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

    /// Passes over bytes that will never come. Of a body they are not missed.
    ///
    /// # Errors
    /// Bytes that are missed: where the next frame begins is not known, nor what later fields refer to. As with
    /// [`push`](Self::push), nothing is read after it.
    pub fn gap(&mut self, missing: u64) -> Result<(), Http2Error> {
        if self.done || self.frames.gap(missing) {
            return Ok(());
        }
        *self = Self { done: true, ..Self::server() };
        Err(Http2Error::Gap { missing })
    }

    /// Whether nothing more can be read.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// The memory that it takes up behind it, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.frames.buffered_bytes().saturating_add(self.connection.buffered_bytes())
    }

    fn read(&mut self, bytes: &[u8], found: &mut impl FnMut(Http2Event)) -> Result<(), Http2Error> {
        let (preface, frames) = bytes.split_at_checked(self.preface.len()).unwrap_or((bytes, &[]));
        self.preface = self.preface.strip_prefix(preface).ok_or(Http2Error::NotHttp2)?;
        let connection = &mut self.connection;
        self.frames.push(frames, &mut |frame, payload| connection.on_frame(frame, payload, found))
    }
}
