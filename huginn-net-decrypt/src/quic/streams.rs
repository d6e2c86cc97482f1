//! The streams of a connection (RFC 9000, section 2).

use std::collections::{BTreeMap, BTreeSet};

use huginn_net_wire::Side;

use super::QuicReader;
use super::stream::StreamBuffer;
use crate::limits::{MAX_PENDING_STREAM_BYTES, MAX_STREAMS};

/// The streams of a connection.
#[derive(Default)]
pub(super) struct Streams {
    /// By their side and id.
    pub(super) open: BTreeMap<(Side, u64), StreamBuffer>,
    /// The lowest id whose stream may still be read, of each side and kind of stream (RFC 9000, section 2.1).
    floors: [[u64; 4]; 2],
    /// Those that have ended, and remain in the set.
    over: BTreeSet<(Side, u64)>,
    pending_bytes: usize,
}

impl Streams {
    pub(super) fn on_frame(
        &mut self,
        key: (Side, u64),
        offset: u64,
        data: &[u8],
        is_last: bool,
        reader: &mut impl QuicReader,
    ) {
        let (side, id) = key;
        if id < *self.floor(key) && !self.open.contains_key(&key) {
            return;
        }
        self.make_room(key, reader);
        let stream = self.open.entry(key).or_default();
        if stream.is_over() {
            return;
        }
        let before = stream.buffered_bytes();
        stream.push(offset, data, is_last, &mut |bytes| reader.on_stream(side, id, bytes));
        self.pending_bytes =
            self.pending_bytes.saturating_sub(before).saturating_add(stream.buffered_bytes());
        if self.pending_bytes > MAX_PENDING_STREAM_BYTES {
            return self.reset(key, reader);
        }
        if stream.is_complete() || !reader.reads_stream(side, id) {
            self.reset(key, reader);
        }
    }

    /// Ends a stream.
    pub(super) fn reset(&mut self, key: (Side, u64), reader: &mut impl QuicReader) {
        let (side, id) = key;
        if id < *self.floor(key) && !self.open.contains_key(&key) {
            return;
        }
        self.make_room(key, reader);
        let stream = self.open.entry(key).or_default();
        if !stream.is_over() {
            self.pending_bytes = self.pending_bytes.saturating_sub(stream.buffered_bytes());
            stream.end();
            self.over.insert(key);
            reader.on_stream_end(side, id);
        }
    }

    /// Drops the oldest stream of a full set: it has ended, or is given up.
    fn make_room(&mut self, key: (Side, u64), reader: &mut impl QuicReader) {
        if self.open.len() < MAX_STREAMS || self.open.contains_key(&key) {
            return;
        }
        let oldest = self.over.pop_first().or_else(|| self.open.keys().next().copied());
        let Some(oldest) = oldest else { return };
        if let Some(stream) = self.open.remove(&oldest)
            && !stream.is_over()
        {
            self.pending_bytes = self.pending_bytes.saturating_sub(stream.buffered_bytes());
            reader.on_stream_end(oldest.0, oldest.1);
        }
        let floor = self.floor(oldest);
        *floor = (*floor).max(oldest.1.saturating_add(1));
    }

    fn floor(&mut self, (side, id): (Side, u64)) -> &mut u64 {
        let [client, server] = &mut self.floors;
        let [a, b, c, d] = side.choose(client, server);
        match id & 3 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        }
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        let (entry, over) = (size_of::<((Side, u64), StreamBuffer)>(), size_of::<(Side, u64)>());
        self.pending_bytes
            .saturating_add(self.open.len().saturating_mul(entry))
            .saturating_add(self.over.len().saturating_mul(over))
    }
}
