//! Fragments of handshake messages (RFC 6347, section 4.2.2). A record contains one or more.

use huginn_net_wire::{Cursor, Side};

use crate::hello::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::limits::MAX_HELLO_BODY_LEN;

const HELLO_VERIFY_REQUEST: u8 = 3;
/// Length of `legacy_version` and `random`, which start both hellos, in bytes.
const MIN_HELLO: u32 = 2 + 32;

/// A fragment of a handshake message, or a complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment<'a> {
    /// Message type.
    pub(super) kind: u8,
    /// Length of the message body, in bytes.
    pub(super) message_len: u32,
    /// Message number.
    pub(super) message_seq: u16,
    /// Offset of this fragment in the body, in bytes.
    pub(super) offset: u32,
    pub(super) bytes: &'a [u8],
}

/// Reads the captured part of the next fragment; `None` if no fragment starts here.
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
    /// The sender of messages of this type; `None` for types that cannot precede the hellos.
    pub(super) fn sender(&self) -> Option<Side> {
        match self.kind {
            CLIENT_HELLO => Some(Side::Client),
            SERVER_HELLO | HELLO_VERIFY_REQUEST => Some(Side::Server),
            _ => None,
        }
    }

    /// Whether the fragment contains bytes of a possible hello.
    pub(super) fn has_part_of_hello(&self) -> bool {
        self.is_named_hello() && self.can_be_hello() && !self.bytes.is_empty()
    }

    /// Whether a message starts here whose type is a hello but whose length rules that out.
    pub(super) fn is_no_hello_start(&self) -> bool {
        self.is_named_hello() && !self.can_be_hello() && self.offset == 0
    }

    fn is_named_hello(&self) -> bool {
        matches!(self.kind, CLIENT_HELLO | SERVER_HELLO)
    }

    fn can_be_hello(&self) -> bool {
        (MIN_HELLO..=u32::try_from(MAX_HELLO_BODY_LEN).unwrap_or(u32::MAX)).contains(&self.message_len)
    }

    /// The `random` of the hello, if completely present.
    pub(super) fn random(&self) -> Option<[u8; 32]> {
        match self.bytes {
            [_, _, rest @ ..] if self.offset == 0 => rest.first_chunk().copied(),
            _ => None,
        }
    }
}
