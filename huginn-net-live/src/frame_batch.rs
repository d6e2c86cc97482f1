//! Frames that were taken from the system together.

use huginn_net_core::{Frame, LinkType, Timestamp};

use crate::backend::CaptureBackend;
use crate::queues::ClockReading;

/// Frames of one interface that were taken from the system together, and are lent one after the other.
///
/// They lie in the backend's memory, or were copied into the set.
pub(crate) struct FrameBatch {
    copied: Vec<u8>,
    records: Vec<FrameRecord>,
    lent: usize,
    pub(crate) link: LinkType,
    /// When they were taken.
    pub(crate) received_at: ClockReading,
    /// How many blocks of its memory the backend holds for the set.
    pub(crate) ring_blocks: usize,
}

/// Where a frame lies, and what was recorded of it.
#[derive(Clone, Copy)]
struct FrameRecord {
    ts: Timestamp,
    storage: Storage,
    start: usize,
    len: usize,
    /// How long it was on the wire, in bytes.
    wire_len: u32,
}

/// Whose memory a frame lies in.
#[derive(Clone, Copy)]
enum Storage {
    Set,
    Backend,
}

impl FrameBatch {
    /// A set without frames.
    pub(crate) fn new(received_at: ClockReading) -> Self {
        Self { copied: Vec::new(), records: Vec::new(), lent: 0, link: LinkType::ETHERNET, received_at, ring_blocks: 0 }
    }

    /// Forgets the frames, and keeps the room for others and the blocks of the backend.
    pub(crate) fn clear(&mut self) {
        self.copied.clear();
        self.records.clear();
        self.lent = 0;
    }

    /// Copies a frame that consists of these pieces.
    #[inline]
    pub(crate) fn push<const N: usize>(&mut self, ts: Timestamp, pieces: [&[u8]; N], wire_len: u32) {
        let start = self.copied.len();
        for piece in pieces {
            self.copied.extend_from_slice(piece);
        }
        let len = self.copied.len().saturating_sub(start);
        self.records.push(FrameRecord { ts, storage: Storage::Set, start, len, wire_len });
    }

    /// Adds a frame that lies in the backend's memory.
    #[inline]
    pub(crate) fn push_in_place(&mut self, ts: Timestamp, start: usize, len: usize, wire_len: u32) {
        self.records.push(FrameRecord { ts, storage: Storage::Backend, start, len, wire_len });
    }

    /// How many frames have not been lent.
    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        self.records.len().saturating_sub(self.lent)
    }

    /// How many frames may be lent before the first for whose capture time this does not hold, in nanoseconds since the
    /// Unix epoch.
    pub(crate) fn remaining_while(&self, holds: impl Fn(u64) -> bool) -> usize {
        let records = self.records.get(self.lent..).unwrap_or_default();
        records.iter().take_while(|record| holds(record.ts.as_nanos())).count()
    }

    /// When the next frame was captured, in nanoseconds since the Unix epoch.
    pub(crate) fn time(&self) -> Option<u64> {
        self.records.get(self.lent).map(|record| record.ts.as_nanos())
    }

    /// Lends the next frame.
    #[inline]
    pub(crate) fn lend<'a>(&'a mut self, backend: &'a dyn CaptureBackend) -> Option<Frame<'a>> {
        let FrameRecord { ts, storage, start, len, wire_len } = *self.records.get(self.lent)?;
        self.lent = self.lent.saturating_add(1);
        let data = match storage {
            Storage::Set => self.copied.get(start..start.saturating_add(len))?,
            Storage::Backend => backend.bytes(start, len),
        };
        Some(Frame { ts, link: self.link, data, wire_len })
    }

    /// Drops the first frame that was captured later than this, in nanoseconds since the Unix epoch, and those behind it.
    pub(crate) fn truncate_after(&mut self, nanos: u64) {
        if let Some(end) = self.records.iter().position(|record| record.ts.as_nanos() > nanos) {
            self.records.truncate(end);
        }
    }

    /// Adds a frame that was captured so many nanoseconds after the Unix epoch, which are its bytes too.
    #[cfg(test)]
    pub(crate) fn push_stamped(&mut self, nanos: u64) {
        let ts = Timestamp::new(nanos / 1_000_000_000, u32::try_from(nanos % 1_000_000_000).unwrap_or(0), 9);
        self.push(ts, [&nanos.to_be_bytes()], 8);
    }
}
