//! GRE (RFC 2784, RFC 2890, with the routing of RFC 1701), the enhanced GRE of PPTP (RFC 2637), ERSPAN
//! (draft-foschiano-erspan), WCCP, and EoIP of MikroTik.

use super::counters::SkipReason;
use super::numbers::{self, Registry};
use super::{HeaderResult, NextHeader, ethernet, ethertype, fit, ppp, push_layer};
use crate::{Cursor, TunnelLayer, TunnelPath};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Version 1 only.
const ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

const EOIP: u16 = 0x6400;

/// Reads a GRE header and the header that follows.
pub(super) fn packet<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    let mut cursor = Cursor::new(data);
    let flags = cursor.u16_be()?;
    let protocol = cursor.u16_be()?;
    push_layer(path, TunnelLayer::Gre)?;
    match flags & VERSION {
        0 => plain(flags, protocol, cursor, path),
        1 => match protocol {
            ethertype::PPP => pptp(flags, cursor),
            EOIP => eoip(cursor, path),
            _ => enhanced(flags, protocol, cursor, path),
        },
        _ => Err(SkipReason::BadHeader),
    }
}

/// Version 1 with a protocol other than PPP (Tencent): the fields that the flags name. The key may differ between the
/// directions, so that it is not part of the flow key.
fn enhanced<'a>(
    flags: u16,
    protocol: u16,
    mut cursor: Cursor<'a>,
    path: &mut TunnelPath,
) -> HeaderResult<'a> {
    for field in [CHECKSUM | ROUTING, KEY, SEQUENCE, ACKNOWLEDGEMENT] {
        if flags & field != 0 {
            cursor.skip(4)?;
        }
    }
    payload(flags, protocol, cursor, path)
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
    payload(flags, protocol, cursor, path)
}

fn payload<'a>(flags: u16, protocol: u16, cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    numbers::gre(protocol, flags, cursor, path)
        .unwrap_or_else(|| Ok(NextHeader::Ethertype(protocol, cursor.rest())))
}

/// EoIP of MikroTik: the length of the frame and the tunnel, which is little-endian.
pub(super) fn eoip<'a>(mut cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    let len = usize::from(cursor.u16_be()?);
    path.mix_key(cursor.u16_le()?.into());
    if len == 0 {
        // A keep-alive.
        return Err(SkipReason::not_data(Registry::Ethertype, EOIP));
    }
    let rest = cursor.rest();
    ethernet::frame(rest.get(..len).unwrap_or(rest))
}

/// WCCP (draft-mclaggan-wccp-v2rev1, section 3.12.1): version 2 has a redirect header of four bytes before the packet.
pub(super) fn wccp(mut cursor: Cursor<'_>) -> HeaderResult<'_> {
    let rest = cursor.rest();
    if !fit::ip_packet(rest, rest.len()) {
        cursor.skip(4)?;
    }
    Ok(NextHeader::Ip(cursor.rest()))
}

/// ERSPAN type I, which has no header of its own and no sequence number, and type II.
pub(super) fn erspan<'a>(flags: u16, cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
    if flags & SEQUENCE == 0 { erspan_1(cursor.rest(), path) } else { erspan_2(cursor, path) }
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
        return Err(SkipReason::not_data(Registry::Ethertype, ethertype::PPP));
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

pub(super) fn erspan_3<'a>(mut cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a> {
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
        _ => Err(SkipReason::unknown(Registry::Ethertype, 0x22eb_u16)),
    }
}
