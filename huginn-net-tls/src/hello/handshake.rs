//! Handshake messages (RFC 8446, section 4): a type, a three-byte length and a body.

use std::ops::ControlFlow;

use huginn_net_wire::{Cursor, Parsed, Truncated};

#[cfg(feature = "packets")]
use crate::limits::MAX_CERTIFICATE_MESSAGE_LEN;
use crate::limits::MAX_HELLO_BODY_LEN;
use crate::{TlsError, TlsField};

/// Message types (IANA, "TLS HandshakeType").
pub(crate) const CLIENT_HELLO: u8 = 1;
pub(crate) const SERVER_HELLO: u8 = 2;
#[cfg(feature = "packets")]
pub(crate) const SERVER_KEY_EXCHANGE: u8 = 12;
/// The last message of a server before the answer of the client, up to TLS 1.2.
#[cfg(feature = "packets")]
pub(crate) const SERVER_HELLO_DONE: u8 = 14;

/// Length of a message header, in bytes.
pub(crate) const HEADER_LEN: usize = 4;

/// Returns a cursor at the start of the body of a message.
///
/// Bytes after the message are ignored.
pub(crate) fn body<'a>(message: &'a [u8], kind: u8) -> Result<Cursor<'a>, TlsError> {
    let mut cursor = Cursor::new(message);
    let [found, a, b, c] = cursor.array().map_err(at(TlsField::Header))?;
    if found != kind {
        return Err(TlsError::NotHello(found));
    }
    let announced = body_len([a, b, c]);
    if announced > MAX_HELLO_BODY_LEN {
        return Err(TlsError::TooLong { announced });
    }
    let mut end = cursor;
    end.skip(announced).map_err(at(TlsField::Body))?;
    let mut body = Cursor::new(message.get(..end.position()).unwrap_or(message));
    body.skip(HEADER_LEN).map_err(at(TlsField::Header))?;
    Ok(body)
}

/// Converts a truncated message to `None`, for bytes that may continue.
pub(crate) fn parsed<T>(
    outcome: Result<T, TlsError>,
    message: impl FnOnce(&T) -> &[u8],
) -> Result<Option<Parsed<T>>, TlsError> {
    match outcome {
        Err(TlsError::Truncated { field: TlsField::Header | TlsField::Body, .. }) => Ok(None),
        outcome => outcome.map(|hello| {
            let consumed = message(&hello).len();
            Some(Parsed::new(hello, consumed))
        }),
    }
}

/// Converts a truncation to an error with the field.
pub(crate) fn at(field: TlsField) -> impl Fn(Truncated) -> TlsError {
    move |source| TlsError::Truncated { field, source }
}

fn body_len([a, b, c]: [u8; 3]) -> usize {
    u32::from_be_bytes([0, a, b, c]) as usize
}

/// The messages that a joiner accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Messages {
    /// Hellos.
    #[default]
    Hellos,
    /// Hellos, and every message after a ServerHello.
    #[cfg(feature = "packets")]
    FromServerHello,
    /// Every message. Of one with more than [`MAX_CERTIFICATE_MESSAGE_LEN`] bytes, the header alone is read.
    #[cfg(feature = "packets")]
    All,
}

/// Joins the messages of a handshake from in-order bytes in pieces of any size. Only an incomplete message is copied.
#[derive(Debug, Default)]
pub(crate) struct MessageJoiner {
    buffered: Vec<u8>,
    accepted: Messages,
    /// Bytes of a long message that are still to be passed over.
    skipped: u32,
}

impl MessageJoiner {
    /// Sets the messages that are accepted next.
    #[cfg(feature = "packets")]
    pub(crate) fn accept(&mut self, accepted: Messages) {
        self.accepted = accepted;
    }

    /// Appends the next bytes and emits each complete message, including its header; of one that is too long, the
    /// [header alone](is_too_long).
    ///
    /// # Errors
    /// A message is not accepted, or a hello is too long. No later message can be used.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut (impl FnMut(&[u8]) + ?Sized),
    ) -> Result<(), TlsError> {
        if !self.buffered.is_empty() {
            match self.fill(bytes)? {
                ControlFlow::Continue(()) => return Ok(()),
                ControlFlow::Break(rest) => bytes = rest,
            }
            each(&self.buffered);
            self.accepted = self.accepted.after(&self.buffered);
            self.skipped = missing(&self.buffered);
            self.buffered.clear();
        }
        loop {
            bytes = self.pass_over(bytes);
            let len = match self.accepted.len(bytes)? {
                Some(len) if bytes.len() >= len => len,
                _ => break,
            };
            let (message, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            each(message);
            self.accepted = self.accepted.after(message);
            self.skipped = missing(message);
            bytes = rest;
        }
        self.buffered.extend_from_slice(bytes);
        Ok(())
    }

    /// Passes over the rest of a message that is too long. Returns the bytes after it.
    fn pass_over<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = (self.skipped as usize).min(bytes.len());
        self.skipped = self.skipped.saturating_sub(u32::try_from(skipped).unwrap_or(u32::MAX));
        bytes.get(skipped..).unwrap_or_default()
    }

    /// Returns the memory used by an incomplete message, in bytes.
    #[cfg(any(test, feature = "packets"))]
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffered.capacity()
    }

    /// Appends bytes to the buffered message. Breaks with the remaining bytes once it is complete.
    fn fill<'a>(&mut self, bytes: &'a [u8]) -> Result<ControlFlow<&'a [u8]>, TlsError> {
        let missing = HEADER_LEN.saturating_sub(self.buffered.len());
        let (header, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
        self.buffered.extend_from_slice(header);
        let Some(len) = self.accepted.len(&self.buffered)? else { return Ok(ControlFlow::Continue(())) };
        let missing = len.saturating_sub(self.buffered.len());
        match rest.split_at_checked(missing) {
            Some((body, rest)) => {
                self.buffered.extend_from_slice(body);
                Ok(ControlFlow::Break(rest))
            }
            None => {
                self.buffered.extend_from_slice(rest);
                Ok(ControlFlow::Continue(()))
            }
        }
    }
}

