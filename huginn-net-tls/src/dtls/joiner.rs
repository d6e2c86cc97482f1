//! The hellos of one side, put together from fragments.

use huginn_net_core::Reassembler;

use super::fragment::Fragment;

/// Bytes that may be held of a message before those that are missing.
const WINDOW: usize = 1 << 16;

/// Joins one message at a time, the one that began last: of each side only the next is of interest.
#[derive(Debug, Default)]
pub(super) struct HelloJoiner {
    latest: Option<Identity>,
    joining: Option<Box<Joining>>,
    /// Whether the hello that this side has to say was whole; a HelloRetryRequest is not it.
    pub(super) said_hello: bool,
}

/// What tells a message from others, and from being sent again.
#[derive(Clone, Copy, Debug)]
struct Identity {
    message_seq: u16,
    message_len: u32,
    /// Once it is known.
    random: Option<[u8; 32]>,
}

#[derive(Debug)]
struct Joining {
    pieces: Reassembler,
    /// What is whole of the message, with TLS's header.
    message: Vec<u8>,
}

impl HelloJoiner {
    /// Whether this begins a handshake other than that of the latest message.
    pub(super) fn is_of_another_handshake(&self, fragment: &Fragment<'_>) -> bool {
        let Some(latest) = &self.latest else { return false };
        let another = |random| latest.random.is_some_and(|known| known != random);
        fragment.message_seq <= latest.message_seq && fragment.random().is_some_and(another)
    }

    /// Takes a fragment of a hello. Returns the message, with TLS's header, if that makes it whole.
    ///
    /// `refused` counts the fragments that cannot be held.
    pub(super) fn push(&mut self, fragment: &Fragment<'_>, refused: &mut u64) -> Option<Vec<u8>> {
        if self.latest.is_none_or(|latest| latest.is_before(fragment)) {
            self.latest = Some(Identity::of(fragment));
            self.joining = Some(Box::new(Joining::new(fragment)));
        }
        let latest = self.latest.as_mut().filter(|latest| latest.is_of(fragment))?;
        latest.random = latest.random.or(fragment.random());
        let joining = self.joining.as_mut()?;
        if !joining.push(fragment) {
            *refused = refused.saturating_add(1);
        }
        let whole = joining.pieces.position() == u64::from(fragment.message_len);
        if whole { self.joining.take().map(|joining| joining.message) } else { None }
    }

    /// The memory that a message not yet whole takes up, in bytes.
    pub(super) fn held(&self) -> usize {
        self.joining.as_ref().map_or(0, |joining| {
            size_of::<Joining>()
                .saturating_add(joining.pieces.held())
                .saturating_add(joining.message.capacity())
        })
    }
}

impl Identity {
    fn of(fragment: &Fragment<'_>) -> Self {
        Self { message_seq: fragment.message_seq, message_len: fragment.message_len, random: None }
    }

    /// Whether the fragment is of this message, sent for the first time or again.
    fn is_of(&self, fragment: &Fragment<'_>) -> bool {
        self.message_seq == fragment.message_seq && self.message_len == fragment.message_len
    }

    /// Whether the fragment is of a later message. One with the same number and of another length is: there are
    /// clients that number the hello with the cookie as they did the first.
    fn is_before(&self, fragment: &Fragment<'_>) -> bool {
        self.message_seq < fragment.message_seq
            || self.message_seq == fragment.message_seq && self.message_len != fragment.message_len
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
        pieces.push(u64::from(fragment.offset), fragment.bytes, WINDOW, &mut |piece| {
            message.extend_from_slice(piece);
        })
    }
}
