//! The part of the engine before the flows: from frames to the segments that are analysed.

use std::ops::ControlFlow;

use crate::decode::{Prospect, Usual, UsualIpv6};
use crate::packet_clock::PacketClock;
use crate::{Counters, Decoder, Filter, Frame, Segment, Timestamp};

/// Decodes and filters, and tells the time that flows go by.
pub(crate) struct Intake {
    /// Apart from `bytes`: compilers take twice as long to count both at once.
    pub(crate) frames: u64,
    pub(crate) decoder: Decoder,
    pub(crate) filter: Filter,
    #[cfg(feature = "libpcap")]
    pub(crate) bpf: Option<crate::Bpf>,
    pub(crate) clock: PacketClock,
    pub(crate) bytes: u64,
    pub(crate) frames_filtered: u64,
    pub(crate) segments_filtered: u64,
    /// Segments that no worker had room for, and the batches that they were in.
    pub(crate) segments_dropped: u64,
    pub(crate) batches_dropped: u64,
}

/// Takes the segments that are analysed.
pub(crate) trait Lead {
    /// Takes a segment, with the time that flows go by. Breaks where no further one is wanted.
    fn lead(&mut self, segment: &impl Prospect, now: Timestamp) -> ControlFlow<()>;
}

impl Intake {
    /// Whether frames are filtered by an expression.
    pub(crate) fn has_expression(&self) -> bool {
        #[cfg(feature = "libpcap")]
        return self.bpf.is_some();
        #[cfg(not(feature = "libpcap"))]
        false
    }

    /// Another one that stands where this one does. It [has no expression](Self::has_expression).
    pub(crate) fn fork(&self) -> Self {
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
            segments_dropped: self.segments_dropped,
            batches_dropped: self.batches_dropped,
        }
    }

    /// Takes a frame, and hands its segments that pass on. Breaks when they do.
    #[inline(always)]
    pub(crate) fn take(&mut self, frame: &Frame<'_>, to: &mut impl Lead) -> ControlFlow<()> {
        match self.take_usual(frame) {
            Taken::Usual(usual, now) => to.lead(&usual, now),
            // A copy, so that a frame need not lie in memory unless it comes here.
            Taken::Other => self.take_unusual(&{ *frame }, to),
            Taken::Nothing => ControlFlow::Continue(()),
        }
    }

    #[inline(never)]
    fn take_unusual(&mut self, frame: &Frame<'_>, to: &mut impl Lead) -> ControlFlow<()> {
        if let Some((usual, now)) = self.take_usual_ipv6(frame) {
            return to.lead(&usual, now);
        }
        let mut outcome = ControlFlow::Continue(());
        self.take_other(frame, &mut |segment, now| {
            if outcome.is_continue() {
                outcome = to.lead(segment, now);
            }
        });
        outcome
    }

    /// Takes a frame if it is a usual one and there is nothing to filter it by, and leaves it to others to make the
    /// segment.
    ///
    /// What is done with the segment can then be inlined where it is made: much of it is known when it is compiled.
    #[inline(always)]
    pub(crate) fn take_usual<'a>(&mut self, frame: &Frame<'a>) -> Taken<'a> {
        if !self.admits(frame) {
            return Taken::Nothing;
        }
        if !self.filter.is_empty() {
            return Taken::Other;
        }
        match Usual::of(frame) {
            Some(usual) => {
                self.decoder.count(&usual);
                Taken::Usual(usual, self.clock.tick(frame.ts))
            }
            None => Taken::Other,
        }
    }

    /// Takes a frame that [`take_usual`](Self::take_usual) did not, if it is a usual one of IPv6 and there is nothing to
    /// filter it by.
    #[inline(always)]
    fn take_usual_ipv6<'a>(&mut self, frame: &Frame<'a>) -> Option<(UsualIpv6<'a>, Timestamp)> {
        if !self.filter.is_empty() {
            return None;
        }
        let usual = Usual::of_ipv6(frame)?;
        self.decoder.count_ipv6(&usual);
        Some((usual, self.clock.tick(frame.ts)))
    }

    /// Takes a frame that [`take_usual`](Self::take_usual) did not, and hands its segments that pass to `each`, with the time
    /// that flows go by.
    pub(crate) fn take_other(&mut self, frame: &Frame<'_>, each: &mut impl FnMut(&Segment<'_>, Timestamp)) {
        let Self { decoder, filter, clock, segments_filtered, .. } = self;
        if filter.is_empty() {
            decoder.decode_other(frame, &mut |segment| each(segment, clock.tick(segment.ts)));
        } else {
            decoder.decode(frame, &mut |segment: &Segment<'_>| {
                if filter.passes(segment) {
                    each(segment, clock.tick(segment.ts));
                } else {
                    *segments_filtered = segments_filtered.saturating_add(1);
                }
            });
        }
    }

    /// What was counted up to the flows.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            frames: self.frames,
            bytes: self.bytes,
            frames_filtered: self.frames_filtered,
            decode: self.decoder.counters().clone(),
            segments_filtered: self.segments_filtered,
            segments_dropped: self.segments_dropped,
            batches_dropped: self.batches_dropped,
            ..Counters::default()
        }
    }

    /// Counts a frame; tells whether it is to be decoded.
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

/// What became of a frame.
pub(crate) enum Taken<'a> {
    /// It is a usual one, at this time that flows go by.
    Usual(Usual<'a>, Timestamp),
    /// It has not been decoded.
    Other,
    /// It is not to be analysed.
    Nothing,
}