impl Messages {
    /// The messages that are accepted after this one.
    fn after(self, message: &[u8]) -> Self {
        match (self, message) {
            #[cfg(feature = "packets")]
            (Self::FromServerHello, [SERVER_HELLO, ..]) => Self::All,
            _ => self,
        }
    }

    /// The length of the message at the start of these bytes, including its header, or of its header if it is too long; `None` if the
    /// header is incomplete.
    fn len(self, bytes: &[u8]) -> Result<Option<usize>, TlsError> {
        match (self, bytes) {
            #[cfg(feature = "packets")]
            (Self::All, [kind, ..]) if !matches!(*kind, CLIENT_HELLO | SERVER_HELLO) => {
                let Some([_, a, b, c]) = bytes.first_chunk() else { return Ok(None) };
                let announced = body_len([*a, *b, *c]);
                let read = if announced > MAX_CERTIFICATE_MESSAGE_LEN { 0 } else { announced };
                Ok(Some(HEADER_LEN.saturating_add(read)))
            }
            _ => message_len(bytes),
        }
    }
}

/// Whether a message that was emitted is the header of one that is too long to be read.
#[cfg(feature = "packets")]
pub(crate) fn is_too_long(message: &[u8]) -> bool {
    missing(message) > 0
}

/// The number of bytes of a message after those that were emitted.
fn missing(message: &[u8]) -> u32 {
    let Some([_, a, b, c]) = message.first_chunk() else { return 0 };
    let missing = HEADER_LEN.saturating_add(body_len([*a, *b, *c])).saturating_sub(message.len());
    u32::try_from(missing).unwrap_or(u32::MAX)
}

/// The length of the hello at the start of these bytes, including its header; `None` if the header is incomplete.
pub(crate) fn message_len(bytes: &[u8]) -> Result<Option<usize>, TlsError> {
    if let Some(&kind) = bytes.first()
        && !matches!(kind, CLIENT_HELLO | SERVER_HELLO)
    {
        return Err(TlsError::NotHello(kind));
    }
    let Some([_, a, b, c]) = bytes.first_chunk() else { return Ok(None) };
    let announced = body_len([*a, *b, *c]);
    if announced > MAX_HELLO_BODY_LEN {
        return Err(TlsError::TooLong { announced });
    }
    Ok(Some(HEADER_LEN.saturating_add(announced)))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn message(kind: u8, len: usize) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend(&u32::try_from(len).unwrap().to_be_bytes()[1..]);
        bytes.extend((0..len).map(|n| u8::try_from(n % 251).unwrap()));
        bytes
    }

    #[test]
    fn joins_hellos_for_any_segmentation() {
        let messages = [message(1, 0), message(2, 300), message(1, 7)];
        let bytes = messages.concat();
        for step in 1..=bytes.len() {
            let (mut joiner, mut found) = (MessageJoiner::default(), Vec::new());
            for piece in bytes.chunks(step) {
                joiner.push(piece, &mut |message| found.push(message.to_vec())).unwrap();
            }
            assert_eq!(found, messages, "in steps of {step}");
        }
    }

    #[test]
    fn complete_message_is_not_copied() {
        let (mut joiner, mut found) = (MessageJoiner::default(), 0);
        joiner.push(&message(1, 500), &mut |_| found += 1).unwrap();
        assert_eq!((found, joiner.buffered_bytes()), (1, 0));
    }

    #[cfg(feature = "packets")]
    #[test]
    fn all_messages_are_joined_up_to_their_limit() {
        let messages = [message(2, 70), message(11, 3000), message(14, 0)];
        let (mut joiner, mut found) = (MessageJoiner::default(), Vec::new());
        joiner.accept(Messages::FromServerHello);
        for piece in messages.concat().chunks(7) {
            joiner.push(piece, &mut |message| found.push(message.to_vec())).unwrap();
        }
        assert_eq!(found, messages);
        let long = message(11, MAX_CERTIFICATE_MESSAGE_LEN + 1);
        for step in [1, 7, 5000, usize::MAX] {
            found.clear();
            for piece in [&long[..], &messages[2]].concat().chunks(step) {
                joiner.push(piece, &mut |message| found.push(message.to_vec())).unwrap();
                assert!(joiner.buffered_bytes() <= 8192);
            }
            assert_eq!(found, [long[..HEADER_LEN].to_vec(), messages[2].clone()]);
            assert!(is_too_long(&found[0]) && !is_too_long(&found[1]));
        }
    }

    #[test]
    fn other_message_ends_reading() {
        let mut found = 0;
        let bytes = [message(2, 70), message(11, 3000)].concat();
        let outcome = MessageJoiner::default().push(&bytes, &mut |_| found += 1);
        assert_eq!((outcome, found), (Err(TlsError::NotHello(11)), 1));
        let oversized = [1, 0xff, 0xff, 0xff];
        assert_eq!(
            MessageJoiner::default().push(&oversized, &mut |_| {}),
            Err(TlsError::TooLong { announced: 0xff_ffff })
        );
    }
}
