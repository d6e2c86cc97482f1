//! What may precede the protocol of a connection: SOCKS 4 and 4a, SOCKS 5 (RFC 1928, RFC 1929), the PROXY protocol,
//! versions 1 and 2 (HAProxy's `proxy-protocol.txt`), and CONNECT (RFC 9110, section 9.3.6).

use crate::limits::{MAX_CONNECT_HEAD_LEN, MAX_PROXY_PREFIX_LEN};
use crate::{Cursor, Side, Truncated};

const PROXY_V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const PROXY_V1_PREFIX: &[u8] = b"PROXY ";
/// Maximum length of a PROXY protocol line, in bytes.
const MAX_PROXY_LINE_LEN: usize = 107;

/// Skips the proxy prefixes of one direction of a connection, from its first byte, in pieces of any length.
///
/// It buffers at most 8 KiB, the longest head of CONNECT. Longer ones count as part of the protocol.
///
/// ```
/// use huginn_net_wire::{ProxyPrefix, Side, Skipped};
///
/// let mut prefix = ProxyPrefix::with_connect(Side::Client);
/// assert_eq!(prefix.push(b"PROXY TCP4 192.0.2.1 192.0.2.2 40000 22\r"), Skipped::All);
/// assert_eq!(prefix.push(b"\nCONNECT a.example:22 HTTP/1.1\r\n\r\nSSH-2.0-"), Skipped::To(34));
///
/// let mut prefix = ProxyPrefix::new(Side::Client);
/// assert_eq!(prefix.push(b"PR"), Skipped::All);
/// assert_eq!(prefix.push(b"I * HTTP/2.0"), Skipped::Other(b"PRI * HTTP/2.0".to_vec()));
/// ```
#[derive(Debug)]
pub struct ProxyPrefix {
    /// The start of an incomplete prefix.
    buffer: Vec<u8>,
    side: Side,
    skips_connect: bool,
    has_skipped: bool,
}

/// Where the protocol of a connection begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// After this piece.
    All,
    /// After these bytes of this piece.
    To(usize),
    /// With these bytes, which include this piece: what looked like a prefix is not one.
    Other(Vec<u8>),
}

impl ProxyPrefix {
    /// Creates a value for a direction. CONNECT is part of the protocol.
    pub const fn new(side: Side) -> Self {
        Self { buffer: Vec::new(), side, skips_connect: false, has_skipped: false }
    }

    /// Creates a value for a direction that skips CONNECT too.
    pub const fn with_connect(side: Side) -> Self {
        Self { buffer: Vec::new(), side, skips_connect: true, has_skipped: false }
    }

    /// Skips the prefixes in the next bytes.
    ///
    /// After it returns a value other than [`Skipped::All`], the protocol has begun: push nothing more.
    pub fn push(&mut self, bytes: &[u8]) -> Skipped {
        let before = self.buffer.len();
        if before > 0 {
            self.buffer.extend_from_slice(bytes);
        }
        let all = if before > 0 { &self.buffer } else { bytes };
        let mut taken: usize = 0;
        while let Some(rest) = all.get(taken..).filter(|rest| !rest.is_empty()) {
            let scanned = if taken == 0 { before } else { 0 };
            match prefix_len(self.side, self.skips_connect, rest, scanned) {
                Ok(len) => {
                    self.has_skipped = true;
                    taken = taken.saturating_add(len);
                }
                Err(PrefixError::Partial) => {
                    if before == 0 {
                        self.buffer = rest.to_vec();
                    } else {
                        self.buffer.drain(..taken);
                    }
                    return Skipped::All;
                }
                Err(PrefixError::Absent) if taken < before => {
                    return Skipped::Other(std::mem::take(&mut self.buffer).split_off(taken));
                }
                Err(PrefixError::Absent) => break,
            }
        }
        let skipped =
            if taken == all.len() { Skipped::All } else { Skipped::To(taken.saturating_sub(before)) };
        self.buffer = Vec::new();
        skipped
    }

    /// Whether a prefix was skipped.
    pub const fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    /// Takes the start of an incomplete prefix.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// Returns the heap memory of the value, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Whether a direction with these first bytes begins with a prefix, or may do so.
    pub fn may_begin_with(&self, first: &[u8]) -> bool {
        prefix_len(self.side, self.skips_connect, first, 0) != Err(PrefixError::Absent)
    }
}

/// Returns the first bytes of a direction without complete proxy prefixes and heads of CONNECT.
pub fn after_proxy_prefixes(side: Side, first: &[u8]) -> &[u8] {
    let mut rest = first;
    while let Some(after) = prefix_len(side, true, rest, 0).ok().and_then(|len| rest.get(len..)) {
        rest = after;
    }
    rest
}

/// Why no prefix was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrefixError {
    /// The prefix is incomplete.
    Partial,
    /// The bytes are not a prefix.
    Absent,
}

