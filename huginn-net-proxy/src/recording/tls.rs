//! The end of a ClientHello in TLS records.

use super::Found;

/// Content types of records (RFC 8446, section 5.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// The level of alerts that do not end a connection (RFC 5246, section 7.2).
const WARNING: u8 = 1;
/// Length of the record of an alert, in bytes.
const ALERT_RECORD_LEN: usize = RECORD_HEADER_LEN + 2;
/// Length of a record header, in bytes.
const RECORD_HEADER_LEN: usize = 5;
/// Maximum length of a fragment, in bytes (RFC 5246, section 6.2.3).
const MAX_FRAGMENT_LEN: usize = (1 << 14) + 2048;
/// Handshake type of a ClientHello (RFC 8446, section 4).
const CLIENT_HELLO: u8 = 1;
/// Length of the header of a handshake message, in bytes.
const MESSAGE_HEADER_LEN: usize = 4;

/// Finds the end of a ClientHello, which may span records of any size.
#[derive(Clone, Debug, Default)]
pub(super) struct HelloEnd {
    /// Offset of the first handshake record. Warnings may precede it: rustls accepts up to four.
    start: usize,
    /// Offset of the current record.
    record: usize,
    /// Bytes of the message in earlier records.
    joined: usize,
    /// The first bytes of the message.
    header: [u8; MESSAGE_HEADER_LEN],
}

impl HelloEnd {
    /// Offset of the first handshake record.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Continues the search in the bytes so far. Each record header is read once.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Found {
        loop {
            let record = bytes.get(self.record..).unwrap_or_default();
            match record.first() {
                Some(&ALERT) if self.record == self.start => match record.first_chunk() {
                    Some([_, _, _, 0, 2, WARNING, _]) => {
                        self.record = self.record.saturating_add(ALERT_RECORD_LEN);
                        self.start = self.record;
                        continue;
                    }
                    Some(_) => return Found::Other,
                    None => return Found::NotBefore(Some(self.record.saturating_add(ALERT_RECORD_LEN))),
                },
                None | Some(&HANDSHAKE) => {}
                Some(_) => return Found::Other,
            }
            let start = self.record.saturating_add(RECORD_HEADER_LEN);
            let Some((&[_, _, _, high, low], rest)) = record.split_first_chunk() else {
                return Found::NotBefore(Some(start));
            };
            let len = usize::from(u16::from_be_bytes([high, low]));
            if len == 0 || len > MAX_FRAGMENT_LEN {
                return Found::Other;
            }
            let fragment = rest.get(..len).unwrap_or(rest);
            let available = self.joined.saturating_add(fragment.len());
            for (target, byte) in self.header.iter_mut().skip(self.joined).zip(fragment) {
                *target = *byte;
            }
            let [kind, header @ ..] = self.header;
            if available > 0 && kind != CLIENT_HELLO {
                return Found::Other;
            }
            let header = (available >= MESSAGE_HEADER_LEN).then_some(header);
            let message = header.map_or(MESSAGE_HEADER_LEN, message_len);
            let missing = message.saturating_sub(self.joined);
            if missing > len {
                // Another record follows this one. Its header comes first.
                let next = start.saturating_add(len);
                if fragment.len() < len {
                    let rest = missing.saturating_sub(len);
                    return Found::NotBefore(Some(if header.is_some() {
                        next.saturating_add(rest)
                    } else {
                        next
                    }));
                }
                self.joined = self.joined.saturating_add(len);
                self.record = next;
            } else if header.is_some() && missing <= fragment.len() {
                return Found::End(start.saturating_add(missing));
            } else {
                return Found::NotBefore(Some(start.saturating_add(missing)));
            }
        }
    }
}

fn message_len([a, b, c]: [u8; 3]) -> usize {
    let body = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
    body.saturating_add(MESSAGE_HEADER_LEN)
}
