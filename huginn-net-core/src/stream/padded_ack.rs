//! Removal of Ethernet padding that the IP length counts as payload.

use crate::limits::{MIN_ETHERNET_PAYLOAD_LEN, MIN_TAGGED_PAYLOAD_LEN};
use crate::{Segment, TcpFlags};

/// Returns the payload of a segment without Ethernet padding that the IP length counts.
///
/// Some network cards and sensors count the padding of a minimum Ethernet frame (46 bytes after the Ethernet header,
/// IEEE 802.3) into the IP total length. A pure ACK then seems to carry a few zero bytes at the sender's next
/// sequence number. Since the first copy of a byte wins, they would hide the start of a ClientHello or a request.
/// nDPI ignores such bytes, too.
///
/// A segment is a padded ACK if its IPv4 packet is exactly 46 bytes long, or 42 after four bytes of a VLAN tag or MPLS
/// label, its payload is all zeros, and ACK is set without SYN, FIN, RST, PSH or URG. A keep-alive probe with one zero
/// byte has a shorter packet. IPv6 headers leave no room for padding. Real data of this form is missing in the stream,
/// as a gap. It is rare: the end of a message has PSH set, and its middle is rarely so short.
#[inline]
pub fn without_padding<'a>(segment: &Segment<'a>) -> &'a [u8] {
    if is_padded_ack(segment) { &[] } else { segment.payload }
}

/// Whether a segment is an ACK whose payload looks like padding.
#[inline]
pub(super) fn is_padded_ack(segment: &Segment<'_>) -> bool {
    may_be_padding(segment.payload) && has_form_of_padded_ack(segment)
}

/// Whether a payload is as short as padding.
#[inline]
pub(super) fn may_be_padding(payload: &[u8]) -> bool {
    const MAX_PADDING: usize = 6;
    !payload.is_empty() && payload.len() <= MAX_PADDING
}

/// Whether a payload may be padding: short and all zeros.
pub(super) fn is_padding(payload: &[u8]) -> bool {
    may_be_padding(payload) && payload.iter().all(|byte| *byte == 0)
}

#[inline(never)]
fn has_form_of_padded_ack(segment: &Segment<'_>) -> bool {
    const RELEVANT_FLAGS: TcpFlags = TcpFlags::SYN
        .union(TcpFlags::ACK)
        .union(TcpFlags::FIN)
        .union(TcpFlags::RST)
        .union(TcpFlags::PSH)
        .union(TcpFlags::URG);
    segment.tcp().is_some_and(|tcp| {
        let headers = usize::from(segment.ip.header_len).saturating_add(tcp.header_len());
        let total_len = headers.saturating_add(segment.payload.len());
        tcp.flags & RELEVANT_FLAGS == TcpFlags::ACK
            && segment.ip.is_ipv4()
            && segment.payload_missing == 0
            && matches!(total_len, MIN_ETHERNET_PAYLOAD_LEN | MIN_TAGGED_PAYLOAD_LEN)
            && is_padding(segment.payload)
    })
}
