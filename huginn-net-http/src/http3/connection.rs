//! The streams of a connection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use huginn_net_wire::Cursor;

use super::fingerprint::{Http3Fingerprint, Http3Setting, parse_settings};
use super::frame::{self, Frame, FrameReader};
use super::qpack::{Decoder, Section};
use crate::http2::HpackError;
use crate::http2::PseudoHeaders;
use crate::http2::fields::Fields;
use crate::limits::{MAX_BLOCKED_SECTIONS, MAX_HTTP3_STREAM_BYTES, MAX_HTTP3_STREAMS, MAX_SECTION_LEN};
use crate::{HttpVersion, Request, Response, Role};

/// Parses an HTTP/3 connection from the in-order bytes of its streams, in pieces of any size.
///
/// Memory is limited: a field table, an incomplete instruction and waiting field sections of at most 64 KiB (instructions: 128 KiB) of each
/// side, and incomplete field sections of at most 256 KiB together. Bodies are skipped.
#[derive(Default)]
pub struct Http3Connection {
    client: Peer,
    server: Peer,
    fingerprint: Fingerprint,
}

/// The fingerprint of the client.
#[derive(Default)]
struct Fingerprint {
    /// Those of the first request.
    pseudo_headers: Option<PseudoHeaders>,
    known: Option<Arc<Http3Fingerprint>>,
}

/// Omits the content of streams, which may have been encrypted.
impl fmt::Debug for Http3Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http3Connection")
            .field("fingerprint", &self.fingerprint.known)
            .finish_non_exhaustive()
    }
}

/// An event of an [`Http3Connection`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Http3Event {
    /// A request; trailers are not reported.
    Request {
        /// Stream identifier.
        stream: u64,
        /// The head.
        request: Request,
        /// The fingerprint of the client; `None` if its settings have not come yet.
        fingerprint: Option<Arc<Http3Fingerprint>>,
    },
    /// A response, including provisional ones (1xx); trailers are not reported.
    Response {
        /// Stream identifier of the request.
        stream: u64,
        /// The head.
        response: Response,
    },
    /// A head that exceeds a limit, so that fields are missing. Its request or response follows, unless none of its fields is known.
    HeadCut {
        /// Stream identifier.
        stream: u64,
    },
    /// A field section cannot be decoded: it is invalid, or refers to fields that were sent in missing bytes.
    Undecodable {
        /// Stream identifier.
        stream: u64,
        /// The error of QPACK.
        error: HpackError,
    },
}

/// What one side sends.
struct Peer {
    streams: BTreeMap<u64, Stream>,
    /// Bytes of all streams that are buffered.
    stream_bytes: usize,
    /// Streams that had no room: their start is lost.
    left_out: BTreeSet<u64>,
    /// The lowest stream of each kind that may begin: once too many to list were left out, earlier ones are neither read nor
    /// counted (RFC 9000, section 2.1).
    floors: [u64; 4],
    decoder: Decoder,
    settings: Option<Box<[Http3Setting]>>,
    /// Field sections that wait for the encoder stream, with their streams.
    blocked: VecDeque<(u64, Box<[u8]>)>,
    blocked_bytes: usize,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            streams: BTreeMap::new(),
            stream_bytes: 0,
            left_out: BTreeSet::new(),
            floors: [0; 4],
            decoder: Decoder::new(),
            settings: None,
            blocked: VecDeque::new(),
            blocked_bytes: 0,
        }
    }
}

/// The state of a stream in one direction.
enum Stream {
    /// Its type is not complete (RFC 9114, section 6.2).
    Typed(Vec<u8>),
    Control(FrameReader),
    /// The encoder stream of QPACK (RFC 9204, section 4.2).
    Encoder,
    /// Requests or responses.
    Message(FrameReader),
    /// Nothing further is read.
    Done,
}

