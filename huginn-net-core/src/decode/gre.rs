//! GRE (RFC 2784, RFC 2890, with the routing of RFC 1701), the enhanced GRE of PPTP (RFC 2637), and ERSPAN
//! (draft-foschiano-erspan).

use super::counters::SkipReason;
use super::{HeaderResult, NextHeader, ethernet, ethertype, ppp, push_layer};
use crate::{Cursor, TunnelLayer, TunnelPath};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Version 1 only.
const ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

/// ERSPAN type I, which has no header of its own, and type II.
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

/// Reads a GRE header and the header that follows.
pub(super) fn packet<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    let mut cursor = Cursor::new(data);
    let flags = cursor.u16_be()?;
    let protocol = cursor.u16_be()?;
    push_layer(path, TunnelLayer::Gre)?;
    match flags & VERSION {
        0 => plain(flags, protocol, cursor, path),
        1 if protocol == ethertype::PPP => pptp(flags, cursor),
        _ => Err(SkipReason::BadHeader),
    }
}

fn plain<'a>(flags: u16, protocol: u16, mut cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    if flags & (CHECKSUM | ROUTING) != 0 {
        cursor.skip(4)?;
    }
    if flags & KEY != 0 {
        path.mix_key(cursor.u32_be()?.into());
    }
    if flags & SEQUENCE != 0 {
        cursor.skip(4)?;
    }
    if flags & ROUTING != 0 {
        skip_routes(&mut cursor)?;
    }
    match protocol {
        ERSPAN if flags & SEQUENCE == 0 => erspan_1(cursor.rest(), path),
        ERSPAN => erspan_2(cursor, path),
        ERSPAN_III => erspan_3(cursor, path),
        ethertype::PPP => ppp::frame(cursor.rest()),
        protocol => Ok(NextHeader::Ethertype(protocol, cursor.rest())),
    }
}

/// Source route entries (RFC 1701): the last has address family 0 and no length.
fn skip_routes(cursor: &mut Cursor<'_>) -> Result<(), SkipReason> {
    loop {
        let family = cursor.u16_be()?;
        cursor.skip(1)?;
        let len = cursor.u8()?;
        if family == 0 && len == 0 {
            return Ok(());
        }
        cursor.skip(usize::from(len))?;
    }
}

/// Enhanced GRE (RFC 2637, section 4.1): the key holds the payload length and the call. An acknowledgement has no
/// payload.
fn pptp(flags: u16, mut cursor: Cursor<'_>) -> HeaderResult<'_> {
    let len = usize::from(cursor.u16_be()?);
    cursor.skip(2)?;
    if flags & SEQUENCE == 0 {
        return Err(SkipReason::NotData);
    }
    cursor.skip(4)?;
    if flags & ACKNOWLEDGEMENT != 0 {
        cursor.skip(4)?;
    }
    let rest = cursor.rest();
    ppp::frame(rest.get(..len).unwrap_or(rest))
}

fn erspan_1<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    push_layer(path, TunnelLayer::Erspan(0))?;
    ethernet::frame(data)
}

fn erspan_2<'a>(mut cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let version_and_vlan = cursor.u16_be()?;
    let session = cursor.u16_be()? & 0x03ff;
    cursor.skip(4)?;
    if version_and_vlan >> 12 != 1 {
        return Err(SkipReason::BadHeader);
    }
    push_layer(path, TunnelLayer::Erspan(session))?;
    ethernet::frame(cursor.rest())
}

fn erspan_3<'a>(mut cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let version_and_vlan = cursor.u16_be()?;
    let session = cursor.u16_be()? & 0x03ff;
    // Time stamp and security group.
    cursor.skip(6)?;
    let flags = cursor.u16_be()?;
    if version_and_vlan >> 12 != 2 {
        return Err(SkipReason::BadHeader);
    }
    let (frame_type, has_subheader) = (flags >> 10 & 0x1f, flags & 1 != 0);
    if has_subheader {
        cursor.skip(8)?;
    }
    push_layer(path, TunnelLayer::Erspan(session))?;
    match frame_type {
        0 => ethernet::frame(cursor.rest()),
        2 => Ok(NextHeader::Ip(cursor.rest())),
        _ => Err(SkipReason::UnknownEthertype),
    }
}
