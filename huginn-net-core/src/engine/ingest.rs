//! The first half of the packet path: counting, filtering and decoding frames.

use std::ops::ControlFlow;

use super::Counters;
use super::packet_clock::PacketClock;
use crate::decode::{FastPath, LazySegment};
use crate::{Block, Decoder, Example, Examples, Filter, Frame, Timestamp};

/// Counts, filters and decodes frames, and advances packet time.
pub(super) struct Ingest {
    /// Kept apart from `bytes`: compilers merge adjacent counters into a form that takes twice as long.
    frames: u64,
    pub(super) decoder: Decoder,
    filter: Filter,
    /// Whether frames may take the fast path: there is no filter, and the decoder has one.
    has_fast_path: bool,
    #[cfg(feature = "libpcap")]
    pub(super) bpf: Option<crate::Bpf>,
    pub(super) clock: PacketClock,
    bytes: u64,
    frames_filtered: u64,
    segments_filtered: u64,
}

/// Receives the segments that pass the filter.
pub(super) trait SegmentHandler {
    /// Receives a segment with its packet time. A break stops the analysis.
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()>;
}

impl Ingest {
    pub(super) fn new(decoder: Decoder, filter: Filter, clock: PacketClock) -> Self {
        Self {
            frames: 0,
            has_fast_path: filter.is_empty() && decoder.has_fast_path(),
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

    /// Copies the state, without the filter expression.
    pub(super) fn fork(&self) -> Self {
        Self {
            frames: self.frames,
            decoder: self.decoder.clone(),
            filter: self.filter.clone(),
            has_fast_path: self.has_fast_path,
            #[cfg(feature = "libpcap")]
            bpf: None,
            clock: self.clock.clone(),
            bytes: self.bytes,
            frames_filtered: self.frames_filtered,
            segments_filtered: self.segments_filtered,
        }
    }

    /// Decodes a frame and passes its segments to `handler`. Breaks when the handler does.
    #[inline(always)]
    pub(super) fn on_frame(
        &mut self,
        frame: &Frame<'_>,
        handler: &mut impl SegmentHandler,
    ) -> ControlFlow<()> {
        if !self.count_and_filter(frame) {
            return ControlFlow::Continue(());
        }
        // Inlined together with the handler, so that the compiler knows most properties of a fast-path segment.
        self.decoder.count_other_records(frame);
        let number = self.decoder.next_number();
        match FastPath::from_ipv4_frame(frame, number).filter(|_| self.has_fast_path) {
            Some(fast) => {
                self.decoder.count(&fast);
                handler.on_segment(&fast, self.clock.tick(frame.ts))
            }
            // The copy keeps the frame in registers on the fast path.
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

    /// Returns the counters of frames, bytes, decoder and filters.
    pub(super) fn counters(&self) -> Counters {
        Counters {
            frames: self.frames,
            bytes: self.bytes,
            frames_filtered: self.frames_filtered,
            decode: self.decoder.counters().clone(),
            segments_filtered: self.segments_filtered,
            time_steps_back: self.clock.steps_back().0,
            time_steps_ahead: self.clock.steps_ahead().0,
            ..Counters::default()
        }
    }

    /// Returns the examples of the decoder's counters, and of times that step back or ahead.
    pub(super) fn examples(&self) -> Examples {
        let mut examples = self.decoder.examples().clone();
        if self.frames_filtered > 0 {
            examples.forget_frames();
        }
        let (_, back) = self.clock.steps_back();
        let (_, ahead) = self.clock.steps_ahead();
        for (counter, ts) in [("time_steps_back", back), ("time_steps_ahead", ahead)] {
            if let Some(ts) = ts {
                examples.add(Example { counter, ts, frame: None, flow: None, packet_number: 0 });
            }
        }
        examples
    }

    /// Handles a frame that is not fast-path IPv4, or whose segments need filtering.
    #[inline(never)]
    fn on_frame_slow(&mut self, frame: &Frame<'_>, handler: &mut impl SegmentHandler) -> ControlFlow<()> {
        let mut outcome = ControlFlow::Continue(());
        let Self { decoder, filter, clock, segments_filtered, has_fast_path, .. } = self;
        if filter.is_empty() {
            if *has_fast_path && let Some(fast) = FastPath::from_ipv6_frame(frame, decoder.next_number()) {
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
                // Packets that do not pass advance the time, too: idle flows end as without the filter.
                let now = clock.tick(segment.ts);
                if filter.passes(segment) {
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

    /// Counts a frame. Returns whether it passes the filter expression.
    #[inline]
    fn count_and_filter(&mut self, frame: &Frame<'_>) -> bool {
        self.frames = self.frames.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(frame.data.len() as u64);
        #[cfg(feature = "libpcap")]
        if let Some(bpf) = &mut self.bpf
            && !bpf.passes(frame)
        {
            self.frames_filtered = self.frames_filtered.saturating_add(1);
            return false;
        }
        true
    }
}
