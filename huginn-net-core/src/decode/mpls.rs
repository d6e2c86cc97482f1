//! MPLS label stacks (RFC 3032). No field states the payload type.

use super::counters::SkipReason;
use super::numbers::Registry;
use super::{HeaderResult, NextHeader, ethernet, ethertype, push_layer};
use crate::{TunnelLayer, TunnelPath};

/// Reads the labels down to the bottom of the stack.
pub(super) fn stack<'a>(mut data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a> {
    loop {
        let Some((entry, rest)) = data.split_first_chunk() else { return Err(SkipReason::Short) };
        let entry = u32::from_be_bytes(*entry);
        push_layer(path, TunnelLayer::Mpls(entry >> 12))?;
        data = rest;
        if entry & 0x100 != 0 {
            return payload(data);
        }
    }
}

/// Guesses the payload from its first nibble: an IP version, a control word (RFC 4385, sections 3 and 5), or
/// Ethernet.
fn payload(data: &[u8]) -> HeaderResult<'_> {
    match data.first().map(|first| first >> 4) {
        None => Err(SkipReason::Short),
        Some(4 | 6) => Ok(NextHeader::Ip(data)),
        // The associated channel of a pseudowire (RFC 5586).
        Some(1) => Err(SkipReason::not_data(Registry::Ethertype, ethertype::MPLS)),
        Some(0) if !is_frame(data) => ethernet::frame(data.get(CONTROL_WORD..).unwrap_or_default()),
        Some(_) => ethernet::frame(data),
    }
}

/// Bytes of a pseudowire's control word (RFC 4448, section 4.6).
const CONTROL_WORD: usize = 4;

/// Whether an Ethernet frame starts here rather than after a control word. MAC addresses may start with zeros as
/// well.
fn is_frame(data: &[u8]) -> bool {
    let is_network_at = |at: usize| {
        let field = data.get(at..).and_then(|rest| rest.first_chunk());
        field.is_some_and(|bytes| ethertype::is_network(u16::from_be_bytes(*bytes)))
    };
    is_network_at(12) && !is_network_at(12 + CONTROL_WORD)
}
