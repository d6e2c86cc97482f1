//! IEEE 802.11 data frames, with and without a radiotap header.

use super::counters::SkipReason;
use super::numbers::{ProtocolNumber, Registry};
use super::{HeaderResult, NextHeader, ethernet};
use crate::{Cursor, Truncated};

/// Reads a radiotap header (radiotap.org) and the frame after it. `cut`: whether the snap length cut the frame.
pub(super) fn radiotap(data: &[u8], cut: bool) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let [version, _] = cursor.array()?;
    let len = usize::from(cursor.u16_le()?);
    let Some((header, mut body)) = data.split_at_checked(len) else { return Err(SkipReason::Short) };
    if version != 0 {
        return Err(SkipReason::BadHeader);
    }
    let flags = radiotap_flags(header).unwrap_or(0);
    if flags & RADIOTAP_FCS != 0 && !cut {
        body = body.split_last_chunk::<4>().map_or(body, |(body, _)| body);
    }
    frame(body, flags & RADIOTAP_PAD != 0)
}

/// A frame check sequence ends the frame.
const RADIOTAP_FCS: u8 = 0x10;
/// The 802.11 header is padded to a multiple of four bytes.
const RADIOTAP_PAD: u8 = 0x20;

/// Returns the "flags" field. It follows the presence words and, if present, a timestamp aligned to eight bytes.
fn radiotap_flags(header: &[u8]) -> Option<u8> {
    let mut cursor = Cursor::new(header);
    cursor.skip(4).ok()?;
    let present = cursor.u32_le().ok()?;
    let mut word = present;
    while word & 0x8000_0000 != 0 {
        word = cursor.u32_le().ok()?;
    }
    if present & 2 == 0 {
        return None;
    }
    let mut at = cursor.position();
    if present & 1 != 0 {
        at = at.next_multiple_of(8).saturating_add(8);
    }
    header.get(at).copied()
}

/// Frame control (IEEE 802.11, clause 9.2.4.1), as a little-endian word.
mod control {
    pub(super) const VERSION: u16 = 0x0003;
    pub(super) const TYPE: u16 = 0x000c;
    pub(super) const DATA: u16 = 0x0008;
    pub(super) const NO_DATA: u16 = 0x0040;
    pub(super) const QOS: u16 = 0x0080;
    pub(super) const TO_AND_FROM_DS: u16 = 0x0300;
    pub(super) const MORE_FRAGMENTS: u16 = 0x0400;
    pub(super) const PROTECTED: u16 = 0x4000;
    pub(super) const HT_CONTROL: u16 = 0x8000;
}

/// Reads an 802.11 frame. `padded`: whether its header is padded to a multiple of four bytes.
pub(super) fn frame(data: &[u8], padded: bool) -> HeaderResult<'_> {
    let mut cursor = Cursor::new(data);
    let control = cursor.u16_le()?;
    after_control(control, cursor, Cursor::u16_le, padded)
}

/// Reads an 802.11 frame from a CAPWAP tunnel. Some access points swap the bytes of each word; a data frame's control
/// field is valid in only one byte order.
pub(super) fn capwap_frame(data: &[u8]) -> HeaderResult<'_> {
    let is_data = |control| control & (control::VERSION | control::TYPE) == control::DATA;
    let mut cursor = Cursor::new(data);
    let control = cursor.u16_le()?;
    if !is_data(control) && is_data(control.swap_bytes()) {
        return after_control(control.swap_bytes(), cursor, Cursor::u16_be, false);
    }
    after_control(control, cursor, Cursor::u16_le, false)
}

fn after_control<'a>(
    control: u16,
    mut cursor: Cursor<'a>,
    word: fn(&mut Cursor<'a>) -> Result<u16, Truncated>,
    padded: bool,
) -> HeaderResult<'a> {
    if control & control::VERSION != 0 {
        return Err(SkipReason::BadHeader);
    }
    if control & control::TYPE != control::DATA || control & control::NO_DATA != 0 {
        let kind = (control & control::TYPE) << 2 | control >> 4 & 0x0f;
        return Err(SkipReason::not_data(Registry::WifiFrame, kind));
    }
    // Duration and three addresses.
    cursor.skip(20)?;
    let sequence = word(&mut cursor)?;
    if control & control::TO_AND_FROM_DS == control::TO_AND_FROM_DS {
        cursor.skip(6)?;
    }
    let (mut is_aggregate, mut may_have_mesh_control) = (false, false);
    if control & control::QOS != 0 {
        let qos = word(&mut cursor)?;
        (is_aggregate, may_have_mesh_control) = (qos & 0x80 != 0, qos & 0x100 != 0);
        if control & control::HT_CONTROL != 0 {
            cursor.skip(4)?;
        }
    }
    if control & control::PROTECTED != 0 {
        return Err(SkipReason::Encrypted(ProtocolNumber::new(Registry::LinkType, 105_u16)));
    }
    if control & control::MORE_FRAGMENTS != 0 || sequence & 0x000f != 0 {
        return Err(SkipReason::LinkFragment);
    }
    if padded {
        cursor.skip(cursor.position().wrapping_neg() & 3)?;
    }
    match cursor.rest() {
        rest if is_aggregate => Ok(NextHeader::Aggregate(rest)),
        rest if may_have_mesh_control => after_mesh_control(rest),
        rest => ethernet::llc(rest),
    }
}

/// Reads LLC, after a mesh control field if SNAP follows one (clause 9.2.4.7.3): flags, time to live, sequence number,
/// and up to two addresses. The bit that announces the field means something else outside of mesh networks.
pub(super) fn after_mesh_control(data: &[u8]) -> HeaderResult<'_> {
    const SNAP: [u8; 3] = [0xaa, 0xaa, 0x03];
    let addresses = data.first().map_or(0, |flags| usize::from(flags & 3));
    let rest = data.get(addresses.saturating_mul(6).saturating_add(6)..).unwrap_or_default();
    ethernet::llc(if !data.starts_with(&SNAP) && rest.starts_with(&SNAP) { rest } else { data })
}

/// Splits the first subframe and its padding off an aggregate (A-MSDU, clause 9.3.2.2).
pub(super) fn subframe(data: &[u8]) -> Result<(&[u8], &[u8]), SkipReason> {
    let Some((header, rest)) = data.split_first_chunk::<{ ethernet::HEADER }>() else {
        return Err(SkipReason::Short);
    };
    let len = usize::from(u16::from_be_bytes([header[12], header[13]]));
    let Some((part, rest)) = rest.split_at_checked(len) else { return Ok((rest, &[])) };
    let padding = len.saturating_add(ethernet::HEADER).wrapping_neg() & 3;
    let rest = rest.get(padding..).unwrap_or_default();
    // Fewer bytes than a header are padding, or a check sequence that radiotap did not declare.
    Ok((part, if rest.len() < ethernet::HEADER { &[] } else { rest }))
}
