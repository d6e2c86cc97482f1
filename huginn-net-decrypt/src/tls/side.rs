//! One side of a connection: its records and its keys.

use std::fmt;

use huginn_net_wire::Side;
use zeroize::Zeroizing;

use super::cipher::{Opened, RecordCipher};
use super::compressed::CompressedCertificates;
use super::messages::MessageJoiner;
use super::{ALERT, HANDSHAKE, Stop};
use crate::limits::MAX_FRAGMENT_LEN;

/// Length of a record header, in bytes.
pub(super) const HEADER_LEN: usize = 5;

/// The state of one side.
#[derive(Default)]
pub(super) struct SideState {
    /// Bytes that are not read, from `start` on.
    bytes: Vec<u8>,
    start: usize,
    pub(super) messages: MessageJoiner,
    pub(super) certificates: CompressedCertificates,
    /// Whether the side has sent records.
    pub(super) has_begun: bool,
    /// Whether its records are encrypted.
    pub(super) is_encrypted: bool,
    /// Whether its records are passed over, because its secret is not known.
    pub(super) is_unknown: bool,
    /// Whether its records wait for a secret of their key that may still come.
    pub(super) awaits_key: bool,
    pub(super) cipher: Option<RecordCipher>,
    /// The cipher after early data.
    pub(super) next: Option<RecordCipher>,
    /// Whether the keys are those of the application.
    pub(super) has_application_keys: bool,
    /// Whether a record was authentic with the current keys.
    pub(super) is_proven: bool,
    /// Number of records that may still fail authentication.
    pub(super) may_refuse: u32,
}

/// The header of a record.
#[derive(Clone, Copy)]
pub(super) struct RecordHeader {
    pub(super) bytes: [u8; HEADER_LEN],
    /// Length of header and fragment.
    len: usize,
}

impl SideState {
    /// Whether the records of a side have begun, or begin with these bytes.
    pub(super) fn begins(&mut self, side: Side, bytes: &[u8]) -> bool {
        self.has_begun |= match bytes {
            [kind @ (HANDSHAKE | ALERT), 3, ..] => side == Side::Server || *kind == HANDSHAKE,
            [HANDSHAKE] => true,
            _ => false,
        };
        self.has_begun
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The header of the next record; `None` if it is not complete.
    pub(super) fn header(&self) -> Result<Option<RecordHeader>, Stop> {
        let unread = self.bytes.get(self.start..).unwrap_or_default();
        let Some(bytes @ [kind, major, _, high, low]) = unread.first_chunk().copied() else {
            return Ok(None);
        };
        let len = usize::from(u16::from_be_bytes([high, low]));
        // Types up to those of heartbeats.
        if major != 3 || !(20..=24).contains(&kind) || len > MAX_FRAGMENT_LEN {
            return Err(Stop::Malformed);
        }
        Ok(Some(RecordHeader { bytes, len: HEADER_LEN.saturating_add(len) }))
    }

    /// Takes the buffer that holds the next record, if it is complete.
    pub(super) fn take_record(&mut self, header: &RecordHeader) -> Option<Record> {
        let end = self.start.checked_add(header.len)?;
        if self.bytes.len() < end {
            return None;
        }
        Some(Record { bytes: std::mem::take(&mut self.bytes), start: self.start, end })
    }

    /// Continues after a record.
    pub(super) fn finish_record(&mut self, record: Record) {
        let Record { mut bytes, end, .. } = record;
        if bytes.len() == end {
            bytes.clear();
            // What is kept between segments is at most one record.
            bytes.shrink_to(MAX_FRAGMENT_LEN.saturating_add(HEADER_LEN));
            self.start = 0;
        } else {
            self.start = end;
        }
        self.bytes = bytes;
        self.compact();
    }

    /// Moves the unread bytes to the front, once a lot was read.
    fn compact(&mut self) {
        if self.start > MAX_FRAGMENT_LEN
            || self.header().is_ok_and(|header| header.is_none_or(|header| self.is_cut(&header)))
        {
            self.bytes.drain(..self.start.min(self.bytes.len()));
            self.start = 0;
        }
    }

    fn is_cut(&self, header: &RecordHeader) -> bool {
        self.start.saturating_add(header.len) > self.bytes.len()
    }

    /// Puts a record back that has to wait.
    pub(super) fn give_back(&mut self, record: Record) {
        (self.bytes, self.start) = (record.bytes, record.start);
    }

    /// Decrypts a record in place; `None` if it is passed over.
    pub(super) fn open(
        &mut self,
        header: [u8; HEADER_LEN],
        fragment: &mut [u8],
    ) -> Result<Option<Opened>, Stop> {
        let Some(cipher) = &mut self.cipher else { return Err(Stop::NoSecret) };
        // Decryption changes the fragment, and a second key may be tried.
        let copy = self.next.is_some().then(|| Zeroizing::new(fragment.to_vec()));
        let mut opened = cipher.open(header, fragment);
        if opened.is_none()
            && let (Some(next), Some(copy)) = (&mut self.next, copy)
        {
            fragment.copy_from_slice(&copy);
            opened = next.open(header, fragment);
            if opened.is_some() {
                // The server rejected the early data; the client goes on with the keys of the handshake.
                self.cipher = self.next.take();
            }
        }
        if opened.is_some() {
            self.is_proven = true;
            if self.next.is_none() {
                self.may_refuse = 0;
            }
        } else if self.may_refuse > 0 {
            self.may_refuse = self.may_refuse.saturating_sub(1);
        } else {
            return Err(Stop::NotAuthentic);
        }
        Ok(opened)
    }

    /// Returns the number of bytes that are not read.
    pub(super) fn unread(&self) -> usize {
        self.bytes.len().saturating_sub(self.start)
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.bytes.capacity().saturating_add(self.messages.buffered_bytes())
    }
}

/// Omits the bytes: they may be plaintext.
impl fmt::Debug for SideState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SideState")
            .field("unread", &self.unread())
            .field("cipher", &self.cipher)
            .field("has_application_keys", &self.has_application_keys)
            .finish_non_exhaustive()
    }
}

/// A complete record, in the buffer of its side.
pub(super) struct Record {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl std::ops::Deref for Record {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }
}

impl std::ops::DerefMut for Record {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..self.end).unwrap_or_default()
    }
}
