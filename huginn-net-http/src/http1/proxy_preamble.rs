//! Proxy preambles before HTTP: SOCKS 4 and 4a, SOCKS 5 (RFC 1928, RFC 1929), and the PROXY protocol, versions 1 and 2
//! (HAProxy's `proxy-protocol.txt`).

use huginn_net_wire::{Cursor, Truncated};

use crate::Role;
use crate::limits::MAX_PREAMBLE_LEN;

const PROXY_V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const PROXY_V1_PREFIX: &[u8] = b"PROXY ";
/// Maximum length of a PROXY protocol line, in bytes.
const MAX_PROXY_LINE_LEN: usize = 107;

/// Why no preamble was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreambleError {
    /// The preamble is incomplete.
    Partial,
    /// The bytes are not a preamble.
    Absent,
}

impl From<Truncated> for PreambleError {
    fn from(_: Truncated) -> Self {
        Self::Partial
    }
}

/// The length of the preamble at the start of a direction, in bytes.
pub(super) fn preamble_len(role: Role, bytes: &[u8]) -> Result<usize, PreambleError> {
    let mut cursor = Cursor::new(bytes);
    match (role, cursor.u8()?) {
        (Role::Request, 4) => socks4_request(&mut cursor)?,
        (Role::Request, 5) => socks5_request(&mut cursor)?,
        (Role::Request, b'P') => proxy_v1(&mut cursor)?,
        (Role::Request, b'\r') => proxy_v2(&mut cursor)?,
        (Role::Response, 0) => {
            expect(&mut cursor, &[0x5a])?;
            cursor.skip(6)?;
        }
        (Role::Response, 5) => socks5_response(&mut cursor)?,
        _ => return Err(PreambleError::Absent),
    }
    Ok(cursor.position())
}

/// Parses `CONNECT`: a port, an address, a user and, for address 0.0.0.x, a host name.
fn socks4_request(cursor: &mut Cursor<'_>) -> Result<(), PreambleError> {
    expect(cursor, &[1])?;
    cursor.skip(2)?;
    let [a, b, c, d] = cursor.array()?;
    let has_name = [a, b, c] == [0; 3] && d != 0;
    for _ in 0..=usize::from(has_name) {
        let end = cursor.rest().iter().position(|&byte| byte == 0);
        match end {
            Some(end @ ..=255) => cursor.skip(end.saturating_add(1))?,
            None if cursor.remaining() <= 255 => return Err(PreambleError::Partial),
            _ => return Err(PreambleError::Absent),
        }
    }
    Ok(())
}

/// Parses the offered methods, name and password if used, and `CONNECT` to an address.
fn socks5_request(cursor: &mut Cursor<'_>) -> Result<(), PreambleError> {
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
fn socks5_response(cursor: &mut Cursor<'_>) -> Result<(), PreambleError> {
    match cursor.u8()? {
        0 => {}
        2 => expect(cursor, &[1, 0])?,
        _ => return Err(PreambleError::Absent),
    }
    expect(cursor, &[5, 0])?;
    socks5_address(cursor)
}

fn socks5_address(cursor: &mut Cursor<'_>) -> Result<(), PreambleError> {
    expect(cursor, &[0])?;
    let length = match cursor.u8()? {
        1 => 4,
        3 => usize::from(cursor.u8()?),
        4 => 16,
        _ => return Err(PreambleError::Absent),
    };
    Ok(cursor.skip(length.saturating_add(2))?)
}

fn proxy_v1(cursor: &mut Cursor<'_>) -> Result<(), PreambleError> {
    expect(cursor, PROXY_V1_PREFIX.get(1..).unwrap_or_default())?;
    let line = cursor.rest();
    match memchr::memchr(b'\n', line.get(..MAX_PROXY_LINE_LEN).unwrap_or(line)) {
        Some(end) if line.get(..end).is_some_and(|line| line.ends_with(b"\r") && !line.contains(&b'/')) => {
            Ok(cursor.skip(end.saturating_add(1))?)
        }
        None if line.len() < MAX_PROXY_LINE_LEN => Err(PreambleError::Partial),
        _ => Err(PreambleError::Absent),
    }
}

fn proxy_v2(cursor: &mut Cursor<'_>) -> Result<(), PreambleError> {
    expect(cursor, PROXY_V2_SIGNATURE.get(1..).unwrap_or_default())?;
    cursor.skip(2)?;
    let length = cursor.u16_be()?;
    if usize::from(length) > MAX_PREAMBLE_LEN.saturating_sub(16) {
        return Err(PreambleError::Absent);
    }
    Ok(cursor.skip(length.into())?)
}

/// Requires these bytes.
fn expect(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<(), PreambleError> {
    for &byte in bytes {
        if cursor.u8()? != byte {
            return Err(PreambleError::Absent);
        }
    }
    Ok(())
}
