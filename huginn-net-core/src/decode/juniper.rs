//! Frames that Juniper routers capture: a header with a magic number, then a cookie or a link-layer header.

use super::counters::SkipReason;
use super::{HeaderResult, NextHeader, atm, ethernet, ethertype, fit, ppp};
use crate::Cursor;

/// What follows the header.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Ethernet,
    Ppp,
    FrameRelay,
    CiscoHdlc,
    /// Two bytes of ethertype.
    Ethertype,
    /// A cookie of at most this length, then LLC, PPP or IP.
    Cookie(usize),
}

/// Reads a frame: the magic number, flags, and extensions if a flag is set.
pub(super) fn frame(data: &[u8], kind: Kind) -> HeaderResult<'_> {
    const MAGIC: [u8; 3] = *b"MGC";
    const HAS_NO_LINK: u8 = 0x02;
    const HAS_EXTENSIONS: u8 = 0x80;
    let mut cursor = Cursor::new(data);
    let [a, b, c, flags] = cursor.array()?;
    if [a, b, c] != MAGIC {
        return Err(SkipReason::BadHeader);
    }
    if flags & HAS_EXTENSIONS != 0 {
        let len = cursor.u16_be()?;
        cursor.skip(len.into())?;
    }
    if flags & HAS_NO_LINK != 0 {
        // The protocol family.
        cursor.skip(4)?;
        return Ok(NextHeader::Ip(cursor.rest()));
    }
    let rest = cursor.rest();
    match kind {
        Kind::Ethernet => ethernet::frame(rest),
        Kind::Ppp => ppp::frame(rest),
        Kind::FrameRelay => atm::frame_relay(rest),
        Kind::CiscoHdlc => ppp::hdlc(rest),
        Kind::Ethertype => ethertype::before_type(rest, 0),
        Kind::Cookie(len) => after_cookie(rest, len),
    }
}

/// Finds the payload after a cookie, whose length depends on the model.
fn after_cookie(data: &[u8], len: usize) -> HeaderResult<'_> {
    let found = (0..=len).step_by(2).find_map(|skipped| {
        let rest = data.get(skipped..)?;
        if fit::ip_packet(rest, rest.len()) {
            return Some(Ok(NextHeader::Ip(rest)));
        }
        if rest.starts_with(&[0xaa, 0xaa, 3]) || rest.starts_with(&[0xfe, 0xfe, 3]) {
            return Some(atm::aal5(rest));
        }
        ppp::is_ip(rest, rest.len()).then_some(Ok(NextHeader::Ppp(rest)))
    });
    found.unwrap_or(Err(SkipReason::BadHeader))
}