impl Http3Connection {
    /// Creates the state of a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the next bytes of a stream that the client (its role is that of requests) or the server sent, and emits the events that they
    /// complete.
    pub fn push(&mut self, sender: Role, stream: u64, bytes: &[u8], found: &mut impl FnMut(Http3Event)) {
        let Self { client, server, fingerprint } = self;
        let (peer, other) = match sender {
            Role::Request => (client, server),
            Role::Response => (server, client),
        };
        if !peer.streams.contains_key(&stream) {
            let Some(state) = Stream::new(sender, stream).filter(|_| peer.may_begin(stream)) else { return };
            if peer.streams.len() >= MAX_HTTP3_STREAMS {
                peer.leave_out(stream);
                if matches!(state, Stream::Message(_)) {
                    found(Http3Event::HeadCut { stream });
                }
                return;
            }
            peer.streams.insert(stream, state);
        }
        let Some(state) = peer.streams.get_mut(&stream) else { return };
        let before = state.buffered_bytes();
        let mut bytes = bytes;
        if let Stream::Typed(buffer) = state {
            let Some(used) = Stream::read_type(buffer, bytes) else {
                return peer.count_bytes(stream, before, found);
            };
            *state = Stream::of_type(buffer);
            bytes = bytes.get(used..).unwrap_or_default();
        }
        match state {
            Stream::Control(reader) => {
                // SETTINGS come first (RFC 9114, section 6.2.1).
                let mut first = None;
                reader.push(bytes, &mut |frame| {
                    first = Some(match frame {
                        Frame::Complete(frame::SETTINGS, payload) => parse_settings(payload),
                        _ => None,
                    });
                    false
                });
                if let Some(settings) = first {
                    *state = Stream::Done;
                    if let Some(settings) = settings.filter(|_| peer.settings.is_none()) {
                        let capacity =
                            |setting: &&Http3Setting| setting.id == Http3Setting::QPACK_MAX_TABLE_CAPACITY;
                        let found = settings.iter().find(capacity).map_or(0, |found| found.value);
                        other.decoder.set_max_capacity(found);
                        peer.settings = Some(settings);
                    }
                }
            }
            Stream::Encoder => {
                let has_changed = peer.decoder.push_instructions(bytes).unwrap_or_else(|error| {
                    found(Http3Event::Undecodable { stream, error });
                    true
                });
                if has_changed {
                    peer.decode_blocked(sender, fingerprint, found);
                }
            }
            Stream::Message(reader) => {
                let mut reader = std::mem::take(reader);
                let mut is_over = false;
                reader.push(bytes, &mut |frame| {
                    match frame {
                        Frame::Complete(frame::HEADERS, section) => {
                            is_over = peer.on_section(sender, stream, section, fingerprint, found);
                        }
                        Frame::Skipped(frame::HEADERS) => {
                            found(Http3Event::HeadCut { stream });
                            is_over = true;
                        }
                        // A body: what follows are trailers.
                        Frame::Skipped(0) => is_over = true,
                        _ => {}
                    }
                    !is_over
                });
                let state = if is_over { Stream::Done } else { Stream::Message(reader) };
                peer.streams.insert(stream, state);
            }
            Stream::Typed(_) | Stream::Done => {}
        }
        peer.count_bytes(stream, before, found);
    }

    /// Whether further bytes of a stream are needed.
    pub fn reads(&self, sender: Role, stream: u64) -> bool {
        match self.peer(sender).streams.get(&stream) {
            Some(state) => !matches!(state, Stream::Done),
            None => Stream::new(sender, stream).is_some() && self.peer(sender).may_begin(stream),
        }
    }

    /// Ends a stream: no more bytes of it follow, because it has ended or bytes are missing.
    pub fn end(&mut self, sender: Role, stream: u64) {
        let peer = match sender {
            Role::Request => &mut self.client,
            Role::Response => &mut self.server,
        };
        peer.left_out.remove(&stream);
        let Some(state) = peer.streams.remove(&stream) else { return };
        peer.stream_bytes = peer.stream_bytes.saturating_sub(state.buffered_bytes());
        if matches!(state, Stream::Encoder) {
            peer.decoder.lose();
        }
    }

    /// Returns the heap memory, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes())
    }

    fn peer(&self, sender: Role) -> &Peer {
        match sender {
            Role::Request => &self.client,
            Role::Response => &self.server,
        }
    }
}

impl Peer {
    /// Whether a stream that is not known may begin.
    fn may_begin(&self, stream: u64) -> bool {
        let floor = self.floors.get(usize::from(kind_of(stream))).copied().unwrap_or(0);
        stream >= floor && !self.left_out.contains(&stream)
    }

    /// Remembers that the start of a stream is lost: what follows of it would be taken for its start.
    fn leave_out(&mut self, stream: u64) {
        if self.left_out.len() < MAX_HTTP3_STREAMS {
            self.left_out.insert(stream);
        } else {
            let floor = self.floor_mut(stream);
            *floor = (*floor).max(stream.saturating_add(1));
        }
    }

    fn floor_mut(&mut self, stream: u64) -> &mut u64 {
        let [a, b, c, d] = &mut self.floors;
        match kind_of(stream) {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        }
    }

    /// Counts what is buffered of a stream, after it had `before` bytes. One that no longer fits is left out.
    fn count_bytes(&mut self, stream: u64, before: usize, found: &mut impl FnMut(Http3Event)) {
        let Some(state) = self.streams.get_mut(&stream) else { return };
        let others = self.stream_bytes.saturating_sub(before);
        let sum = others.saturating_add(state.buffered_bytes());
        self.stream_bytes = if sum > MAX_HTTP3_STREAM_BYTES {
            if matches!(state, Stream::Message(_)) {
                found(Http3Event::HeadCut { stream });
            }
            *state = Stream::Done;
            others
        } else {
            sum
        };
    }

