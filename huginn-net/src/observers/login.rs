//! What follows the key exchange of an SSH connection: a login that fails, or one that succeeds.
//!
//! The lengths of encrypted messages tell. A server answers each failed attempt with SSH_MSG_USERAUTH_FAILURE, which is always as
//! long; SSH_MSG_USERAUTH_SUCCESS has one byte and is shorter than all messages before (RFC 4252, section 5.1). A client that sends a
//! shorter message than SSH_MSG_SERVICE_ACCEPT closes a channel. The figures are in docs/findings.md.

use huginn_net_core::{Segment, Side, TcpFlags, without_padding};

use crate::hosts::SshLogin;

/// Bytes of a side of an SSH connection after its key exchange that no failed login has: six keys of RSA with 3,072 bits take 3 KiB.
const MAX_FAILED_LOGIN_BYTES: u32 = 8 << 10;

/// Different lengths of the messages of a server in a failed login: extensions, service, banner, failure, question and disconnection.
const MAX_FAILED_LOGIN_LENGTHS: usize = 6;

/// Segments of a server from the first sign of a login until it is clear.
const SEGMENTS_AFTER_LOGIN: u32 = 3;

/// SSH_MSG_NEWKEYS as a packet without encryption (RFC 4253, sections 6 and 7.3): 12 bytes, of which 10 are padding. A packet has at
/// least 16 bytes, and padding to a multiple of 8.
const NEW_KEYS: [u8; 6] = [0, 0, 0, 12, 10, 21];

/// Length of that packet, in bytes.
const NEW_KEYS_LEN: usize = 16;

/// Segments of a server before its first answer to an attempt: SSH_MSG_EXT_INFO, SSH_MSG_SERVICE_ACCEPT and the answer to the method
/// `none`.
const FIRST_SEGMENTS: u32 = 3;

/// The encrypted segments of an SSH connection.
#[derive(Debug, Default)]
pub(super) struct LoginProgress {
    client: Encrypted,
    server: Encrypted,
    /// The different lengths of the server.
    lengths: Vec<u32>,
    /// Number of segments of the server since a sign of a login, that with the sign included.
    since_login: u32,
    /// Length of SSH_MSG_SERVICE_ACCEPT.
    accept_len: u32,
    /// Whether the client sent a message that is too short for an attempt.
    closes_channel: bool,
}

/// The encrypted segments of a side.
#[derive(Clone, Copy, Debug, Default)]
struct Encrypted {
    /// The sequence numbers of the first byte and after the last one.
    range: Option<(u32, u32)>,
    segments: u32,
    min_len: u32,
    /// Number of bytes of a message whose last segment has not come.
    begun: u32,
}

impl LoginProgress {
    /// Takes a segment after both SSH_MSG_KEXINITs. Returns what became of the login once it is clear, or a side ends the connection.
    pub(super) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) -> Option<SshLogin> {
        let tcp = segment.tcp()?;
        let payload = without_padding(segment);
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX).saturating_add(segment.payload_missing);
        let Self { client, server, lengths, since_login, closes_channel, accept_len } = self;
        let own = sender.choose(&mut *client, &mut *server);
        let (before, min_len) = (own.segments, own.min_len);
        if let Some(len) = own.add(tcp.first_byte_seq(), payload, len, tcp.flags.contains(TcpFlags::PSH)) {
            match sender {
                Side::Client => *closes_channel |= len < *accept_len,
                Side::Server => {
                    // The second one, unless the server has no extensions: then one that is not shorter follows.
                    if before == 1 {
                        *accept_len = len.min(min_len);
                    }
                    if !lengths.contains(&len) && lengths.len() <= MAX_FAILED_LOGIN_LENGTHS {
                        lengths.push(len);
                    }
                    let is_shortest = before >= FIRST_SEGMENTS && len < min_len;
                    let is_login =
                        is_shortest || lengths.len() > MAX_FAILED_LOGIN_LENGTHS || *since_login > 0;
                    *since_login = since_login.saturating_add(is_login.into());
                }
            }
        }
        let has_login = *since_login > 0 || client.len().max(server.len()) > MAX_FAILED_LOGIN_BYTES;
        if has_login && *since_login < SEGMENTS_AFTER_LOGIN && !is_end(tcp.flags) {
            return None;
        }
        let has_tried = client.segments > 1 && server.segments > 1;
        let is_clear = has_login || is_end(tcp.flags) && !self.closes_channel;
        (is_clear && has_tried).then(|| SshLogin {
            client_bytes: client.len(),
            server_bytes: server.len(),
            is_failed: !has_login,
        })
    }

    /// Heap memory, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>().saturating_add(self.lengths.capacity().saturating_mul(size_of::<u32>()))
    }
}

fn is_end(flags: TcpFlags) -> bool {
    flags.intersects(TcpFlags::FIN | TcpFlags::RST)
}

