//! Link-layer headers, by link type (the [tcpdump.org registry](https://www.tcpdump.org/linktypes.html)).

use super::counters::SkipReason;
use super::numbers::{self, Registry};
use super::{HeaderResult, NextHeader, ethernet, ethertype, ppp};
use crate::{Cursor, Frame, LinkType, TunnelPath};

/// Reads the link-layer header of a frame.
#[inline]
pub(super) fn frame<'a>(frame: &Frame<'a>, path: &mut TunnelPath, cut: bool) -> HeaderResult<'a> {
    match frame.link {
        LinkType::ETHERNET => ethernet::frame(frame.data),
        LinkType(link) => payload(link, frame.data, path, cut),
    }
}

/// Reads a frame of a link type. `cut`: whether the snap length cut the frame.
#[inline(never)]
pub(super) fn payload<'a>(link: u16, data: &'a [u8], path: &mut TunnelPath, cut: bool) -> HeaderResult<'a> {
    numbers::link(link, data, cut, path).unwrap_or_else(|| Err(SkipReason::unknown_link(link)))
}

impl LinkType {
    /// Whether frames of this type are decoded. Those of another type are counted as `unknown_link`.
    pub fn is_decoded(self) -> bool {
        numbers::link(self.0, &[], false, &mut TunnelPath::new(false)).is_some()
    }
}

/// Skips a header that does not say what follows.
pub(super) fn after_bytes<'a>(
    data: &'a [u8],
    len: usize,
    next: fn(&'a [u8]) -> NextHeader<'a>,
) -> HeaderResult<'a> {
    data.get(len..).map(next).ok_or(SkipReason::Short)
}

/// Skips a header that ends with an ethertype.
pub(super) fn after_type(data: &[u8], len: usize) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(len)?;
    let ethertype = cursor.u16_be()?;
    Ok(NextHeader::Ethertype(ethertype, cursor.rest()))
}

/// Skips a header before an Ethernet frame.
pub(super) fn after_ethernet_header(data: &[u8], len: usize) -> HeaderResult<'_> {
    ethertype::before_frame(data, len)
}

/// An Ethernet frame with a tag of a switch port after the addresses (DSA of Linux).
pub(super) fn switch_tagged(data: &[u8], tag_len: usize) -> HeaderResult<'_> {
    const ADDRESSES: usize = 12;
    ethertype::before_type(data, ADDRESSES.saturating_add(tag_len))
}

/// A byte with the direction before a frame.
pub(super) fn direction<'a>(data: &'a [u8], frame: fn(&'a [u8]) -> HeaderResult<'a>) -> HeaderResult<'a> {
    let Some((_, rest)) = data.split_first() else { return Err(SkipReason::Short) };
    frame(rest)
}

/// PPP with the direction before the address byte, or in its place as pppd writes it.
pub(super) fn ppp_direction(data: &[u8]) -> HeaderResult<'_> {
    match data {
        [_, 0x03, rest @ ..] => ppp::frame(rest),
        _ => direction(data, ppp::frame),
    }
}

/// BSD loopback: an address family in the byte order of the capturing machine, which is the order that gives the
/// smaller number. IPv6 is 24, 28 or 30 on the BSDs and macOS, and 10 on Linux.
pub(super) fn loopback(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let family = cursor.u32_le()?;
    match family.min(family.swap_bytes()) {
        2 | 10 | 24 | 28 | 30 => Ok(NextHeader::Ip(cursor.rest())),
        family => Err(SkipReason::unknown(Registry::AddressFamily, family)),
    }
}

/// Linux cooked capture: packet type, ARPHRD type, address length, address, protocol.
pub(super) fn cooked(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    cursor.skip(14)?;
    let protocol = cursor.u16_be()?;
    linux_protocol(protocol, cursor.rest())
}

/// Linux cooked capture, version 2: protocol, reserved, interface, ARPHRD type, packet type, address length, address.
pub(super) fn cooked_2(data: &[u8]) -> HeaderResult<'_> {
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

/// Netfilter log: address family, version, resource; then attributes in the byte order of the capturing machine. The families inet, ARP,
/// netdev and bridge have packets of any ethertype, which an attribute states.
pub(super) fn nflog(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let [family, version] = cursor.array()?;
    cursor.skip(2)?;
    match (family, version) {
        (1 | 2 | 3 | 5 | 7 | 10, 0) => {}
        (family, 0) => return Err(SkipReason::unknown(Registry::AddressFamily, family)),
        _ => return Err(SkipReason::BadHeader),
    }
    let payload = nflog_payload(cursor, Cursor::u16_le).or_else(|_| nflog_payload(cursor, Cursor::u16_be));
    match (payload?, family) {
        ((_, data), 2 | 10) => Ok(NextHeader::Ip(data)),
        ((Some(ethertype), data), _) => Ok(NextHeader::Ethertype(ethertype, data)),
        ((None, _), family) => Err(SkipReason::unknown(Registry::AddressFamily, family)),
    }
}