impl From<Truncated> for PrefixError {
    fn from(_: Truncated) -> Self {
        Self::Partial
    }
}

/// Returns the length of the prefix at the start of a direction, in bytes. `scanned`: the first bytes that an earlier call read.
fn prefix_len(side: Side, connect: bool, bytes: &[u8], scanned: usize) -> Result<usize, PrefixError> {
    let mut cursor = Cursor::new(bytes);
    match (side, cursor.u8()?) {
        (Side::Client, 4) => socks4_request(&mut cursor)?,
        (Side::Client, 5) => socks5_request(&mut cursor)?,
        (Side::Client, b'P') => proxy_v1(&mut cursor)?,
        (Side::Client, b'\r') => proxy_v2(&mut cursor)?,
        (Side::Client, b'C') if connect => http_head(&mut cursor, b"ONNECT ", scanned)?,
        (Side::Server, 0) => {
            expect(&mut cursor, &[0x5a])?;
            cursor.skip(6)?;
        }
        (Side::Server, 5) => socks5_response(&mut cursor)?,
        (Side::Server, b'H') if connect => http_response(&mut cursor, scanned)?,
        _ => return Err(PrefixError::Absent),
    }
    Ok(cursor.position())
}

/// Parses `CONNECT`: a port, an address, a user and, for address 0.0.0.x, a host name.
fn socks4_request(cursor: &mut Cursor<'_>) -> Result<(), PrefixError> {
    expect(cursor, &[1])?;
    cursor.skip(2)?;
    let [a, b, c, d] = cursor.array()?;
    let has_name = [a, b, c] == [0; 3] && d != 0;
    for _ in 0..=usize::from(has_name) {
        let end = cursor.rest().iter().position(|&byte| byte == 0);
        match end {
            Some(end @ ..=255) => cursor.skip(end.saturating_add(1))?,
            None if cursor.remaining() <= 255 => return Err(PrefixError::Partial),
            _ => return Err(PrefixError::Absent),
        }
    }
    Ok(())
}

/// Parses the offered methods, name and password if used, and `CONNECT` to an address.
fn socks5_request(cursor: &mut Cursor<'_>) -> Result<(), PrefixError> {
    let methods = cursor.u8()?;
    cursor.skip(methods.into())?;
    if cursor.u8()? == 1 {
        for _ in 0..2 {
            let length = cursor.u8()?;
            cursor.skip(length.into())?;
        }
        expect(cursor, &[5])?;
    }
    expect(cursor, &[1])?;
    socks5_address(cursor)
}

/// Parses the chosen method, the authentication status and the success of the connection.
fn socks5_response(cursor: &mut Cursor<'_>) -> Result<(), PrefixError> {
    match cursor.u8()? {
        0 => {}
        2 => expect(cursor, &[1, 0])?,
        _ => return Err(PrefixError::Absent),
    }
    expect(cursor, &[5, 0])?;
    socks5_address(cursor)
}

fn socks5_address(cursor: &mut Cursor<'_>) -> Result<(), PrefixError> {
    expect(cursor, &[0])?;
    let length = match cursor.u8()? {
        1 => 4,
        3 => usize::from(cursor.u8()?),
        4 => 16,
        _ => return Err(PrefixError::Absent),
    };
    Ok(cursor.skip(length.saturating_add(2))?)
}

fn proxy_v1(cursor: &mut Cursor<'_>) -> Result<(), PrefixError> {
    expect(cursor, PROXY_V1_PREFIX.get(1..).unwrap_or_default())?;
    let line = cursor.rest();
    let end = line.iter().take(MAX_PROXY_LINE_LEN).position(|byte| *byte == b'\n');
    match end {
        Some(end) if line.get(..end).is_some_and(|line| line.ends_with(b"\r") && !line.contains(&b'/')) => {
            Ok(cursor.skip(end.saturating_add(1))?)
        }
        None if line.len() < MAX_PROXY_LINE_LEN => Err(PrefixError::Partial),
        _ => Err(PrefixError::Absent),
    }
}

fn proxy_v2(cursor: &mut Cursor<'_>) -> Result<(), PrefixError> {
    expect(cursor, PROXY_V2_SIGNATURE.get(1..).unwrap_or_default())?;
    cursor.skip(2)?;
    let length = cursor.u16_be()?;
    if usize::from(length) > MAX_PROXY_PREFIX_LEN.saturating_sub(16) {
        return Err(PrefixError::Absent);
    }
    Ok(cursor.skip(length.into())?)
}

