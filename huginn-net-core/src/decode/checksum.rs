//! The Internet checksum (RFC 1071).

use crate::{Addresses, IpHeader};

/// A running one's complement sum of 64 bits with end-around carry. It sums words in native byte order: the sum of
/// swapped words is the swapped sum (RFC 1071, section 2), and the sum over a correct checksum is all ones in either
/// order.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes that start at an even offset; an odd last one is padded with zero.
    #[inline]
    pub(super) fn add(mut self, bytes: &[u8]) -> Self {
        let mut eights = bytes.chunks_exact(8);
        for eight in &mut eights {
            if let Some(eight) = eight.first_chunk() {
                self = self.carry(u64::from_ne_bytes(*eight));
            }
        }
        let mut last = [0; 8];
        for (last, byte) in last.iter_mut().zip(eights.remainder()) {
            *last = *byte;
        }
        self.carry(u64::from_ne_bytes(last))
    }

    #[inline]
    fn carry(self, words: u64) -> Self {
        let (sum, is_carried) = self.0.overflowing_add(words);
        Self(sum.wrapping_add(is_carried.into()))
    }

    /// Whether the bytes, their checksum among them, sum up to all ones.
    #[inline]
    pub(super) fn is_correct(self) -> bool {
        let [a, b, c, d, e, f, g, h] = self.0.to_ne_bytes();
        let (sum, is_carried) =
            u32::from_ne_bytes([a, b, c, d]).overflowing_add(u32::from_ne_bytes([e, f, g, h]));
        let sum = sum.wrapping_add(is_carried.into());
        // Adds the two halves, with the carry of the lower one.
        sum.wrapping_add(sum.rotate_left(16)) >> 16 == 0xffff
    }
}

/// The sum of the pseudo-header (RFC 9293, section 3.1; RFC 8200, section 8.1).
pub(super) fn pseudo_header(ip: &IpHeader, protocol: u8, len: usize) -> Sum {
    let sum = Sum::default();
    let sum = match ip.addresses {
        Addresses::V4 { src, dst } => sum.add(&src.octets()).add(&dst.octets()),
        Addresses::V6 { src, dst } => sum.add(&src.octets()).add(&dst.octets()),
    };
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    sum.add(&len.to_be_bytes()).add(&[0, protocol])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_matches_rfc_1071_example() {
        // Section 3: these words sum to ddf2, so that their checksum is 220d.
        let words = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert!(Sum::default().add(&words).add(&[0x22, 0x0d]).is_correct());
        assert!(!Sum::default().add(&words).add(&[0x22, 0x0e]).is_correct());
    }

    #[test]
    fn checksum_pads_odd_byte_as_high_half() {
        for len in 0..9_u8 {
            let bytes: Vec<u8> = (1..=len).collect();
            let mut sum: u32 = bytes
                .chunks(2)
                .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
                .sum();
            sum = (sum & 0xffff) + (sum >> 16);
            let checksum = !u16::try_from(sum).unwrap();
            assert!(Sum::default().add(&bytes).add(&checksum.to_be_bytes()).is_correct(), "{len}");
        }
    }

    #[test]
    fn checksum_folds_largest_sum() {
        assert!(Sum(u64::MAX).is_correct());
        assert!(Sum(0xffff).is_correct());
        assert!(!Sum(0).is_correct());
    }
}
