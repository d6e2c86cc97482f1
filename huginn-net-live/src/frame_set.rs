//! Frames that were taken from the system at once.

use huginn_net_core::{Frame, LinkType, Timestamp};

/// Frames of one interface that were taken from the system at once, and are lent one after the other.
pub(crate) struct FrameSet {
    /// Where the frames lie; a port lays it out as it likes.
    pub(crate) bytes: Vec<u8>,
    places: Vec<Place>,
    lent: usize,
    /// Which of the source's interfaces they came from.
    pub(crate) seat: usize,
    pub(crate) link: LinkType,
    /// When they were taken.
    pub(crate) taken_at: Timestamp,
}

/// Where a frame lies, and what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) ts: Timestamp,
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// How long it was on the wire, in bytes.
    pub(crate) wire_len: u32,
}

impl Default for FrameSet {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            places: Vec::new(),
            lent: 0,
            seat: 0,
            link: LinkType::ETHERNET,
            taken_at: Timestamp::default(),
        }
    }
}

impl FrameSet {
    /// Forgets the frames, not the bytes.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.lent = 0;
    }

    pub(crate) fn push(&mut self, place: Place) {
        self.places.push(place);
    }

    /// How many frames have not been lent.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.places.len().saturating_sub(self.lent)
    }

    /// How many frames have been lent.
    pub(crate) fn lent(&self) -> usize {
        self.lent
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
}