/// Reads the attributes up to the payload. Returns the ethertype if they state it, and the payload.
fn nflog_payload<'a>(
    mut cursor: Cursor<'a>,
    word: impl Fn(&mut Cursor<'a>) -> Result<u16, crate::Truncated>,
) -> Result<(Option<u16>, &'a [u8]), SkipReason> {
    const HEADER: usize = 4;
    /// It begins with the ethertype, in network byte order (`nfulnl_msg_packet_hdr` in `linux/netfilter/nfnetlink_log.h`).
    const PACKET_HEADER: u16 = 1;
    const PAYLOAD: u16 = 9;
    let mut ethertype = None;
    loop {
        let len = usize::from(word(&mut cursor)?);
        let kind = word(&mut cursor)?;
        let Some(len) = len.checked_sub(HEADER) else { return Err(SkipReason::BadHeader) };
        if kind == PAYLOAD {
            let rest = cursor.rest();
            return Ok((ethertype, rest.get(..len).unwrap_or(rest)));
        }
        if kind == PACKET_HEADER {
            ethertype = cursor.rest().first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
        }
        cursor.skip(len)?;
        // Attributes are aligned to four bytes; the last may end unpadded.
        cursor.skip((len.wrapping_neg() & 3).min(cursor.remaining()))?;
    }
}

/// PFLOG of OpenBSD and its relatives: the first byte is the length without padding.
pub(super) fn pflog(data: &[u8]) -> HeaderResult<'_> {
    const MIN_LEN: usize = 28;
    let Some(len) = data.first().map(|len| usize::from(*len)) else { return Err(SkipReason::Short) };
    if len < MIN_LEN {
        return Err(SkipReason::BadHeader);
    }
    after_bytes(data, len.next_multiple_of(4), NextHeader::Ip)
}

/// PPI (CACE's Per-Packet Information): version, flags, length, link type; then fields.
pub(super) fn ppi(data: &[u8]) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let [version, _] = cursor.array()?;
    let len = usize::from(cursor.u16_le()?);
    let link = cursor.u32_le()?;
    if version != 0 || len < cursor.position() {
        return Err(SkipReason::BadHeader);
    }
    inner_link(data, len, link)
}

/// PKTAP of macOS: length, record type, link type and more, in the byte order of the machine, little-endian.
pub(super) fn pktap(data: &[u8], link: u16) -> HeaderResult<'_> {
    const MIN_LEN: usize = 40;
    const MAX_LEN: usize = 4096;
    const PACKET: u32 = 1;
    let mut cursor = Cursor::new(data);
    let len = usize::try_from(cursor.u32_le()?).unwrap_or(usize::MAX);
    let kind = cursor.u32_le()?;
    let inner = cursor.u32_le()?;
    if !(MIN_LEN..=MAX_LEN).contains(&len) {
        return Err(SkipReason::unknown_link(link));
    }
    if kind != PACKET {
        return Err(SkipReason::not_data(Registry::LinkType, link));
    }
    inner_link(data, len, inner)
}

fn inner_link(data: &[u8], header_len: usize, link: u32) -> HeaderResult<'_> {
    let Ok(link) = u16::try_from(link) else { return Err(SkipReason::BadHeader) };
    data.get(header_len..).map(|rest| NextHeader::Link(link, rest)).ok_or(SkipReason::Short)
}

/// 802.11 after the header of Prism or AVS: a magic number and a length. Prism's header is in the byte order of the
/// capturing machine, AVS's is big-endian.
pub(super) fn prism(data: &[u8]) -> HeaderResult<'_> {
    const PRISM: u32 = 0x44;
    const PRISM_CAPTURE: u32 = 0x41;
    const AVS: u32 = 0x8021_1000;
    const MAX_LEN: u32 = 1024;
    const WIFI: u16 = 105;
    let mut cursor = Cursor::new(data);
    let magic = cursor.u32_be()?;
    let len = cursor.u32_be()?;
    let is_header = magic & 0xffff_f000 == AVS
        || [magic, magic.swap_bytes()].iter().any(|magic| matches!(*magic, PRISM | PRISM_CAPTURE));
    let len = len.min(len.swap_bytes());
    if !is_header {
        // Some drivers write the link type without the header.
        return Ok(NextHeader::Link(WIFI, data));
    }
    if len > MAX_LEN {
        return Err(SkipReason::BadHeader);
    }
    inner_link(data, usize::try_from(len).unwrap_or(usize::MAX), WIFI.into())
}

/// ERF of Endace's DAG cards: time, type, flags, lengths; then extension headers of eight bytes.
pub(super) fn erf(data: &[u8]) -> HeaderResult<'_> {
    const HAS_EXTENSION: u8 = 0x80;
    let mut cursor = Cursor::new(data);
    cursor.skip(8)?;
    let kind = cursor.u8()?;
    cursor.skip(7)?;
    let mut has_extension = kind & HAS_EXTENSION != 0;
    while has_extension {
        let [first, ..] = cursor.array::<8>()?;
        has_extension = first & HAS_EXTENSION != 0;
    }
    match kind & !HAS_EXTENSION {
        1 => ppp::hdlc(cursor.rest()),
        // Two bytes align the frame.
        2 | 11 | 16 | 20 => after_ethernet_header(cursor.rest(), 2),
        22 | 23 => Ok(NextHeader::Ip(cursor.rest())),
        _ => Err(SkipReason::unknown_link(197)),
    }
}
