//! The first half of the packet path: from frames to the segments that are analysed.

use std::ops::ControlFlow;

use super::Counters;
use super::packet_clock::PacketClock;
use crate::decode::{FastPath, LazySegment};
use crate::{Block, Decoder, Filter, Frame, Timestamp};

/// Decodes and filters frames, and keeps packet time.
pub(super) struct Ingest {
    /// Apart from `bytes`: compilers take twice as long to count both at once.
    frames: u64,
    pub(super) decoder: Decoder,
    filter: Filter,
    #[cfg(feature = "libpcap")]
    pub(super) bpf: Option<crate::Bpf>,
    pub(super) clock: PacketClock,
    bytes: u64,
    frames_filtered: u64,
    segments_filtered: u64,
}

/// Takes the segments that pass the filter.
pub(super) trait SegmentHandler {
    /// Takes a segment, with the packet time. Breaks where no further one is wanted.
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()>;
}

impl Ingest {
    pub(super) fn new(decoder: Decoder, filter: Filter, clock: PacketClock) -> Self {
        Self {
            frames: 0,
            decoder,
            filter,
            #[cfg(feature = "libpcap")]
            bpf: None,
            clock,
            bytes: 0,
            frames_filtered: 0,
            segments_filtered: 0,
        }
    }

    /// A copy in the same state, without a filter expression.
    pub(super) fn fork(&self) -> Self {
        Self {
            frames: self.frames,
            decoder: self.decoder.clone(),
            filter: self.filter.clone(),
            #[cfg(feature = "libpcap")]
            bpf: None,
            clock: self.clock.clone(),
            bytes: self.bytes,
            frames_filtered: self.frames_filtered,
            segments_filtered: self.segments_filtered,
        }
    }

    /// Takes a frame and hands on its segments. Breaks when the handler does.
    #[inline(always)]
    pub(super) fn on_frame(
        &mut self,
        frame: &Frame<'_>,
        handler: &mut impl SegmentHandler,
    ) -> ControlFlow<()> {
        if !self.admits(frame) {
            return ControlFlow::Continue(());
        }
        // Inlined with what the handler does, much of a fast segment is known when it is compiled.
        match FastPath::from_ipv4_frame(frame).filter(|_| self.filter.is_empty()) {
            Some(fast) => {
                self.decoder.count(&fast);
                handler.on_segment(&fast, self.clock.tick(frame.ts))
            }
            // A copy, so that a frame need not lie in memory unless it comes here.
            None => self.on_frame_slow(&{ *frame }, handler),
        }
    }

    /// Counts the frames that a filter expression removed from a block.
    pub(super) fn count_filtered(&mut self, block: &Block) {
        let (frames, bytes) = block.filtered();
        self.frames = self.frames.saturating_add(frames);
        self.frames_filtered = self.frames_filtered.saturating_add(frames);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The counters of frames, bytes, decode and filter.
    pub(super) fn counters(&self) -> Counters {
        Counters {
            frames: self.frames,
            bytes: self.bytes,
            frames_filtered: self.frames_filtered,
            decode: self.decoder.counters().clone(),
            segments_filtered: self.segments_filtered,
            ..Counters::default()
        }
    }

    /// Takes a frame that is not fast IPv4, or that is filtered by its segments.
    #[inline(never)]
    fn on_frame_slow(&mut self, frame: &Frame<'_>, handler: &mut impl SegmentHandler) -> ControlFlow<()> {
        let mut outcome = ControlFlow::Continue(());
        let Self { decoder, filter, clock, segments_filtered, .. } = self;
        if filter.is_empty() {
            if let Some(fast) = FastPath::from_ipv6_frame(frame) {
                decoder.count_without_ip_checksum(&fast);
                return handler.on_segment(&fast, clock.tick(frame.ts));
            }
            decoder.decode_slow(frame, &mut |segment| {
                let now = clock.tick(segment.ts);
                if outcome.is_continue() {
                    outcome = handler.on_segment(segment, now);
                }
            });
        } else {
            decoder.decode(frame, &mut |segment| {
                if filter.passes(segment) {
                    let now = clock.tick(segment.ts);
                    if outcome.is_continue() {
                        outcome = handler.on_segment(segment, now);
                    }
                } else {
                    *segments_filtered = segments_filtered.saturating_add(1);
                }
            });
        }
        outcome
    }

    /// Counts a frame; whether it is to be decoded.
    #[inline]
    fn admits(&mut self, frame: &Frame<'_>) -> bool {
        self.frames = self.frames.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(frame.data.len() as u64);
        #[cfg(feature = "libpcap")]
        if let Some(bpf) = &mut self.bpf {
            if !bpf.passes(frame) {
                self.frames_filtered = self.frames_filtered.saturating_add(1);
                return false;
            }
        }
        true
    }
}
