//! What may be said before HTTP: SOCKS 4 and 4a, SOCKS 5 (RFC 1928, RFC 1929), the PROXY protocol, versions 1 and 2
//! (HAProxy's `proxy-protocol.txt`).

use huginn_net_wire::{Cursor, Truncated};

use crate::Role;

/// The longest greeting: SOCKS 5 with the longest method list, name, password and host.
pub(super) const MAX_GREETING: usize = 2 + 255 + 3 + 2 * 255 + 4 + 1 + 255 + 2;

const PROXY_V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const PROXY_V1: &[u8] = b"PROXY ";
/// The longest line of the PROXY protocol, in bytes.
const MAX_PROXY_LINE: usize = 107;

/// Why there is no greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoGreeting {
    /// It is not all there yet.
    Partial,
    /// These bytes begin none.
    Absent,
}

impl From<Truncated> for NoGreeting {
    fn from(_: Truncated) -> Self {
        Self::Partial
    }
}

/// How many bytes of greeting a direction begins with.
pub(super) fn length(role: Role, bytes: &[u8]) -> Result<usize, NoGreeting> {
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
        _ => return Err(NoGreeting::Absent),
    }
    Ok(cursor.position())
}

/// `CONNECT`, a port, an address, a user and, where the address is 0.0.0.x, a host name.
fn socks4_request(cursor: &mut Cursor<'_>) -> Result<(), NoGreeting> {
    expect(cursor, &[1])?;
    cursor.skip(2)?;
    let [a, b, c, d] = cursor.array()?;
    let has_name = [a, b, c] == [0; 3] && d != 0;
    for _ in 0..=usize::from(has_name) {
        let end = cursor.rest().iter().position(|&byte| byte == 0);
        match end {
            Some(end @ ..=255) => cursor.skip(end.saturating_add(1))?,
            None if cursor.remaining() <= 255 => return Err(NoGreeting::Partial),
            _ => return Err(NoGreeting::Absent),
        }
    }
    Ok(())
}

/// The methods offered, name and password if they are asked for, and `CONNECT` to an address.
fn socks5_request(cursor: &mut Cursor<'_>) -> Result<(), NoGreeting> {
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

/// The method chosen, whether name and password were right, and that the connection stands.
fn socks5_response(cursor: &mut Cursor<'_>) -> Result<(), NoGreeting> {
    match cursor.u8()? {
        0 => {}
        2 => expect(cursor, &[1, 0])?,
        _ => return Err(NoGreeting::Absent),
    }
    expect(cursor, &[5, 0])?;
    socks5_address(cursor)
}

fn socks5_address(cursor: &mut Cursor<'_>) -> Result<(), NoGreeting> {
    expect(cursor, &[0])?;
    let length = match cursor.u8()? {
        1 => 4,
        3 => usize::from(cursor.u8()?),
        4 => 16,
        _ => return Err(NoGreeting::Absent),
    };
    Ok(cursor.skip(length.saturating_add(2))?)
}

fn proxy_v1(cursor: &mut Cursor<'_>) -> Result<(), NoGreeting> {
    expect(cursor, PROXY_V1.get(1..).unwrap_or_default())?;
    let line = cursor.rest();
    match memchr::memchr(b'\n', line.get(..MAX_PROXY_LINE).unwrap_or(line)) {
        Some(end) if line.get(..end).is_some_and(|line| line.ends_with(b"\r") && !line.contains(&b'/')) => {
            Ok(cursor.skip(end.saturating_add(1))?)
        }
        None if line.len() < MAX_PROXY_LINE => Err(NoGreeting::Partial),
        _ => Err(NoGreeting::Absent),
    }
}

fn proxy_v2(cursor: &mut Cursor<'_>) -> Result<(), NoGreeting> {
    expect(cursor, PROXY_V2.get(1..).unwrap_or_default())?;
    cursor.skip(2)?;
    let length = cursor.u16_be()?;
    if usize::from(length) > MAX_GREETING.saturating_sub(16) {
        return Err(NoGreeting::Absent);
    }
    Ok(cursor.skip(length.into())?)
}

/// Reads bytes that have to be these.
fn expect(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<(), NoGreeting> {
    for &byte in bytes {
        if cursor.u8()? != byte {
            return Err(NoGreeting::Absent);
        }
    }
    Ok(())
}