impl Encrypted {
    /// Adds a segment. Returns the number of encrypted bytes of the message that ends with it: the stack sets PSH at the end of what
    /// the program writes (RFC 9293, section 3.9.1.2).
    fn add(&mut self, seq: u32, payload: &[u8], len: u32, ends_message: bool) -> Option<u32> {
        let end = seq.wrapping_add(len);
        let new = match &mut self.range {
            Some((_, last)) => {
                let new = end.wrapping_sub(*last);
                if new == 0 || new.cast_signed() < 0 {
                    return None;
                }
                *last = end;
                new.min(len)
            }
            None => {
                let found = payload.windows(NEW_KEYS.len()).position(|bytes| *bytes == NEW_KEYS)?;
                let after = u32::try_from(found.saturating_add(NEW_KEYS_LEN)).ok()?.min(len);
                self.range = Some((seq.wrapping_add(after), end));
                len.saturating_sub(after)
            }
        };
        let new = self.begun.saturating_add(new);
        self.begun = if ends_message { 0 } else { new };
        if new == 0 || !ends_message {
            return None;
        }
        if self.segments == 0 {
            self.min_len = new;
        }
        self.segments = self.segments.saturating_add(1);
        self.min_len = self.min_len.min(new);
        Some(new)
    }

    /// Number of encrypted bytes.
    fn len(self) -> u32 {
        self.range.map_or(0, |(first, last)| last.wrapping_sub(first))
    }
}

#[cfg(test)]
mod tests {
    use huginn_net_core::TcpHeader;

    use super::*;

    /// What becomes of a login, by the lengths of encrypted segments: `s` of the server, `c` of the client, `.` for the end. Both sides
    /// send SSH_MSG_NEWKEYS first.
    fn login(segments: &str) -> Option<bool> {
        let mut login = LoginProgress::default();
        let new_keys = [&NEW_KEYS[..], &[0; 10]].concat();
        let (mut seq, mut outcome) = ([0_u32; 2], None);
        let message = TcpFlags::ACK | TcpFlags::PSH;
        let keys = ["s", "c"].into_iter().map(|side| (side, new_keys.clone(), message));
        let others = segments.split(' ').map(|word| match word.split_at(1) {
            (".", _) => ("c", Vec::new(), TcpFlags::FIN | TcpFlags::ACK),
            // `s40+`: more of the message follows.
            (side, len) => match len.strip_suffix('+') {
                Some(len) => (side, vec![0xee; len.parse().unwrap()], TcpFlags::ACK),
                None => (side, vec![0xee; len.parse().unwrap()], message),
            },
        });
        for (side, payload, flags) in keys.chain(others) {
            let (sender, index) = if side == "c" { (Side::Client, 0) } else { (Side::Server, 1) };
            let tcp = TcpHeader {
                src_port: 1,
                dst_port: 2,
                seq: seq[index],
                ack: 0,
                flags,
                window: 0,
                urgent: 0,
                options: &[],
            };
            seq[index] = seq[index].wrapping_add(u32::try_from(payload.len()).unwrap());
            outcome = outcome.or(login.on_segment(&Segment::from_tcp(tcp, &payload), sender));
        }
        outcome.map(|found: SshLogin| found.is_failed)
    }

    /// Lengths recorded with OpenSSH 9.2 and Dropbear 2022.83 as servers; Hydra 9.4, ssh, sshpass and dbclient as clients.
    #[test]
    fn failed_logins_are_told_from_commands() {
        for failed in [
            "s316 c44 s44 c60 s52 c52 .",
            "s316 c44 s44 c60 s52 c84 s52 .",
            "s316 c44 s44 c60 s52 c76 s52 c76 s52 c76 s52 c76 s52 c76 s52 c76 s76 .",
            "s316 c44 s44 c60 s52 c140 s52 c492 s52 .",
            "s220 c44 s44 c60 s52 c76 s52 c76 s52 c76 s52 c76 s52 c76 s52 c76 s52 .",
            "s220 c104 s44 s52 c68 s52 c68 s52 c68 s52 c68 s52 c68 s52 c68 s52 c68 .",
            "c64 s64 c80 s80 .",
            // The first message of the server does not fit into a segment.
            "s200+ s116 c44 s44 c60 s52 c84 s52 .",
        ] {
            assert_eq!(login(failed), Some(true), "{failed}");
        }
        for done in [
            "s316 c44 s44 c60 s52 c140 s100 c308 s28 c112 s776 s192 c112 s72 c36 s124 c36 c60 .",
            "s316 c44 s44 c60 s52 c148 s28 c112 s628 s44 c112 s72 c36 s124 c36 c60 .",
            "s316 c44 s44 c60 s52 c148 s28 c112 s116 s44 c112 s72 c36 s36 s88 c36 c60 .",
            "s316 c44 s44 c60 s52 c140 s100 c308 s28 c60 s776 s148 c60 .",
            "s316 c44 s44 c60 s52 c76 s52 c76 s52 c84 s28 s628 .",
            "s220 c44 s44 c60 s52 c148 s36 c52 s44 c112 c36 s36 s36 s88 c36 c60 .",
            "s220 c104 s44 s52 c84 s36 c52 s44 c52 c36 s36 s88 c36 .",
        ] {
            assert_eq!(login(done), Some(false), "{done}");
        }
    }

    #[test]
    fn connections_without_attempt_are_not_logins() {
        assert_eq!(login("s316 ."), None, "host keys were asked for");
        assert_eq!(login("s316 c44 s44 c60 s52"), None, "still open");
        let first_try = "s220 c44 s44 c148 s36 c52 s44 c112 c36 s36 s36 s88 c36 c60 .";
        assert_eq!(login(first_try), None, "the first message may be a failure");
    }
}
