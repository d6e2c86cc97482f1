//! Frames that were taken from the system at once.

use huginn_net_core::{Frame, LinkType, Timestamp};

use crate::queues::Moment;

/// Frames of one interface that were taken from the system at once, and are lent one after the other.
pub(crate) struct FrameSet {
    /// The frames, one behind the other.
    bytes: Vec<u8>,
    places: Vec<Place>,
    lent: usize,
    pub(crate) link: LinkType,
    /// When they were taken.
    pub(crate) taken: Moment,
}

/// Where a frame lies, and what is known of it.
#[derive(Clone, Copy)]
struct Place {
    ts: Timestamp,
    start: usize,
    len: usize,
    /// How long it was on the wire, in bytes.
    wire_len: u32,
}

impl FrameSet {
    /// A set without frames.
    pub(crate) fn new(taken: Moment) -> Self {
        Self { bytes: Vec::new(), places: Vec::new(), lent: 0, link: LinkType::ETHERNET, taken }
    }

    /// Forgets the frames, but keeps the room for others.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.lent = 0;
    }

    /// Copies a frame that consists of these pieces, and was so long on the wire.
    #[inline]
    pub(crate) fn push<const N: usize>(&mut self, ts: Timestamp, pieces: [&[u8]; N], wire_len: u32) {
        let start = self.bytes.len();
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        let len = self.bytes.len().saturating_sub(start);
        self.places.push(Place { ts, start, len, wire_len });
    }

    /// How many frames have not been lent.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.places.len().saturating_sub(self.lent)
    }

    /// How many frames have not been lent before the first whose time of capture, in nanoseconds since the Unix epoch, is
    /// none of these.
    pub(crate) fn left_while(&self, is_one: impl Fn(u64) -> bool) -> usize {
        let places = self.places.get(self.lent..).unwrap_or_default();
        places.iter().take_while(|place| is_one(place.ts.as_nanos())).count()
    }

    /// When the next frame but so many was captured, in nanoseconds since the Unix epoch.
    pub(crate) fn time(&self, skipped: usize) -> Option<u64> {
        self.places.get(self.lent.checked_add(skipped)?).map(|place| place.ts.as_nanos())
    }

    /// Lends the next frame.
    #[inline]
    pub(crate) fn lend(&mut self) -> Option<Frame<'_>> {
        let place = self.places.get(self.lent)?;
        self.lent = self.lent.saturating_add(1);
        let data = self.bytes.get(place.start..place.start.saturating_add(place.len))?;
        Some(Frame { ts: place.ts, link: self.link, data, wire_len: place.wire_len })
    }

    /// Gives up the first frame that was captured later than at this time, and those behind it.
    pub(crate) fn cut_after(&mut self, nanos: u64) {
        if let Some(end) = self.places.iter().position(|place| place.ts.as_nanos() > nanos) {
            self.places.truncate(end);
        }
    }

    /// Adds a frame that was captured so many nanoseconds after the Unix epoch, which are its bytes too.
    #[cfg(test)]
    pub(crate) fn push_stamped(&mut self, nanos: u64) {
        let ts = Timestamp::new(nanos / 1_000_000_000, u32::try_from(nanos % 1_000_000_000).unwrap_or(0), 9);
        self.push(ts, [&nanos.to_be_bytes()], 8);
    }
}
