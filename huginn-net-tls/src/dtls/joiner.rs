//! Reassembles the hellos of one side from fragments.

use huginn_net_wire::Reassembler;

use super::fragment::Fragment;
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
    /// `None` until known.
    random: Option<[u8; 32]>,
    /// `None` once the message was complete.
    joining: Option<Box<Joining>>,
}

#[derive(Debug)]
struct Joining {
    pieces: Reassembler,
    /// The in-order part of the message, with TLS's header.
    message: Vec<u8>,
}

impl HelloJoiner {
    /// Adds a fragment of a hello. Returns the message, with TLS's header, when it becomes complete for the first time.
    ///
    /// `refused` counts the fragments that do not fit in the buffer.
    pub(super) fn push(&mut self, fragment: &Fragment<'_>, refused: &mut u64) -> Option<Vec<u8>> {
        let known = [&mut self.latest, &mut self.before]
            .into_iter()
            .find(|message| message.as_ref().is_some_and(|message| message.matches(fragment)));
        let message = match known {
            Some(slot) => {
                // Another handshake on these ports with the same number and length (RFC 6347, section 4.2.8).
                if slot.as_ref().is_some_and(|message| message.is_older_than(fragment)) {
                    *slot = None;
                }
                slot.get_or_insert_with(|| Message::from_fragment(fragment))
            }
            None => {
                self.before = self.latest.take();
                self.latest.insert(Message::from_fragment(fragment))
            }
        };
        message.push(fragment, refused)
    }

    /// Returns the memory used by incomplete messages, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let messages = [&self.latest, &self.before].into_iter().flatten();
        messages.filter_map(|message| message.joining.as_ref()).fold(0, |sum, joining| {
            let message = joining.pieces.buffered_bytes().saturating_add(joining.message.capacity());
            sum.saturating_add(size_of::<Joining>()).saturating_add(message)
        })
    }
}

impl Message {
    fn from_fragment(fragment: &Fragment<'_>) -> Self {
        let Fragment { message_seq, message_len, .. } = *fragment;
        Self { message_seq, message_len, random: None, joining: Some(Box::new(Joining::new(fragment))) }
    }

    /// Whether the fragment belongs to this message, to a retransmission or to a similar message.
    fn matches(&self, fragment: &Fragment<'_>) -> bool {
        self.message_seq == fragment.message_seq && self.message_len == fragment.message_len
    }

    /// Whether a fragment with this number and length belongs to another handshake.
    fn is_older_than(&self, fragment: &Fragment<'_>) -> bool {
        self.random.is_some_and(|known| fragment.random().is_some_and(|random| random != known))
    }

    fn push(&mut self, fragment: &Fragment<'_>, refused: &mut u64) -> Option<Vec<u8>> {
        self.random = self.random.or(fragment.random());
        let joining = self.joining.as_mut()?;
        if !joining.push(fragment) {
            *refused = refused.saturating_add(1);
        }
        let is_complete = joining.pieces.position() == u64::from(fragment.message_len);
        if is_complete { self.joining.take().map(|joining| joining.message) } else { None }
    }
}

impl Joining {
    fn new(fragment: &Fragment<'_>) -> Self {
        let [_, len @ ..] = fragment.message_len.to_be_bytes();
        let message = [&[fragment.kind], &len[..]].concat();
        Self { pieces: Reassembler::new(), message }
    }

    fn push(&mut self, fragment: &Fragment<'_>) -> bool {
        let Self { pieces, message } = self;
        pieces.push(u64::from(fragment.offset), fragment.bytes, MAX_DTLS_MESSAGE_BYTES, &mut |piece| {
            message.extend_from_slice(piece);
        })
    }
}