/// Parses a head that continues with `start`, up to its empty line.
fn http_head(cursor: &mut Cursor<'_>, start: &[u8], scanned: usize) -> Result<(), PrefixError> {
    expect(cursor, start)?;
    // An empty line that the last bytes of an earlier piece begin ends with this one.
    let unread = scanned.saturating_sub(3).saturating_sub(cursor.position());
    let rest = cursor.rest();
    let mut after_line_end = false;
    for (offset, byte) in rest.iter().enumerate().skip(unread).take(MAX_CONNECT_HEAD_LEN) {
        match byte {
            b'\n' if after_line_end => return Ok(cursor.skip(offset.saturating_add(1))?),
            b'\n' => after_line_end = true,
            b'\r' => {}
            0 => return Err(PrefixError::Absent),
            _ => after_line_end = false,
        }
    }
    if rest.len() < MAX_CONNECT_HEAD_LEN { Err(PrefixError::Partial) } else { Err(PrefixError::Absent) }
}

/// Parses a response that opens a tunnel: one with a status 2xx.
fn http_response(cursor: &mut Cursor<'_>, scanned: usize) -> Result<(), PrefixError> {
    expect(cursor, b"TTP/1.")?;
    cursor.skip(1)?;
    http_head(cursor, b" 2", scanned)
}

/// Requires these bytes.
fn expect(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<(), PrefixError> {
    for &byte in bytes {
        if cursor.u8()? != byte {
            return Err(PrefixError::Absent);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]
mod tests {
    use super::*;

    /// Skips in pieces of this length, and returns what is left.
    fn left(side: Side, bytes: &[u8], step: usize) -> Vec<u8> {
        let mut prefix = ProxyPrefix::with_connect(side);
        for (index, piece) in bytes.chunks(step).enumerate() {
            let end = index * step + piece.len();
            match prefix.push(piece) {
                Skipped::All => {}
                Skipped::To(len) => return bytes[index * step + len..].to_vec(),
                Skipped::Other(first) => return [&first, &bytes[end..]].concat(),
            }
        }
        prefix.take_bytes()
    }

    #[test]
    fn skips_any_number_of_prefixes_in_pieces_of_any_length() {
        let v2 = [PROXY_V2_SIGNATURE, &[0x21, 0x11, 0, 15], &[1; 12], &[3, 0, 0]].concat();
        let client: [&[u8]; 9] = [
            b"",
            b"PROXY UNKNOWN\r\n",
            &v2,
            b"\x04\x01\0\x16\xc0\0\x02\x01user\0",
            b"\x04\x01\0\x16\0\0\0\x01\0a.example\0",
            b"\x05\x01\0\x05\x01\0\x01\xc0\0\x02\x01\0\x16",
            b"\x05\x02\0\x02\x01\x04user\x04pass\x05\x01\0\x03\x09a.example\0\x16",
            b"CONNECT a.example:22 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"CONNECT a.example:22 HTTP/1.0\n\n",
        ];
        for first in client {
            for second in client {
                let bytes = [first, second, b"SSH-2.0-x\r\n"].concat();
                for step in [1, 2, 3, 7, 1000] {
                    assert_eq!(left(Side::Client, &bytes, step), b"SSH-2.0-x\r\n", "{bytes:?}, {step}");
                }
                assert_eq!(after_proxy_prefixes(Side::Client, &bytes), b"SSH-2.0-x\r\n");
            }
        }
        let server: [&[u8]; 5] = [
            b"",
            b"\0\x5a\0\x16\0\0\0\0",
            b"\x05\0\x05\0\0\x01\0\0\0\0\0\0",
            b"\x05\x02\x01\0\x05\0\0\x03\x01a\0\0",
            b"HTTP/1.1 200 OK\r\nVia: a\r\n\r\n",
        ];
        for first in server {
            let bytes = [first, b"SSH-2.0-x\r\n"].concat();
            for step in [1, 2, 3, 7, 1000] {
                assert_eq!(left(Side::Server, &bytes, step), b"SSH-2.0-x\r\n", "{bytes:?}, {step}");
            }
        }
    }

    #[test]
    fn other_bytes_are_left_as_they_are() {
        let long = [&b"CONNECT a HTTP/1.1\r\n"[..], &[b'x'; MAX_CONNECT_HEAD_LEN]].concat();
        for bytes in [
            &b"PRI * HTTP/2.0"[..],
            b"POST / HTTP/1.1\r\n",
            b"\x16\x03\x01\0\x01\x01",
            b"\x05\x01\0\x05\x02rest",
            b"\r\n\r\nGET / HTTP/1.1",
            b"CONNECTED to a server",
            b"CONNECT a\0b",
            &long,
        ] {
            for step in [1, 3, 10_000] {
                assert_eq!(left(Side::Client, bytes, step), bytes, "{bytes:?}, {step}");
            }
        }
        assert_eq!(left(Side::Server, b"HTTP/1.1 407 No\r\n\r\n", 1), b"HTTP/1.1 407 No\r\n\r\n");
        assert_eq!(left(Side::Server, b"\x05\xff", 1), b"\x05\xff");
    }
}
