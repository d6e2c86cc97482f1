//! What every reader of QUIC packets has to do, whatever its keys: header protection, packet numbers, and frames to skip.

use crate::{Cursor, Truncated};

/// Removes the protection of a header (RFC 9001, section 5.4). `mask` computes the mask of a sample. Returns the low bytes of the packet
/// number, and how many they are; `None` if the packet has no sample.
pub fn unmask_header(
    packet: &mut [u8],
    number_offset: usize,
    mask: impl FnOnce([u8; 16]) -> Option<[u8; 5]>,
) -> Option<(u64, usize)> {
    let (header, protected) = packet.split_at_mut_checked(number_offset)?;
    // The sample starts where a packet number of four bytes would end.
    let [first_mask, number_mask @ ..] = mask(*protected.get(4..)?.first_chunk()?)?;
    let first = header.first_mut()?;
    *first ^= first_mask & if *first & 0x80 == 0 { 0x1f } else { 0x0f };
    let len = usize::from(*first & 3).saturating_add(1);
    let mut number = 0_u64;
    for (byte, mask) in protected.iter_mut().zip(number_mask).take(len) {
        *byte ^= mask;
        number = number << 8 | u64::from(*byte);
    }
    Some((number, len))
}

/// Reconstructs a packet number from its low bytes (RFC 9000, appendix A.3): the candidate nearest to the next expected
/// number.
pub fn full_packet_number(number: u64, len: usize, largest: Option<u64>) -> u64 {
    let Some(expected) = largest.map(|largest| largest.saturating_add(1)) else { return number };
    let window = 1_u64 << len.saturating_mul(8).min(32);
    let half = window >> 1;
    let candidate = expected & !window.saturating_sub(1) | number;
    if candidate.saturating_add(half) <= expected {
        candidate.saturating_add(window)
    } else if candidate > expected.saturating_add(half) && candidate >= window {
        candidate.saturating_sub(window)
    } else {
        candidate
    }
}

/// Skips an ACK frame after its type (RFC 9000, section 19.3).
///
/// # Errors
/// [`Truncated`] if the frame is.
pub fn skip_ack(cursor: &mut Cursor<'_>, has_ecn: bool) -> Result<(), Truncated> {
    cursor.varint()?; // largest acknowledged
    cursor.varint()?; // delay
    let ranges = cursor.varint()?;
    cursor.varint()?; // first range
    // Terminates for any announced count: each range has at least two bytes, or the frame is truncated.
    for _ in 0..ranges {
        cursor.varint()?; // gap
        cursor.varint()?; // length
    }
    if has_ecn {
        for _ in 0..3 {
            cursor.varint()?;
        }
    }
    Ok(())
}

/// Skips a CONNECTION_CLOSE frame after its type (RFC 9000, section 19.19). That of an application names no frame.
///
/// # Errors
/// [`Truncated`] if the frame is.
pub fn skip_close(cursor: &mut Cursor<'_>, names_frame: bool) -> Result<(), Truncated> {
    cursor.varint()?; // error code
    if names_frame {
        cursor.varint()?; // type of the frame at fault
    }
    cursor.varint_bytes()?; // reason
    Ok(())
}
