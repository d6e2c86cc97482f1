//! The first half of the packet path: counting, filtering and decoding frames.

use std::ops::ControlFlow;

use super::Counters;
use crate::decode::FastPath;
use crate::flow::LazySegment;
use crate::packet_clock::{ClockSteps, PacketClock};
use crate::{Decoder, Example, Examples, Filter, Frame, Replaceable, ReplaceableReader, Tally, Timestamp};

/// Counts, filters and decodes frames, and advances packet time.
pub(super) struct Ingest {
    pub(super) decoding: Decoding,
    pub(super) clock: PacketClock,
    #[cfg(feature = "bpf")]
    pub(super) bpf: Option<crate::Bpf>,
}

/// Counts, filters and decodes frames.
// In cache lines of its own, and in pairs of them, which processors fetch together: each worker writes to its counters at every frame, and
// those of other workers and of the merging thread are next to it in memory.
#[repr(align(128))]
pub(super) struct Decoding {
    /// Kept apart from `bytes`: compilers merge adjacent counters into a form that takes twice as long.
    frames: u64,
    pub(super) decoder: Decoder,
    filter: Filter,
    /// Where the filter comes from, if it can be replaced.
    replaceable_filter: Option<Box<ReplaceableReader<Filter>>>,
    /// Whether frames may take the fast path: the decoder has one, and no segment is filtered.
    has_fast_path: bool,
    bytes: u64,
    frames_filtered: u64,
    segments_filtered: u64,
}

impl Counters {
    /// Sets the counters of packet time.
    pub(super) fn with_steps(self, steps: ClockSteps) -> Self {
        Self { time_steps_back: steps.back, time_steps_ahead: steps.ahead, ..self }
    }
}

/// Receives the segments that pass the filter. A break stops the analysis.
pub(super) trait SegmentHandler {
    /// Receives a segment with its packet time.
    fn on_segment(&mut self, segment: &impl LazySegment, now: Timestamp) -> ControlFlow<()>;
}

/// Receives the packet time of a frame, before its segments. A break stops the analysis.
pub(super) trait TimeHandler {
    fn on_time(&mut self, now: Timestamp) -> ControlFlow<()>;
}

impl Ingest {
    pub(super) fn new(decoder: Decoder, filter: Filter, clock: PacketClock) -> Self {
        Self {
            decoding: Decoding::new(decoder, filter),
            clock,
            #[cfg(feature = "bpf")]
            bpf: None,
        }
    }

    /// Takes the filter from a place where it can be replaced.
    pub(super) fn with_replaceable_filter(self, filter: Option<Replaceable<Filter>>) -> Self {
        let Some(filter) = filter else { return self };
        let reader = Box::new(ReplaceableReader::new(filter));
        Self {
            decoding: Decoding { replaceable_filter: Some(reader), ..self.decoding }.with_current_filter(),
            ..self
        }
    }

    /// Returns the same settings, fragments and packet time, with new counters.
    pub(super) fn fork(&self) -> Self {
        Self {
            decoding: self.decoding.fork(),
            clock: self.clock.fork(),
            #[cfg(feature = "bpf")]
            bpf: self.bpf.clone(),
        }
    }

    /// Adds the counters of another part of the capture, and its packet time.
    pub(super) fn join(&mut self, other: &Self) {
        self.decoding.join(&other.decoding);
        self.clock.join(&other.clock);
    }

    /// Starts another capture.
    pub(super) fn start_capture(&mut self) {
        self.decoding.decoder.start_capture();
        self.clock.start_capture();
    }

    /// Decodes a frame and passes its time and its segments to `handler`. Breaks when the handler does. `step` is the number of sources
    /// that count packets beside each other.
    #[inline(always)]
    pub(super) fn on_frame(
        &mut self,
        frame: &Frame<'_>,
        step: u64,
        handler: &mut (impl SegmentHandler + TimeHandler),
    ) -> ControlFlow<()> {
        #[cfg(feature = "bpf")]
        if let Some(bpf) = &mut self.bpf
            && !bpf.passes(frame)
        {
            self.decoding.count_filtered((1, frame.data.len() as u64));
            return ControlFlow::Continue(());
        }
        self.decoding.decoder.advance(frame, step);
        let now = self.clock.tick(frame.ts);
        handler.on_time(now)?;
        self.decoding.on_frame(frame, now, handler)
    }

    /// Returns the counters of frames, bytes, decoder, filters and packet time.
    pub(super) fn counters(&self) -> Counters {
        self.decoding.counters().with_steps(self.clock.steps())
    }

    /// Returns the time of the latest frame.
    pub(super) fn latest(&self) -> Option<Timestamp> {
        self.clock.steps().span.map(|(_, latest)| latest)
    }

