//! The bytes of a stream, in order (RFC 9000, section 2.2).

use std::collections::BTreeMap;

/// One direction of a stream. Its bytes are authentic, so that no content is sent twice with other values.
#[derive(Default)]
pub(super) struct StreamBuffer {
    /// Offset of the next byte.
    next: u64,
    /// Bytes after missing ones, by their offset.
    pending: BTreeMap<u64, Vec<u8>>,
    /// Sum of their lengths.
    pending_bytes: usize,
    /// The length of the stream, once it is known.
    len: Option<u64>,
    /// Whether nothing further is read.
    is_over: bool,
}

/// Bytes of a part of a stream that is kept beside them.
const OVERHEAD: usize = 64;

impl StreamBuffer {
    /// Adds the bytes of a frame, and passes those that are next to `each`.
    pub(super) fn push(&mut self, offset: u64, data: &[u8], is_last: bool, each: &mut impl FnMut(&[u8])) {
        if self.is_over {
            return;
        }
        let end = offset.saturating_add(data.len() as u64);
        if is_last {
            self.len.get_or_insert(end);
        }
        if offset > self.next {
            let known = self.pending.get(&offset).map_or(0, Vec::len);
            if !data.is_empty() && known < data.len() {
                self.pending_bytes = self
                    .pending_bytes
                    .saturating_sub(if known > 0 { known.saturating_add(OVERHEAD) } else { 0 })
                    .saturating_add(data.len())
                    .saturating_add(OVERHEAD);
                self.pending.insert(offset, data.into());
            }
            return;
        }
        self.deliver(offset, data, each);
        self.drain(each);
    }

    /// Passes the bytes that are next on.
    fn deliver(&mut self, offset: u64, data: &[u8], each: &mut impl FnMut(&[u8])) {
        let known = usize::try_from(self.next.saturating_sub(offset)).unwrap_or(usize::MAX);
        if let Some(new) = data.get(known..).filter(|new| !new.is_empty()) {
            self.next = self.next.saturating_add(new.len() as u64);
            each(new);
        }
    }

    fn drain(&mut self, each: &mut impl FnMut(&[u8])) {
        while let Some(entry) = self.pending.first_entry().filter(|entry| *entry.key() <= self.next) {
            let (offset, data) = entry.remove_entry();
            self.pending_bytes = self.pending_bytes.saturating_sub(data.len()).saturating_sub(OVERHEAD);
            self.deliver(offset, &data, each);
        }
    }

    /// Whether all bytes up to the end were delivered.
    pub(super) fn is_complete(&self) -> bool {
        self.len.is_some_and(|len| self.next >= len)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Ends the stream, and drops what waits.
    pub(super) fn end(&mut self) {
        *self = Self { is_over: true, ..Self::default() };
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.pending_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(stream: &mut StreamBuffer, parts: &[(u64, &[u8], bool)]) -> Vec<u8> {
        let mut found = Vec::new();
        for (offset, data, is_last) in parts {
            stream.push(*offset, data, *is_last, &mut |bytes| found.extend_from_slice(bytes));
        }
        found
    }

    #[test]
    fn bytes_are_delivered_once_and_in_order() {
        let mut stream = StreamBuffer::default();
        let parts: &[(u64, &[u8], bool)] =
            &[(4, b"ef", false), (4, b"efg", false), (7, b"h", true), (0, b"ab", false), (1, b"bcde", false)];
        assert_eq!(pushed(&mut stream, parts), b"abcdefgh");
        assert!(stream.is_complete());
        assert_eq!((stream.buffered_bytes(), pushed(&mut stream, parts)), (0, vec![]));
    }
}
