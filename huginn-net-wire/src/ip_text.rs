//! Texts of IP addresses.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::str;

/// Length of the longest text, an IPv6 address without a part in decimal digits.
const MAX_LEN: usize = 39;

/// The text of an IP address, as the standard library displays it, without a memory allocation.
///
/// ```
/// use huginn_net_wire::IpText;
///
/// assert_eq!(IpText::new([192, 0, 2, 1].into()).as_str(), "192.0.2.1");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IpText {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl IpText {
    /// Writes the text of an address.
    #[inline]
    pub fn new(address: IpAddr) -> Self {
        let mut text = Self { bytes: [0; MAX_LEN], len: 0 };
        match address {
            IpAddr::V4(address) => text.push_v4(address),
            IpAddr::V6(address) => {
                let mut rest = text.bytes.as_mut_slice();
                // The longest text fits.
                let _ = write!(rest, "{address}");
                text.len = MAX_LEN.saturating_sub(rest.len());
            }
        }
        text
    }

    // The standard library formats a number at a time, which takes ten times as long.
    #[inline]
    fn push_v4(&mut self, address: Ipv4Addr) {
        for (index, octet) in address.octets().into_iter().enumerate() {
            if index > 0 {
                self.push(b'.');
            }
            if octet >= 100 {
                self.push(b'0'.wrapping_add(octet / 100));
            }
            if octet >= 10 {
                self.push(b'0'.wrapping_add(octet / 10 % 10));
            }
            self.push(b'0'.wrapping_add(octet % 10));
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
        }
        self.len = self.len.wrapping_add(1);
    }

    /// The text as ASCII bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_is_that_of_standard_library(address: IpAddr) {
            let text = IpText::new(address);
            prop_assert_eq!(text.as_str(), address.to_string());
        }
    }

    #[test]
    fn longest_texts_fit() {
        for address in
            ["255.255.255.255", "::ffff:255.255.255.255", "1111:2222:3333:4444:5555:6666:7777:8888", "::"]
        {
            assert_eq!(IpText::new(address.parse().unwrap()).as_str(), address);
        }
    }
}