    /// Returns the examples of the decoder's counters, and of times that step back or ahead.
    pub(super) fn examples(&self) -> Examples {
        let mut examples = self.decoding.decoder.examples().clone();
        // Those of fragments: a segment has them already.
        if let Some(mut mapped) = self.decoding.decoder.addresses.clone() {
            examples.map_addresses(|addresses| mapped.map(addresses));
        }
        if self.decoding.frames_filtered > 0 {
            examples.forget_frames();
        }
        let ClockSteps { first_back, first_ahead, .. } = self.clock.steps();
        for (counter, ts) in [("time_steps_back", first_back), ("time_steps_ahead", first_ahead)] {
            if let Some(ts) = ts {
                let (frame, flow, addresses) = (None, None, None);
                examples.add(Example { counter, ts, frame, flow, addresses, packet_number: 0 });
            }
        }
        examples
    }
}

impl Decoding {
    fn new(decoder: Decoder, filter: Filter) -> Self {
        Self {
            frames: 0,
            has_fast_path: filter.is_empty() && decoder.has_fast_path(),
            decoder,
            filter,
            replaceable_filter: None,
            bytes: 0,
            frames_filtered: 0,
            segments_filtered: 0,
        }
    }

    /// Returns the same settings and fragments, with new counters.
    pub(super) fn fork(&self) -> Self {
        let replaceable_filter = self.replaceable_filter.clone();
        Self { replaceable_filter, ..Self::new(self.decoder.fork(), self.filter.clone()) }
    }

    /// Adds the counters of a worker.
    pub(super) fn join(&mut self, worker: &Self) {
        let Self { frames, decoder, bytes, frames_filtered, segments_filtered, .. } = worker;
        Tally::add(&mut self.frames, frames);
        Tally::add(&mut self.bytes, bytes);
        Tally::add(&mut self.frames_filtered, frames_filtered);
        Tally::add(&mut self.segments_filtered, segments_filtered);
        self.decoder.join(decoder);
    }

    /// Decodes a frame of the [current record](Decoder::set_record), and passes its segments to `handler`. Breaks when the
    /// handler does.
    #[inline(always)]
    pub(super) fn on_frame(
        &mut self,
        frame: &Frame<'_>,
        now: Timestamp,
        handler: &mut impl SegmentHandler,
    ) -> ControlFlow<()> {
        self.count(frame);
        // Inlined together with the handler, so that the compiler knows most properties of a fast-path segment.
        if self.has_fast_path
            && let Some(fast) = FastPath::from_ipv4_frame(frame, self.decoder.number())
        {
            self.decoder.count(&fast);
            return handler.on_segment(&fast, now);
        }
        // The copy keeps the frame in registers on the fast path.
        self.on_frame_slow(&{ *frame }, now, handler)
    }

    /// Returns the number of frames.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Takes the filter that replaced the current one, if there is one. Workers call it between batches of frames.
    pub(super) fn update_filter(&mut self) {
        if self.replaceable_filter.as_mut().is_some_and(|filter| filter.update()) {
            self.take_filter();
        }
    }

    fn with_current_filter(mut self) -> Self {
        self.take_filter();
        self
    }

    fn take_filter(&mut self) {
        if let Some(filter) = &self.replaceable_filter {
            self.filter = Filter::clone(filter.value());
            self.has_fast_path = self.filter.is_empty() && self.decoder.has_fast_path();
        }
    }

    #[inline(always)]
    fn count(&mut self, frame: &Frame<'_>) {
        self.frames = self.frames.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(frame.data.len() as u64);
    }

    /// Handles a frame that is not fast-path IPv4, or whose segments need filtering or other addresses.
    #[inline(never)]
    fn on_frame_slow(
        &mut self,
        frame: &Frame<'_>,
        now: Timestamp,
        handler: &mut impl SegmentHandler,
    ) -> ControlFlow<()> {
        let mut outcome = ControlFlow::Continue(());
        let Self { decoder, filter, segments_filtered, has_fast_path, .. } = self;
        if filter.is_empty() && decoder.addresses.is_none() {
            if *has_fast_path && let Some(fast) = FastPath::from_ipv6_frame(frame, decoder.number()) {
                decoder.count_without_ip_checksum(&fast);
                return handler.on_segment(&fast, now);
            }
            decoder.decode_slow(frame, &mut |segment| {
                if outcome.is_continue() {
                    outcome = handler.on_segment(segment, now);
                }
            });
        } else {
            // The filter has the addresses of the packet.
            let mut addresses = decoder.addresses.take();
            decoder.decode_current(frame, &mut |segment| {
                if !filter.passes(segment) {
                    *segments_filtered = segments_filtered.saturating_add(1);
                } else if outcome.is_continue() {
                    let mapped = addresses.as_deref_mut().map(|map| map.segment(segment));
                    outcome = handler.on_segment(mapped.as_ref().unwrap_or(segment), now);
                }
            });
            decoder.addresses = addresses;
        }
        outcome
    }

    /// Counts frames that a filter expression removed, and their bytes.
    pub(super) fn count_filtered(&mut self, (frames, bytes): (u64, u64)) {
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
            ..Counters::default()
        }
    }
}
