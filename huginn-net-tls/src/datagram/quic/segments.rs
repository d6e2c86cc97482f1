//! The datagrams in a UDP payload that was captured before segmentation offload divided it, or after receive offload joined
//! them.
//!
//! Offload divides a payload into datagrams of one size; only the last one may be shorter. No header has the size.

use super::QuicError;
use super::packet::{Initial, MAX_CONNECTION_ID, Packet, Packets};
use crate::limits::{MAX_ETHERNET_DATAGRAM_LEN, MIN_CLIENT_DATAGRAM_LEN};

/// Divides a UDP payload into datagrams. A payload that is not longer than a frame of Ethernet holds is one datagram.
pub(super) fn datagrams(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    let size = if payload.len() > MAX_ETHERNET_DATAGRAM_LEN { segment_size(payload) } else { None };
    payload.chunks(size.unwrap_or(payload.len()).max(1))
}

/// The size of the datagrams in a payload that starts with a long header; `None` if it is one datagram.
///
/// A sender repeats its version in the long header at the start of the next datagram. Packets in a datagram do so, too, so the
/// largest size counts with which every datagram starts with that header. If there is none, the largest with which some
/// datagrams start with a short header. No size counts that cuts a packet.
fn segment_size(payload: &[u8]) -> Option<usize> {
    let version = long_header_version(payload)?;
    let is_long = |datagram: &[u8]| long_header_version(datagram) == Some(version);
    let is_short = |datagram: &[u8]| datagram.first().is_some_and(|first| first & 0xc0 == 0x40);
    let second_is_long = |size: &usize| payload.get(*size..).is_some_and(is_long);
    let cuts_none = |size: &usize| !payload.chunks_exact(*size).any(ends_in_packet);
    let sizes = || {
        let sizes = (MIN_CLIENT_DATAGRAM_LEN..=MAX_ETHERNET_DATAGRAM_LEN).rev();
        sizes.filter(second_is_long).filter(cuts_none)
    };
    let all = |size: &usize| payload.chunks(*size).all(is_long);
    let most = |size: &usize| payload.chunks(*size).all(|datagram| is_long(datagram) || is_short(datagram));
    sizes().find(all).or_else(|| sizes().find(most))
}

/// Whether a datagram ends before its last packet, by the length in that packet's header.
fn ends_in_packet(datagram: &[u8]) -> bool {
    Packets::new(datagram).any(|packet| {
        matches!(packet, Ok(Packet::Initial(Initial { cut: Some(_), .. })) | Err(QuicError::Truncated(_)))
    })
}

/// The version in a long header with connection ids of a possible length.
fn long_header_version(datagram: &[u8]) -> Option<u32> {
    let (&[first, a, b, c, d], ids) = datagram.split_first_chunk()?;
    let source = skip_id(ids)?;
    (first & 0x80 != 0 && skip_id(source).is_some()).then(|| u32::from_be_bytes([a, b, c, d]))
}

/// The bytes after a connection id and its length.
fn skip_id(bytes: &[u8]) -> Option<&[u8]> {
    let (len, rest) = bytes.split_first()?;
    rest.get(usize::from(*len)..).filter(|_| usize::from(*len) <= MAX_CONNECTION_ID)
}

#[cfg(test)]
mod tests {
    use super::datagrams;

    /// A long header of version 1 with connection ids of 8 and 2 bytes.
    const HEADER: [u8; 17] =
        [0xc3, 0, 0, 0, 1, 8, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 2, 0xaa, 0xbb];

    /// A packet with these first bytes.
    fn packet(start: &[u8], len: usize) -> Vec<u8> {
        start.iter().copied().chain((start.len()..len).map(|n| u8::try_from(n % 61).unwrap())).collect()
    }

    fn sizes(packets: &[Vec<u8>]) -> Vec<usize> {
        datagrams(&packets.concat()).map(<[u8]>::len).collect()
    }

    #[test]
    fn equal_datagrams_and_a_shorter_last_one() {
        let long = |len| packet(&HEADER, len);
        assert_eq!(sizes(&[long(1252), long(1252)]), [1252, 1252]);
        assert_eq!(sizes(&[long(1200), long(1200), long(1200)]), [1200, 1200, 1200]);
        assert_eq!(sizes(&[long(1350), long(1350), long(200)]), [1350, 1350, 200]);
    }

    #[test]
    fn packets_after_a_short_header_are_found() {
        let long = |len| packet(&HEADER, len);
        let short = |len| packet(&[0x45], len);
        assert_eq!(sizes(&[long(300), short(900), long(1200)]), [1200, 1200]);
        assert_eq!(sizes(&[long(1200), long(1200), short(1200), short(60)]), [1200, 1200, 1200, 60]);
    }

    #[test]
    fn coalesced_packets_are_not_datagrams() {
        let long = |len| packet(&HEADER, len);
        assert_eq!(sizes(&[long(1210), long(52), long(1262)]), [1262, 1262]);
        assert_eq!(sizes(&[long(200), long(1272)]), [1472]);
    }

    #[test]
    fn packets_are_not_cut() {
        // An Initial packet without a token, and the two bytes of its length.
        let initial =
            |len: u16| packet(&[&HEADER[..], &[0], &(0x4000 + len - 20).to_be_bytes()].concat(), len.into());
        let last = [packet(&HEADER, 1200), vec![0x45; 200]].concat();
        assert_eq!(sizes(&[initial(800), initial(400), last.clone()]), [1200, 1200, 200]);
        let large = [initial(1400)[..1200].to_vec(), vec![0x45; 200]].concat();
        assert_eq!(sizes(&[initial(800), initial(400), large]), [2600]);
    }

    #[test]
    fn other_payloads_are_one_datagram() {
        let other = [&HEADER[..6], &[0x99; 40]].concat();
        for second in [packet(&other, 1252), packet(&[0x45], 1252), vec![0; 1252]] {
            assert_eq!(sizes(&[packet(&HEADER, 1252), second]), [2504]);
        }
        assert_eq!(sizes(&[packet(&[0x45], 1252), packet(&HEADER, 1252)]), [2504]);
        assert_eq!(sizes(&[packet(&[0xc3, 0, 0, 0, 1, 21], 1252), vec![0xc3; 1252]]), [2504]);
        assert_eq!(sizes(&[vec![0xc3; 2]]), [2]);
        assert!(sizes(&[]).is_empty());
    }
}
