//! Link-layer headers, by link type (the [tcpdump.org registry](https://www.tcpdump.org/linktypes.html)).

use super::counters::SkipReason;
use super::{HeaderResult, NextHeader, ethernet, ppp, wifi};
use crate::{Cursor, Frame, LinkType, TunnelPath};

/// Reads the link-layer header of a frame.
#[inline]
pub(super) fn frame<'a>(frame: &Frame<'a>, path: &mut TunnelPath, cut: bool) -> HeaderResult<'a> {
    match frame.link {
        LinkType::ETHERNET => ethernet::frame(frame.data),
        _ => other(frame, path, cut),
    }
}

#[inline(never)]
fn other<'a>(frame: &Frame<'a>, path: &mut TunnelPath, cut: bool) -> HeaderResult<'a> {
    let data = frame.data;
    match frame.link {
        LinkType::RAW_BSD | LinkType::RAW_OPENBSD | LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => {
            Ok(NextHeader::Ip(data))
        }
        LinkType::NULL | LinkType::LOOP => loopback(data),
        LinkType::LINUX_SLL => cooked(data),
        LinkType::LINUX_SLL2 => cooked_2(data),
        LinkType::PPP => ppp::frame(data),
        LinkType::PPP_HDLC | LinkType::CISCO_HDLC => ppp::hdlc(data),
        LinkType::PPP_ETHER => ppp::pppoe(data, path),
        LinkType::IEEE802_11 => wifi::frame(data, false),
        LinkType::IEEE802_11_RADIOTAP => wifi::radiotap(data, cut),
        LinkType::NFLOG => nflog(data),
        _ => Err(SkipReason::UnknownLink),
    }
}

/// BSD loopback: an address family in the byte order of the capturing machine, which is the order that gives the
/// smaller number. IPv6 is 24, 28 or 30 on the BSDs and macOS, and 10 on Linux.
fn loopback(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let family = cursor.u32_le()?;
    match family.min(family.swap_bytes()) {
        2 | 10 | 24 | 28 | 30 => Ok(NextHeader::Ip(cursor.rest())),
        _ => Err(SkipReason::UnknownEthertype),
    }
}

/// Linux cooked capture: packet type, ARPHRD type, address length, address, protocol.
fn cooked(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(14)?;
    let protocol = cursor.u16_be()?;
    linux_protocol(protocol, cursor.rest())
}

/// Linux cooked capture, version 2: protocol, reserved, interface, ARPHRD type, packet type, address length, address.
fn cooked_2(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let protocol = cursor.u16_be()?;
    cursor.skip(18)?;
    linux_protocol(protocol, cursor.rest())
}

fn linux_protocol(protocol: u16, data: &[u8]) -> HeaderResult<'_> {
    /// `ETH_P_802_2` of `linux/if_ether.h`: there is no type, but an LLC header.
    const LLC: u16 = 4;
    if protocol == LLC { ethernet::llc(data) } else { Ok(NextHeader::Ethertype(protocol, data)) }
}

/// Netfilter log: address family, version, resource; then attributes in the byte order of the capturing machine.
fn nflog(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let [family, version] = cursor.array()?;
    cursor.skip(2)?;
    match (family, version) {
        (2 | 10, 0) => {}
        (_, 0) => return Err(SkipReason::UnknownEthertype),
        _ => return Err(SkipReason::BadHeader),
    }
    let payload = nflog_payload(cursor, Cursor::u16_le).or_else(|_| nflog_payload(cursor, Cursor::u16_be));
    payload.map(NextHeader::Ip)
}

fn nflog_payload<'a>(
    mut cursor: Cursor<'a>,
    word: impl Fn(&mut Cursor<'a>) -> Result<u16, crate::Truncated>,
) -> Result<&'a [u8], SkipReason> {
    const HEADER: usize = 4;
    const PAYLOAD: u16 = 9;
    loop {
        let len = usize::from(word(&mut cursor)?);
        let kind = word(&mut cursor)?;
        let Some(len) = len.checked_sub(HEADER) else { return Err(SkipReason::BadHeader) };
        if kind == PAYLOAD {
            let rest = cursor.rest();
            return Ok(rest.get(..len).unwrap_or(rest));
        }
        cursor.skip(len)?;
        // Attributes are aligned to four bytes; the last may end unpadded.
        cursor.skip((len.wrapping_neg() & 3).min(cursor.remaining()))?;
    }
}
