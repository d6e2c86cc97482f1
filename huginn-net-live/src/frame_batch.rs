//! Batches of received frames.

use huginn_net_core::{Frame, LinkType, Timestamp};

use crate::backend::CaptureBackend;
use crate::queues::ClockReading;

/// Frames of one input that were received together.
///
/// A frame lies in the backend's memory or was copied into the batch.
pub(crate) struct FrameBatch {
    copied: Vec<u8>,
    entries: Vec<FrameEntry>,
    lent: usize,
    /// The link type of frames that are added.
    pub(crate) link: LinkType,
    /// Whether the time of each frame has the number of its interface already.
    pub(crate) has_interfaces: bool,
    /// When the batch was received.
    pub(crate) received_at: ClockReading,
    /// Number of ring blocks that the batch occupies.
    pub(crate) ring_blocks: usize,
}

/// Location and metadata of a frame.
#[derive(Clone, Copy)]
struct FrameEntry {
    ts: Timestamp,
    storage: Storage,
    link: LinkType,
    start: usize,
    len: usize,
    /// Length on the wire, in bytes.
    wire_len: u32,
}

/// The memory that contains a frame.
#[derive(Clone, Copy)]
enum Storage {
    Copied,
    Backend,
}

impl FrameBatch {
    /// Creates an empty batch.
    pub(crate) fn new(received_at: ClockReading) -> Self {
        Self {
            copied: Vec::new(),
            entries: Vec::new(),
            lent: 0,
            link: LinkType::ETHERNET,
            has_interfaces: false,
            received_at,
            ring_blocks: 0,
        }
    }

    /// Removes the frames. Keeps the memory and the backend's blocks.
    pub(crate) fn clear(&mut self) {
        self.copied.clear();
        self.entries.clear();
        self.lent = 0;
    }

    /// Copies a frame from these pieces.
    #[inline]
    pub(crate) fn push<const N: usize>(&mut self, ts: Timestamp, pieces: [&[u8]; N], wire_len: u32) {
        let start = self.copied.len();
        for piece in pieces {
            self.copied.extend_from_slice(piece);
        }
        let len = self.copied.len().saturating_sub(start);
        self.entries.push(FrameEntry { ts, storage: Storage::Copied, link: self.link, start, len, wire_len });
    }

    /// Adds a frame in the backend's memory.
    #[inline]
    pub(crate) fn push_in_place(&mut self, ts: Timestamp, start: usize, len: usize, wire_len: u32) {
        self.entries.push(FrameEntry {
            ts,
            storage: Storage::Backend,
            link: self.link,
            start,
            len,
            wire_len,
        });
    }

    /// Returns the number of frames not yet lent.
    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        self.entries.len().saturating_sub(self.lent)
    }

    /// Returns the number of frames before the first one whose capture time, in nanoseconds since the Unix epoch, fails
    /// `predicate`.
    pub(crate) fn remaining_while(&self, predicate: impl Fn(u64) -> bool) -> usize {
        let entries = self.entries.get(self.lent..).unwrap_or_default();
        entries.iter().take_while(|record| predicate(record.ts.as_nanos())).count()
    }

    /// Returns the capture time of the next frame, in nanoseconds since the Unix epoch.
    pub(crate) fn time(&self) -> Option<u64> {
        self.entries.get(self.lent).map(|record| record.ts.as_nanos())
    }

    /// Lends the next frame.
    #[inline]
    pub(crate) fn lend<'a>(&'a mut self, backend: &'a dyn CaptureBackend) -> Option<Frame<'a>> {
        let FrameEntry { ts, storage, link, start, len, wire_len } = *self.entries.get(self.lent)?;
        self.lent = self.lent.saturating_add(1);
        let data = match storage {
            Storage::Copied => self.copied.get(start..start.saturating_add(len))?,
            Storage::Backend => backend.bytes(start, len),
        };
        Some(Frame { ts, link, data, wire_len })
    }

    /// Drops the first frame captured after this time, in nanoseconds since the Unix epoch, and all after it.
    pub(crate) fn truncate_after(&mut self, nanos: u64) {
        if let Some(end) = self.entries.iter().position(|record| record.ts.as_nanos() > nanos) {
            self.entries.truncate(end);
        }
    }

    /// Adds a frame captured at this time, in nanoseconds since the Unix epoch. The time is also its payload.
    #[cfg(test)]
    pub(crate) fn push_stamped(&mut self, nanos: u64) {
        let ts = Timestamp::new(nanos / 1_000_000_000, u32::try_from(nanos % 1_000_000_000).unwrap_or(0), 9);
        self.push(ts, [&nanos.to_be_bytes()], 8);
    }
}
