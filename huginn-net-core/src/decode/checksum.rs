//! The Internet checksum (RFC 1071).

use crate::{Addresses, IpHeader};

/// A running one's complement sum. The words are summed in the machine's own byte order: the sum of swapped words
/// is the swapped sum (RFC 1071, section 2), and of a correct checksum it is all ones in either order.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes that start at an even offset; an odd last one is padded with zero.
    #[inline]
    pub(super) fn add(mut self, bytes: &[u8]) -> Self {
        // 2^32 additions of 32 bits fit: no slice of a packet has as many.
        let mut quads = bytes.chunks_exact(4);
        for quad in &mut quads {
            if let Some(quad) = quad.first_chunk() {
                self.0 = self.0.wrapping_add(u64::from(u32::from_ne_bytes(*quad)));
            }
        }
        let last = match *quads.remainder() {
            [a] => [a, 0, 0, 0],
            [a, b] => [a, b, 0, 0],
            [a, b, c] => [a, b, c, 0],
            _ => [0; 4],
        };
        self.0 = self.0.wrapping_add(u64::from(u32::from_ne_bytes(last)));
        self
    }

    /// Whether the bytes, their checksum among them, sum up to all ones.
    #[inline]
    pub(super) fn is_correct(self) -> bool {
        // What a sum of words is with its carries added is its remainder by 65,535, but that all ones stand for 0.
        self.0 != 0 && self.0.is_multiple_of(0xffff)
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
    fn the_example_of_rfc_1071() {
        // Section 3: these words sum to ddf2, so that their checksum is 220d.
        let words = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert!(Sum::default().add(&words).add(&[0x22, 0x0d]).is_correct());
        assert!(!Sum::default().add(&words).add(&[0x22, 0x0e]).is_correct());
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
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
    fn the_largest_sum_folds() {
        assert!(Sum(u64::MAX).is_correct());
        assert!(Sum(0xffff).is_correct());
        assert!(!Sum(0).is_correct());
    }
}
