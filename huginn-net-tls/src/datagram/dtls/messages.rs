//! The messages of one side after its hello, in order (RFC 6347, section 4.2.2).

use std::collections::BTreeMap;

use super::fragment::Fragment;
use crate::datagram::stream_copies::{StreamCopies, StreamLimits};
use crate::limits::{
    MAX_CERTIFICATE_MESSAGE_LEN, MAX_DTLS_FLIGHT_BYTES, MAX_DTLS_MESSAGE_BYTES, MAX_DTLS_MESSAGES_AHEAD,
};

/// Reassembles messages from fragments in any order, and emits them by their number.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The number of the next message; `None` until a hello shows it.
    next: Option<u16>,
    incomplete: BTreeMap<u16, Message>,
}

/// The reason for discarding a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FragmentError {
    /// Its message is too far ahead, as a receiver may decide, too.
    TooEarly,
    /// It contradicts another fragment of its message, or the message is too long: the rest of the flight is uncertain.
    Unusable,
}

/// A message with at least one fragment.
#[derive(Debug)]
struct Message {
    kind: u8,
    len: u32,
    body: StreamCopies,
}

impl Messages {
    /// Sets the number of the hello of this side.
    pub(super) fn on_hello(&mut self, number: u16) {
        let next = number.saturating_add(1);
        self.next = Some(next);
        self.incomplete.retain(|number, _| in_window(*number, next));
    }

    /// Whether the hello of this side was seen.
    pub(super) fn has_hello(&self) -> bool {
        self.next.is_some()
    }

    /// Whether no message is incomplete, or waits for an earlier one.
    pub(super) fn is_empty(&self) -> bool {
        self.incomplete.is_empty()
    }

    /// Adds a fragment. Retransmissions of complete messages are ignored.
    pub(super) fn push(&mut self, fragment: &Fragment<'_>) -> Result<(), FragmentError> {
        const LIMITS: StreamLimits = StreamLimits { window: MAX_DTLS_MESSAGE_BYTES, messages: 1 };
        let Fragment { kind, message_len: len, message_seq: number, offset, bytes } = *fragment;
        if usize::try_from(len).is_ok_and(|len| len > MAX_CERTIFICATE_MESSAGE_LEN) {
            return Err(FragmentError::Unusable);
        }
        match self.next {
            Some(next) if number < next => return Ok(()),
            Some(next) if !in_window(number, next) => return Err(FragmentError::TooEarly),
            None if !self.incomplete.contains_key(&number)
                && self.incomplete.len() >= usize::from(MAX_DTLS_MESSAGES_AHEAD) =>
            {
                return Err(FragmentError::TooEarly);
            }
            _ => {}
        }
        let new = || Message { kind, len, body: StreamCopies::default() };
        let message = self.incomplete.entry(number).or_insert_with(new);
        if (message.kind, message.len) != (kind, len) {
            return Err(FragmentError::Unusable);
        }
        // No further content is kept: a contradiction counts as refused.
        let refused = message.body.push(&[(u64::from(offset), bytes)], LIMITS, Some(&mut 0));
        if refused.is_some() || self.buffered_bytes() > MAX_DTLS_FLIGHT_BYTES {
            return Err(FragmentError::Unusable);
        }
        Ok(())
    }

    /// Returns the next message with TLS's header, if it is complete.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        let next = self.next?;
        let message = self.incomplete.get_mut(&next)?;
        let [_, header @ ..] = message.len.to_be_bytes();
        let head = [message.kind, header[0], header[1], header[2]];
        let mut complete = (message.len == 0).then(|| head.to_vec());
        let len = usize::try_from(message.len).ok()?;
        message.body.read_whole(len, &mut |body| complete = Some([&head[..], body.bytes].concat()));
        if complete.is_some() {
            self.incomplete.remove(&next);
            self.next = next.checked_add(1);
        }
        complete
    }

    /// Returns the memory used by incomplete messages, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.incomplete.values().fold(0, |sum, message| {
            sum.saturating_add(size_of::<(u16, Message)>()).saturating_add(message.body.buffered_bytes())
        })
    }
}

/// Whether a message is the next one or follows it soon.
fn in_window(number: u16, next: u16) -> bool {
    number.checked_sub(next).is_some_and(|ahead| ahead < MAX_DTLS_MESSAGES_AHEAD)
}
