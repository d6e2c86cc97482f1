//! Handshake messages from the fragments of records (RFC 8446, section 5.1).

use std::fmt;

use huginn_net_wire::Cursor;

use crate::limits::MAX_MESSAGE_LEN;

/// Length of type and length of a message, in bytes.
const HEADER_LEN: usize = 4;

/// Joins fragments to messages. The body of a message that is too long is passed over.
#[derive(Default)]
pub(crate) struct MessageJoiner {
    /// The incomplete message.
    bytes: Vec<u8>,
    /// Number of bytes of a long message that are still to come.
    skipped: usize,
}

impl MessageJoiner {
    /// Passes type and body of each message that a fragment completes to `each`; of one that is too long, the type without a body.
    pub(crate) fn push(&mut self, mut fragment: &[u8], mut each: impl FnMut(u8, Option<&[u8]>)) {
        while !fragment.is_empty() {
            let skipped = self.skipped.min(fragment.len());
            self.skipped = self.skipped.saturating_sub(skipped);
            fragment = fragment.get(skipped..).unwrap_or_default();
            let missing = self.missing().min(fragment.len());
            let (part, rest) = fragment.split_at_checked(missing).unwrap_or_default();
            self.bytes.extend_from_slice(part);
            fragment = rest;
            if self.bytes.len() < HEADER_LEN || self.missing() > 0 {
                continue;
            }
            let mut message = Cursor::new(&self.bytes);
            if let (Ok(kind), Ok(len)) = (message.u8(), message.u24_be()) {
                let len = len as usize;
                if len > MAX_MESSAGE_LEN {
                    self.skipped = len;
                    each(kind, None);
                } else {
                    each(kind, Some(message.take(len).unwrap_or_default()));
                }
            }
            self.bytes = Vec::new();
        }
    }

    /// Number of bytes until the header, the message or a message that is too long is known.
    fn missing(&self) -> usize {
        let mut header = Cursor::new(&self.bytes);
        let (Ok(_), Ok(len)) = (header.u8(), header.u24_be()) else {
            return HEADER_LEN.saturating_sub(self.bytes.len());
        };
        let len = if len as usize > MAX_MESSAGE_LEN { 0 } else { len as usize };
        HEADER_LEN.saturating_add(len).saturating_sub(self.bytes.len())
    }

    /// Whether no message is incomplete.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.skipped == 0
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Omits the bytes: they may be plaintext.
impl fmt::Debug for MessageJoiner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageJoiner").field("buffered", &self.bytes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_joined_and_long_ones_passed_over() {
        let long = [&[11, 2, 0, 0][..], &[9; 0x20000]].concat();
        let bytes = [&[1, 0, 0, 3, 1, 2, 3][..], &[20, 0, 0, 0], &long, &[24, 0, 0, 1, 0]].concat();
        for step in [1, 3, 7, 1000, bytes.len()] {
            let (mut joiner, mut found) = (MessageJoiner::default(), Vec::new());
            for piece in bytes.chunks(step) {
                joiner.push(piece, |kind, body| found.push((kind, body.map(<[u8]>::to_vec))));
            }
            let wanted = [(1, Some(vec![1, 2, 3])), (20, Some(vec![])), (11, None), (24, Some(vec![0]))];
            assert_eq!(found, wanted, "{step}");
            assert_eq!(joiner.buffered_bytes(), 0);
        }
    }
}
