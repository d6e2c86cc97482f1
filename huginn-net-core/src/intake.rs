//! The part of the engine before the flows: from frames to the segments that are analysed.

use crate::decode::Usual;
use crate::packet_clock::PacketClock;
use crate::{Counters, Decoder, Filter, FlowKey, Frame, Segment, Timestamp};

/// Decodes and filters, and tells the time that flows go by.
pub(crate) struct Intake {
    pub(crate) decoder: Decoder,
    pub(crate) filter: Filter,
    #[cfg(feature = "libpcap")]
    pub(crate) bpf: Option<crate::Bpf>,
    pub(crate) clock: PacketClock,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) frames_filtered: u64,
    pub(crate) segments_filtered: u64,
}

impl Intake {
    /// Takes a frame, and hands its segments that pass to `each`, with the time that flows go by.
    #[inline]
    pub(crate) fn take(&mut self, frame: &Frame<'_>, each: &mut impl FnMut(&Segment<'_>, Timestamp)) {
        if !self.admits(frame) {
            return;
        }
        let Self { decoder, filter, clock, segments_filtered, .. } = self;
        decoder.decode(frame, &mut |segment: &Segment<'_>| {
            if filter.passes(segment) {
                each(segment, clock.tick(segment.ts));
            } else {
                *segments_filtered = segments_filtered.saturating_add(1);
            }
        });
    }

    /// Takes a frame as [`take`](Self::take) does, but leaves it to others to make the segment of a usual one, if there is
    /// nothing to filter it by.
    #[inline]
    pub(crate) fn take_part(&mut self, frame: &Frame<'_>, each: &mut impl FnMut(&Part<'_>, Timestamp)) {
        if !self.filter.is_empty() {
            return self.take(frame, &mut |segment, now| each(&Part::Segment(segment), now));
        }
        if !self.admits(frame) {
            return;
        }
        let Self { decoder, clock, .. } = self;
        match Usual::of(frame) {
            Some(usual) => {
                decoder.count(&usual);
                each(&Part::Usual(frame.ts, &usual), clock.tick(frame.ts));
            }
            None => decoder.decode_other(frame, &mut |segment| {
                each(&Part::Segment(segment), clock.tick(segment.ts));
            }),
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
            ..Counters::default()
        }
    }

    /// Counts a frame; tells whether it is to be decoded.
    #[inline]
    fn admits(&mut self, frame: &Frame<'_>) -> bool {
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(frame.data.len() as u64);
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

/// A segment, or what it can be made of.
pub(crate) enum Part<'a> {
    /// Captured at this time.
    Usual(Timestamp, &'a Usual<'a>),
    Segment(&'a Segment<'a>),
}

impl Part<'_> {
    /// The key of its flow.
    #[inline]
    pub(crate) fn key(&self) -> FlowKey {
        match self {
            Self::Usual(_, usual) => usual.key(),
            Self::Segment(segment) => FlowKey::of(segment).0,
        }
    }
}
