//! Kinds of addresses.

use std::net::IpAddr;

/// Whether an address is one of the Internet: neither private nor local. Those reserved for documentation count as well: they
/// replace addresses of the Internet in captures that are published.
#[doc(hidden)]
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            // 100.64.0.0/10 is shared by the customers of a provider (RFC 6598).
            let is_shared = first == 100 && second & 0xc0 == 64;
            !(ip.is_private() || ip.is_loopback() || ip.is_link_local() || is_shared)
                && (1..224).contains(&first)
        }
        IpAddr::V6(ip) => {
            let [first, ..] = ip.segments();
            first & 0xe000 == 0x2000
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_local_addresses_are_not_public() {
        for ip in [
            "10.1.1.1",
            "172.31.0.1",
            "192.168.0.1",
            "100.64.1.1",
            "127.0.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "fe80::1",
        ] {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
        for ip in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "198.51.100.1", "2a00::1", "2001:db8::1"] {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
    }
}
