//! Fragments of handshake messages (RFC 6347, section 4.2.2), of which a record holds one or several.

use huginn_net_wire::{Cursor, Side};

use crate::handshake::{CLIENT_HELLO, MAX_BODY, SERVER_HELLO};

const HELLO_VERIFY_REQUEST: u8 = 3;
/// `legacy_version` and `random`, with which the body of either hello begins.
const MIN_HELLO: u32 = 2 + 32;

/// A part of a handshake message, or the whole of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment<'a> {
    /// The type of the message.
    pub(super) kind: u8,
    /// The length of the message's body.
    pub(super) message_len: u32,
    /// The number of the message.
    pub(super) message_seq: u16,
    /// Where in the body this part begins.
    pub(super) offset: u32,
    pub(super) bytes: &'a [u8],
}

/// The next fragment; as much as was captured of it. Nothing where none begins.
pub(super) fn next<'a>(fragments: &mut Cursor<'a>) -> Option<Fragment<'a>> {
    let kind = fragments.u8().ok()?;
    let message_len = fragments.u24_be().ok()?;
    let message_seq = fragments.u16_be().ok()?;
    let offset = fragments.u24_be().ok()?;
    let len = fragments.u24_be().ok()?;
    if offset.saturating_add(len) > message_len {
        return None;
    }
    let len = usize::try_from(len).ok()?.min(fragments.remaining());
    Some(Fragment { kind, message_len, message_seq, offset, bytes: fragments.take(len).ok()? })
}

impl Fragment<'_> {
    /// Who sends messages of this type; nobody sends others before the hellos.
    pub(super) fn sender(&self) -> Option<Side> {
        match self.kind {
            CLIENT_HELLO => Some(Side::Client),
            SERVER_HELLO | HELLO_VERIFY_REQUEST => Some(Side::Server),
            _ => None,
        }
    }

    /// Whether there are bytes here of a message that can be a hello.
    pub(super) fn has_part_of_hello(&self) -> bool {
        self.is_named_hello() && self.can_be_hello() && !self.bytes.is_empty()
    }

    /// Whether a message begins here that calls itself a hello and, by its length, is none.
    pub(super) fn is_no_hello_start(&self) -> bool {
        self.is_named_hello() && !self.can_be_hello() && self.offset == 0
    }

    fn is_named_hello(&self) -> bool {
        matches!(self.kind, CLIENT_HELLO | SERVER_HELLO)
    }

    fn can_be_hello(&self) -> bool {
        (MIN_HELLO..=u32::try_from(MAX_BODY).unwrap_or(u32::MAX)).contains(&self.message_len)
    }

    /// The `random` of the hello, if the whole of it is here.
    pub(super) fn random(&self) -> Option<[u8; 32]> {
        match self.bytes {
            [_, _, rest @ ..] if self.offset == 0 => rest.first_chunk().copied(),
            _ => None,
        }
    }
}