    /// Decodes a field section, or keeps it until the encoder stream has its fields. Returns whether the stream has no further head.
    fn on_section(
        &mut self,
        sender: Role,
        stream: u64,
        section: &[u8],
        fingerprint: &mut Fingerprint,
        found: &mut impl FnMut(Http3Event),
    ) -> bool {
        let mut fields = Fields::default();
        match self.decoder.decode(section, &mut |name, value| fields.push(name, value)) {
            Ok(Section::Decoded(is_cut)) => {
                if is_cut {
                    fields.cut();
                }
                self.on_fields(sender, stream, fields, fingerprint, found)
            }
            Ok(Section::Blocked) => {
                let bytes = self.blocked_bytes.saturating_add(section.len());
                if self.blocked.len() >= MAX_BLOCKED_SECTIONS || bytes > MAX_SECTION_LEN {
                    found(Http3Event::HeadCut { stream });
                    return true;
                }
                self.blocked_bytes = bytes;
                self.blocked.push_back((stream, section.into()));
                // The head may be a provisional one.
                sender == Role::Request
            }
            Err(error) => {
                found(Http3Event::Undecodable { stream, error });
                true
            }
        }
    }

    /// Decodes the sections that wait for fields.
    fn decode_blocked(
        &mut self,
        sender: Role,
        fingerprint: &mut Fingerprint,
        found: &mut impl FnMut(Http3Event),
    ) {
        for _ in 0..self.blocked.len() {
            let Some((stream, section)) = self.blocked.pop_front() else { return };
            self.blocked_bytes = self.blocked_bytes.saturating_sub(section.len());
            if self.on_section(sender, stream, &section, fingerprint, found)
                && let Some(state @ Stream::Message(_)) = self.streams.get_mut(&stream)
            {
                self.stream_bytes = self.stream_bytes.saturating_sub(state.buffered_bytes());
                *state = Stream::Done;
            }
        }
    }

    /// Reports a head. Returns whether the stream has no further one.
    fn on_fields(
        &mut self,
        sender: Role,
        stream: u64,
        mut fields: Fields,
        fingerprint: &mut Fingerprint,
        found: &mut impl FnMut(Http3Event),
    ) -> bool {
        if fields.is_cut() {
            found(Http3Event::HeadCut { stream });
        }
        match sender {
            Role::Request => {
                let pseudo_headers = std::mem::take(&mut fields.pseudo_headers);
                let Some(request) = fields.into_request(HttpVersion::Http3) else { return true };
                let first = fingerprint.pseudo_headers.get_or_insert(pseudo_headers);
                if let (None, Some(settings)) = (&fingerprint.known, &self.settings) {
                    let known = Http3Fingerprint::new(settings.clone(), first.clone());
                    fingerprint.known = Some(Arc::new(known));
                }
                found(Http3Event::Request { stream, request, fingerprint: fingerprint.known.clone() });
                true
            }
            Role::Response => {
                let Some(response) = fields.into_response(HttpVersion::Http3) else { return true };
                let is_final = response.status().is_some_and(|status| status >= 200);
                found(Http3Event::Response { stream, response });
                is_final
            }
        }
    }

    fn buffered_bytes(&self) -> usize {
        let entry = size_of::<(u64, Stream)>();
        self.stream_bytes
            .saturating_add(self.streams.len().saturating_mul(entry))
            .saturating_add(self.left_out.len().saturating_mul(size_of::<u64>()))
            .saturating_add(self.decoder.buffered_bytes())
            .saturating_add(self.blocked_bytes)
    }
}

/// The kind of a stream: who opens it, and whether both sides send (RFC 9000, section 2.1).
fn kind_of(stream: u64) -> u8 {
    u8::try_from(stream & 3).unwrap_or(0)
}

impl Stream {
    /// The state of a new stream; `None` if a side sends nothing on it that is read.
    fn new(sender: Role, stream: u64) -> Option<Self> {
        match (stream & 3, sender) {
            (0, _) => Some(Self::Message(FrameReader::default())),
            (2, Role::Request) | (3, Role::Response) => Some(Self::Typed(Vec::new())),
            _ => None,
        }
    }

    fn buffered_bytes(&self) -> usize {
        match self {
            Self::Typed(buffer) => buffer.capacity(),
            Self::Control(reader) | Self::Message(reader) => reader.buffered_bytes(),
            Self::Encoder | Self::Done => 0,
        }
    }

    /// Reads the type of a stream into a buffer. Returns how many bytes were used once it is complete.
    fn read_type(buffer: &mut Vec<u8>, bytes: &[u8]) -> Option<usize> {
        for (index, byte) in bytes.iter().enumerate() {
            buffer.push(*byte);
            if Cursor::new(buffer).varint().is_ok() {
                return index.checked_add(1);
            }
        }
        None
    }

    /// The state of a stream with this type. Others are not read: those of the decoder, of pushes, and reserved ones.
    fn of_type(kind: &[u8]) -> Self {
        match Cursor::new(kind).varint() {
            Ok(0) => Self::Control(FrameReader::default()),
            Ok(2) => Self::Encoder,
            _ => Self::Done,
        }
    }
}
