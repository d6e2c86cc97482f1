//! The part of the engine before the flows: from frames to the segments that are analysed.

use crate::packet_clock::PacketClock;
use crate::{Decoder, Filter, Frame, Segment, Timestamp};

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
        self.frames = self.frames.saturating_add(1);
        self.bytes = self.bytes.saturating_add(frame.data.len() as u64);
        #[cfg(feature = "libpcap")]
        if let Some(bpf) = &mut self.bpf {
            if !bpf.passes(frame) {
                self.frames_filtered = self.frames_filtered.saturating_add(1);
                return;
            }
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
}
