//! The frames of one side of a connection.

use std::mem;

use huginn_net_wire::Cursor;

use super::akamai::AkamaiBuilder;
use super::fields::Fields;
use super::frame::{self, FrameHeader};
use super::hpack::Decoder;
use super::{Http2Error, Http2Event, StreamPriority, settings};
use crate::HttpVersion;

/// Lengths of the priority and the promised stream before a field block (RFC 9113, sections 6.2 and 6.6), in bytes.
const PRIORITY_LEN: usize = 5;
const PROMISED_LEN: usize = 4;

/// The state of one side between frames.
#[derive(Debug)]
pub(super) struct Connection {
    side: Side,
    decoder: Decoder,
    /// A field block that continues in the next frame.
    block: Option<Block>,
}

/// The sending side.
#[derive(Debug)]
pub(super) enum Side {
    /// A client, with its fingerprint so far until the first request.
    Client(Option<Box<AkamaiBuilder>>),
    /// A server, and whether its SETTINGS frame, which must come first, was seen.
    Server { has_settings: bool },
}

#[derive(Debug)]
struct Block {
    kind: u8,
    stream: u32,
    /// The fields so far.
    fields: Fields,
}

impl Connection {
    pub(super) const fn new(side: Side) -> Self {
        Self { side, decoder: Decoder::new(), block: None }
    }

    /// Heap memory in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let block = self.block.as_ref().map_or(0, |block| block.fields.buffered_bytes());
        let builder = match &self.side {
            Side::Client(Some(builder)) => builder.buffered_bytes(),
            _ => 0,
        };
        self.decoder.buffered_bytes().saturating_add(block).saturating_add(builder)
    }

    pub(super) fn on_frame(
        &mut self,
        frame: FrameHeader,
        payload: &[u8],
        found: &mut impl FnMut(Http2Event),
    ) -> Result<(), Http2Error> {
        self.check_order(frame)?;
        match frame.kind {
            frame::HEADERS | frame::PUSH_PROMISE => {
                let fragment = fragment(frame, payload).ok_or_else(|| malformed(frame))?;
                let block = Block { kind: frame.kind, stream: frame.stream, fields: Fields::default() };
                self.on_fragment(block, fragment, frame.has(frame::END_HEADERS), found)
            }
            frame::CONTINUATION => match self.block.take() {
                Some(block) => self.on_fragment(block, payload, frame.has(frame::END_HEADERS), found),
                None => Ok(()),
            },
            _ => match &mut self.side {
                Side::Client(Some(builder)) => add_to_akamai(builder, frame, payload),
                _ => Ok(()),
            },
        }
    }

    /// Checks the frame order of RFC 9113, sections 3.4, 6.2, 6.6 and 6.10.
    fn check_order(&mut self, frame: FrameHeader) -> Result<(), Http2Error> {
        if let Side::Server { has_settings: has_settings @ false } = &mut self.side {
            if frame.kind != frame::SETTINGS || frame.stream != 0 || frame.has(frame::ACK) {
                return Err(Http2Error::NotHttp2);
            }
            *has_settings = true;
        }
        let fits = match (&self.block, frame.kind) {
            (Some(block), frame::CONTINUATION) => block.stream == frame.stream,
            (Some(_), _) | (None, frame::CONTINUATION) => false,
            (None, frame::HEADERS) => frame.stream != 0,
            (None, frame::PUSH_PROMISE) => frame.stream != 0 && matches!(self.side, Side::Server { .. }),
            _ => true,
        };
        if fits { Ok(()) } else { Err(Http2Error::FrameOrder { kind: frame.kind, stream: frame.stream }) }
    }

    /// Decodes a fragment of a field block, and reports the complete block. That of a PUSH_PROMISE only updates the decoder.
    fn on_fragment(
        &mut self,
        mut block: Block,
        fragment: &[u8],
        is_last: bool,
        found: &mut impl FnMut(Http2Event),
    ) -> Result<(), Http2Error> {
        let Block { kind, stream, fields } = &mut block;
        let (kind, stream) = (*kind, *stream);
        let is_cut = self
            .decoder
            .decode(fragment, is_last, &mut |name, value| fields.push(name, value))
            .map_err(|source| Http2Error::Hpack { stream, source })?;
        if !is_last {
            self.block = Some(block);
            return Ok(());
        }
        let Block { mut fields, .. } = block;
        if is_cut {
            fields.cut();
        }
        if fields.is_cut() && kind == frame::HEADERS {
            found(Http2Event::HeadCut { stream });
        }
        match &mut self.side {
            Side::Client(builder) => {
                let pseudo_headers = mem::take(&mut fields.pseudo_headers);
                if let Some(builder) = builder.take() {
                    found(Http2Event::Akamai(builder.akamai(pseudo_headers.clone())));
                }
                if let Some(request) = fields.into_request(HttpVersion::Http2) {
                    found(Http2Event::Request { stream, request, pseudo_headers });
                }
            }
            Side::Server { .. } if kind == frame::HEADERS => {
                if let Some(response) = fields.into_response(HttpVersion::Http2) {
                    found(Http2Event::Response { stream, response });
                }
            }
            Side::Server { .. } => {}
        }
        Ok(())
    }
}

/// The field block fragment of a HEADERS or PUSH_PROMISE frame, without padding, priority and promised stream.
fn fragment(frame: FrameHeader, payload: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(payload);
    let padding = if frame.has(frame::PADDED) { cursor.u8().ok()? } else { 0 };
    if frame.kind == frame::PUSH_PROMISE {
        cursor.skip(PROMISED_LEN).ok()?;
    } else if frame.has(frame::WITH_PRIORITY) {
        cursor.skip(PRIORITY_LEN).ok()?;
    }
    cursor.rest().get(..cursor.remaining().checked_sub(padding.into())?)
}

fn add_to_akamai(builder: &mut AkamaiBuilder, frame: FrameHeader, payload: &[u8]) -> Result<(), Http2Error> {
    match frame.kind {
        frame::SETTINGS if !frame.has(frame::ACK) => {
            builder.add_settings(settings::parse(payload).ok_or_else(|| malformed(frame))?);
        }
        frame::WINDOW_UPDATE if frame.stream == 0 => {
            let increment = payload.first_chunk().ok_or_else(|| malformed(frame))?;
            builder.add_window_update(frame::number31(*increment));
        }
        frame::PRIORITY => {
            let priority = payload.first_chunk().ok_or_else(|| malformed(frame))?;
            builder.add_priority(StreamPriority::parse(frame.stream, *priority));
        }
        _ => {}
    }
    Ok(())
}

const fn malformed(frame: FrameHeader) -> Http2Error {
    Http2Error::FrameSize { kind: frame.kind, len: frame.len }
}
