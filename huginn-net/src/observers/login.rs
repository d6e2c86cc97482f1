//! What follows the key exchange of an SSH connection.

use huginn_net_core::{Segment, Side, TcpFlags, Timestamp, without_padding};

use crate::hosts::SshLogin;
use crate::limits::MAX_LOGIN_BYTES;

/// SSH_MSG_NEWKEYS as a packet without encryption (RFC 4253, sections 6 and 7.3): 12 bytes, of which 10 are padding. A packet has at
/// least 16 bytes, and padding to a multiple of 8.
const NEW_KEYS: [u8; 6] = [0, 0, 0, 12, 10, 21];

/// Length of that packet, in bytes.
const NEW_KEYS_LEN: usize = 16;

/// Counts the bytes that both sides of an SSH connection send after SSH_MSG_NEWKEYS.
#[derive(Debug)]
pub(super) struct LoginProgress {
    began: Timestamp,
    client: Encrypted,
    server: Encrypted,
}

/// The encrypted bytes of a side.
#[derive(Clone, Copy, Debug, Default)]
struct Encrypted {
    /// The sequence numbers of the first byte and after the last one.
    range: Option<(u32, u32)>,
}

impl LoginProgress {
    /// Starts after both SSH_MSG_KEXINITs.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { began: now, client: Encrypted::default(), server: Encrypted::default() }
    }

    /// Takes a segment. Returns the numbers once a side ends the connection, or sends more than a login takes.
    pub(super) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) -> Option<SshLogin> {
        let tcp = segment.tcp()?;
        let payload = without_padding(segment);
        let Self { client, server, began } = self;
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX).saturating_add(segment.payload_missing);
        sender.choose(&mut *client, &mut *server).add(tcp.first_byte_seq(), payload, len);
        let is_over = tcp.flags.intersects(TcpFlags::FIN | TcpFlags::RST);
        let [client_bytes, server_bytes] = [client.len(), server.len()];
        (is_over || client_bytes.max(server_bytes) > MAX_LOGIN_BYTES).then(|| SshLogin {
            client_bytes,
            server_bytes,
            millis: u32::try_from(segment.ts.as_millis().saturating_sub(began.as_millis()))
                .unwrap_or(u32::MAX),
            is_over,
        })
    }
}

impl Encrypted {
    fn add(&mut self, seq: u32, payload: &[u8], len: u32) {
        let end = seq.wrapping_add(len);
        match &mut self.range {
            Some((_, last)) if end.wrapping_sub(*last).cast_signed() > 0 => *last = end,
            Some(_) => {}
            None => {
                let found = payload.windows(NEW_KEYS.len()).position(|bytes| *bytes == NEW_KEYS);
                let after = found.map(|at| at.saturating_add(NEW_KEYS_LEN));
                let after = after.and_then(|after| u32::try_from(after).ok());
                self.range = after.map(|after| (seq.wrapping_add(after), end));
            }
        }
    }

    fn len(self) -> u32 {
        let len = self.range.map_or(0, |(first, last)| last.wrapping_sub(first));
        // The packet may be cut off.
        if len > i32::MAX.cast_unsigned() { 0 } else { len }
    }
}
