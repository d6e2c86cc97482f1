//! Reassembles the hellos of one side from fragments.

use super::fragment::Fragment;
use crate::datagram::stream_copies::{StreamCopies, StreamLimits};
use crate::limits::MAX_DTLS_MESSAGE_BYTES;

/// Reassembles the two latest messages at a time: the fragments of both hellos of a handshake may be interleaved.
#[derive(Debug, Default)]
pub(super) struct HelloJoiner {
    latest: Option<Message>,
    before: Option<Message>,
}

/// A message with at least one fragment.
#[derive(Debug)]
struct Message {
    /// Message number and length, which distinguish messages from retransmissions. The number alone does not: some
    /// clients reuse it for the hello with the cookie.
    message_seq: u16,
    message_len: u32,
    /// The lowest number of the records with its fragments, until it is complete.
    record: u64,
    /// `None` until known.
    random: Option<[u8; 32]>,
    /// The bytes of the body; `None` once no other content matters.
    body: Option<Box<StreamCopies>>,
    is_complete: bool,
}

impl HelloJoiner {
    /// Adds a fragment of a hello from the record with this number. Emits the message, with TLS's header, when it becomes
    /// complete, once for each content that was sent for its bytes, with whether it is a further content, and the lowest number
    /// of its records.
    ///
    /// Each further content takes one from `copies`. Returns false if the fragment does not fit in the buffer.
    pub(super) fn push(
        &mut self,
        fragment: &Fragment<'_>,
        record: u64,
        copies: &mut u8,
        each: &mut impl FnMut(Vec<u8>, bool, u64),
    ) -> bool {
        let known = [&mut self.latest, &mut self.before]
            .into_iter()
            .find(|message| message.as_ref().is_some_and(|message| message.matches(fragment)));
        let message = match known {
            Some(slot) => {
                // Another handshake on these ports with the same number and length (RFC 6347, section 4.2.8).
                if slot.as_ref().is_some_and(|message| message.is_older_than(fragment)) {
                    *slot = None;
                }
                slot.get_or_insert_with(|| Message::from_fragment(fragment, record))
            }
            None => {
                self.before = self.latest.take();
                self.latest.insert(Message::from_fragment(fragment, record))
            }
        };
        message.push(fragment, record, copies, each)
    }

    /// Drops the bytes of complete messages, but recognises them still.
    pub(super) fn release(&mut self) {
        for message in [&mut self.latest, &mut self.before].into_iter().flatten() {
            message.body.take_if(|_| message.is_complete);
        }
    }

    /// Returns the memory used by incomplete messages, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let messages = [&self.latest, &self.before].into_iter().flatten();
        messages.filter_map(|message| message.body.as_ref()).fold(0, |sum, body| {
            sum.saturating_add(size_of::<StreamCopies>()).saturating_add(body.buffered_bytes())
        })
    }
}

impl Message {
    fn from_fragment(fragment: &Fragment<'_>, record: u64) -> Self {
        let Fragment { message_seq, message_len, .. } = *fragment;
        Self {
            message_seq,
            message_len,
            record,
            random: None,
            body: Some(Box::default()),
            is_complete: false,
        }
    }

    /// Whether the fragment belongs to this message, to a retransmission or to a similar message.
    fn matches(&self, fragment: &Fragment<'_>) -> bool {
        self.message_seq == fragment.message_seq && self.message_len == fragment.message_len
    }

    /// Whether a fragment with this number and length belongs to another handshake.
    fn is_older_than(&self, fragment: &Fragment<'_>) -> bool {
        self.is_complete
            && self.random.is_some_and(|known| fragment.random().is_some_and(|random| random != known))
    }

    fn push(
        &mut self,
        fragment: &Fragment<'_>,
        record: u64,
        copies: &mut u8,
        each: &mut impl FnMut(Vec<u8>, bool, u64),
    ) -> bool {
        const LIMITS: StreamLimits = StreamLimits { window: MAX_DTLS_MESSAGE_BYTES, messages: 1 };
        let Some(body) = &mut self.body else { return true };
        if !self.is_complete {
            self.record = self.record.min(record);
        }
        let record = self.record;
        let refused = body.push(&[(u64::from(fragment.offset), fragment.bytes)], LIMITS, Some(copies));
        let Ok(len) = usize::try_from(self.message_len) else { return false };
        let [_, header @ ..] = self.message_len.to_be_bytes();
        let Self { random, is_complete, .. } = self;
        body.read_whole(len, &mut |message| {
            *is_complete = true;
            random.get_or_insert(random_of(message.bytes));
            each([&[fragment.kind], &header[..], message.bytes].concat(), message.conflict, record);
        });
        refused.is_none()
    }
}

/// The `random` of a hello, which has one if it is not too short.
fn random_of(body: &[u8]) -> [u8; 32] {
    body.get(2..).and_then(|rest| rest.first_chunk().copied()).unwrap_or_default()
}
