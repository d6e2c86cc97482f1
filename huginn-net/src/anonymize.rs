//! Pseudonyms of addresses that keep prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str;

use huginn_net_core::{AddressMap, IpNet};
use ipcrypt_rs::IpcryptPfx;

/// Gives each address a pseudonym that only a key can turn back: ipcrypt-pfx (draft-denis-ipcrypt).
///
/// Two addresses that have their first bits in common have as many in common afterwards, so that networks stay networks. Kinds of
/// addresses stay what they are: private, shared (RFC 6598), link-local, loopback, multicast and reserved ones, and the global ones of IPv6.
/// So the bits that an address has in common with one of these networks, and one more, are not hidden.
///
/// ```
/// use huginn_net::anonymize::Anonymizer;
/// use huginn_net::core::AddressMap;
///
/// let key: [u8; 32] = std::array::from_fn(|byte| byte as u8);
/// let anonymizer = Anonymizer::new(key).unwrap();
/// let private = anonymizer.map_v4([10, 1, 2, 3].into());
/// assert!(private.is_private() && private.octets() != [10, 1, 2, 3]);
/// assert_eq!(private.octets()[..3], anonymizer.map_v4([10, 1, 2, 200].into()).octets()[..3]);
/// ```
pub struct Anonymizer(IpcryptPfx);

/// Networks whose addresses stay in them, by first address and number of bits.
const KEPT_V4: [(Ipv4Addr, u32); 10] = [
    (Ipv4Addr::UNSPECIFIED, 32),
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
    (Ipv4Addr::BROADCAST, 32),
];

/// See [`KEPT_V4`]. The first one is that of the unspecified address and of loopback.
const KEPT_V6: [(Ipv6Addr, u32); 5] = [
    (Ipv6Addr::UNSPECIFIED, 127),
    (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

impl Anonymizer {
    /// Pseudonyms of this key: 32 random bytes. `None` if its halves are equal, which ipcrypt-pfx does not permit.
    pub fn new(key: [u8; 32]) -> Option<Self> {
        let (first, second) = key.split_at(16);
        (first != second).then(|| Self(IpcryptPfx::new(key)))
    }

    /// The network of the pseudonyms of a network.
    #[must_use]
    pub fn net(&self, net: IpNet) -> IpNet {
        let mapped = self.map(net.addr());
        IpNet::new(mapped, net.prefix_len()).map_or(net, |net| net.trunc())
    }

    /// The pseudonym of an address.
    #[must_use]
    pub fn map(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => self.map_v4(address).into(),
            IpAddr::V6(address) => self.map_v6(address).into(),
        }
    }
}

impl AddressMap for Anonymizer {
    fn map_v4(&self, address: Ipv4Addr) -> Ipv4Addr {
        let IpAddr::V4(encrypted) = self.0.encrypt_ipaddr(address.into()) else {
            return Ipv4Addr::UNSPECIFIED;
        };
        let kept =
            kept_bits(KEPT_V4.map(|(net, len)| ((net.to_bits() ^ address.to_bits()).leading_zeros(), len)));
        let hidden = u32::MAX.checked_shr(kept).unwrap_or(0);
        Ipv4Addr::from_bits(address.to_bits() & !hidden | encrypted.to_bits() & hidden)
    }

    fn map_v6(&self, address: Ipv6Addr) -> Ipv6Addr {
        if let Some(address) = address.to_ipv4_mapped() {
            return self.map_v4(address).to_ipv6_mapped();
        }
        let kept =
            kept_bits(KEPT_V6.map(|(net, len)| ((net.to_bits() ^ address.to_bits()).leading_zeros(), len)));
        let hidden = u128::MAX.checked_shr(kept).unwrap_or(0);
        // The few that look like an address of IPv4 are returned as one.
        let encrypted = match self.0.encrypt_ipaddr(address.into()) {
            IpAddr::V4(encrypted) => encrypted.to_ipv6_mapped(),
            IpAddr::V6(encrypted) => encrypted,
        };
        Ipv6Addr::from_bits(address.to_bits() & !hidden | encrypted.to_bits() & hidden)
    }
}

impl fmt::Debug for Anonymizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anonymizer").finish_non_exhaustive()
    }
}

/// The number of first bits that do not change: of each network those that lead into it, as (bits in common, bits of the network). A bit
/// changes or not by those before it, so that prefixes stay prefixes.
fn kept_bits<const N: usize>(networks: [(u32, u32); N]) -> u32 {
    networks.into_iter().map(|(common, len)| common.saturating_add(1).min(len)).max().unwrap_or(0)
}

/// Header fields that name products, with versions such as that of `Chrome/131.0.0.0`.
const OF_PRODUCTS: [&str; 3] = ["user-agent", "server", "x-powered-by"];

/// Replaces the addresses in a text of an HTTP head; `None` if it has none. `name`: that of the header field.
pub(crate) fn in_head(name: Option<&[u8]>, text: &[u8], map: &dyn AddressMap) -> Option<Vec<u8>> {
    // Versions alone.
    if name.is_some_and(|name| name.to_ascii_lowercase().starts_with(b"sec-ch-ua")) {
        return None;
    }
    let is = |known: &str| name.is_some_and(|name| name.eq_ignore_ascii_case(known.as_bytes()));
    let has_products = OF_PRODUCTS.into_iter().any(is);
    let mut replaced = Vec::with_capacity(text.len());
    let mut is_changed = false;
    let mut rest = text;
    while !rest.is_empty() {
        let word_len = rest.iter().take_while(|byte| is_of_address(**byte)).count();
        let is_version = has_products && matches!(*replaced, [.., before, b'/'] if before != b'/');
        // Encoded bytes stay as they are.
        let copied_len = match rest {
            [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 3,
            _ if is_version => word_len.max(1),
            _ if word_len == 0 => 1,
            _ => 0,
        };
        let Some((head, after)) = rest.split_at_checked(copied_len.max(word_len)) else { break };
        rest = after;
        let mapped =
            str::from_utf8(head).ok().filter(|_| copied_len == 0).and_then(|word| in_word(word, map));
        is_changed |= mapped.is_some();
        replaced.extend_from_slice(mapped.as_ref().map_or(head, String::as_bytes));
    }
    is_changed.then_some(replaced)
}

fn is_of_address(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b'.' || byte == b':'
}

/// Replaces an address of IPv6, with a colon before or a point after it, or else all of IPv4 in a word.
fn in_word(word: &str, map: &dyn AddressMap) -> Option<String> {
    let start = word.strip_prefix(':').filter(|rest| !rest.starts_with(':')).unwrap_or(word);
    let address = start.trim_end_matches('.');
    if let Ok(parsed) = address.parse() {
        let before = word.strip_suffix(start)?;
        return Some(format!("{before}{}{}", map.map_v6(parsed), start.strip_prefix(address)?));
    }
    let mut replaced = String::new();
    let mut is_changed = false;
    for part in word.split_inclusive(|letter: char| !letter.is_ascii_digit() && letter != '.') {
        let digits = part.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let start = digits.trim_start_matches('.');
        match start.parse() {
            Ok(address) => {
                is_changed = true;
                replaced.push_str(digits.strip_suffix(start)?);
                replaced.push_str(&map.map_v4(address).to_string());
            }
            Err(_) => replaced.push_str(digits),
        }
        replaced.push_str(part.strip_prefix(digits)?);
    }
    is_changed.then_some(replaced)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn anonymizer() -> Anonymizer {
        Anonymizer::new(std::array::from_fn(|byte| u8::try_from(byte).unwrap())).unwrap()
    }

    fn map(text: &str) -> IpAddr {
        anonymizer().map(text.parse().unwrap())
    }

    #[test]
    fn kinds_of_addresses_stay_what_they_are() {
        for (text, net) in [
            ("10.1.2.3", "10.0.0.0/8"),
            ("172.31.255.1", "172.16.0.0/12"),
            ("192.168.7.8", "192.168.0.0/16"),
            ("100.127.0.1", "100.64.0.0/10"),
            ("169.254.9.9", "169.254.0.0/16"),
            ("127.0.0.1", "127.0.0.0/8"),
            ("239.255.255.250", "224.0.0.0/3"),
            ("2001:db8::1", "2000::/3"),
            ("fe80::1", "fe80::/10"),
            ("fd00::7", "fc00::/7"),
            ("ff02::fb", "ff00::/8"),
        ] {
            let net: IpNet = net.parse().unwrap();
            assert!(net.contains(&map(text)) && map(text).to_string() != text, "{text}: {}", map(text));
        }
        for same in ["0.0.0.0", "255.255.255.255", "::", "::1"] {
            assert_eq!(map(same).to_string(), same);
        }
        for public in ["8.8.8.8", "11.0.0.1", "192.0.2.1", "203.0.113.9"] {
            assert!(
                crate::addresses::is_public(map(public)) && map(public).to_string() != public,
                "{public}"
            );
        }
    }

    #[test]
    fn common_prefixes_stay_as_long() {
        let texts = [
            "10.0.0.1",
            "10.0.0.2",
            "10.0.3.1",
            "11.0.0.1",
            "203.0.113.9",
            "203.0.113.200",
            "8.8.8.8",
            "192.168.0.1",
        ];
        let bits = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => ip.to_bits(),
            IpAddr::V6(ip) => panic!("{ip}"),
        };
        for (one, other) in texts.iter().flat_map(|one| texts.iter().map(move |other| (one, other))) {
            let before = bits(one.parse().unwrap()) ^ bits(other.parse().unwrap());
            let after = bits(map(one)) ^ bits(map(other));
            assert_eq!(before.leading_zeros(), after.leading_zeros(), "{one} {other}");
        }
        let net = anonymizer().net("203.0.113.0/24".parse().unwrap());
        assert!(net.contains(&map("203.0.113.77")) && !net.contains(&map("203.0.112.77")), "{net}");
    }

    #[test]
    fn a_key_of_equal_halves_is_refused() {
        assert!(Anonymizer::new([7; 32]).is_none());
        assert!(!format!("{:?}", anonymizer()).contains('7'));
    }

    proptest! {
        #[test]
        fn each_address_between_any_texts_is_replaced(before in "[ =,;\\[\u{feff}é]{0,3}", after in "[ ,;\\]/\u{feff}é]{0,3}", bytes in any::<[u8; 20]>()) {
            let address = Ipv4Addr::from_bits(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            let text = format!("{before}{address}{after}");
            let expected = format!("{before}{}{after}", anonymizer().map_v4(address));
            prop_assert_eq!(in_head(None, text.as_bytes(), &anonymizer()), Some(expected.into_bytes()));
            // Bytes other than text.
            in_head(None, &bytes, &anonymizer());
        }
    }

    #[test]
    fn addresses_in_heads_are_replaced() {
        let replaced = |name: &str, text: &str| {
            let replaced = in_head(Some(name.as_bytes()), text.as_bytes(), &anonymizer());
            replaced.map(|text| String::from_utf8(text).unwrap())
        };
        let [one, two, six] = ["203.0.113.9", "10.1.1.1", "2001:db8::9"].map(map);
        for (text, expected) in [
            ("203.0.113.9, 10.1.1.1", format!("{one}, {two}")),
            ("for=203.0.113.9;by=\"[2001:db8::9]:80\"", format!("for={one};by=\"[{six}]:80\"")),
            ("10.1.1.1:8080", format!("{two}:8080")),
            ("http://10.1.1.1/x?a=203.0.113.9", format!("http://{two}/x?a={one}")),
            ("at 10.1.1.1...", format!("at {two}...")),
            ("ip:10.1.1.1", format!("ip:{two}")),
            ("a10.1.1.1", format!("a{two}")),
            ("/r?u=%2Fx%3D203.0.113.9", format!("/r?u=%2Fx%3D{one}")),
            ("by:2001:db8::9.", format!("by:{six}.")),
            ("::ffff:10.1.1.1", format!("::ffff:{two}")),
        ] {
            assert_eq!(replaced("X-Forwarded-For", text), Some(expected));
        }
        for other in ["\u{feff}", "a\u{feff}1.2.3", "www.example.org", "1.2.3.4.5", "12:30", "1.1 proxy", ""]
        {
            assert_eq!(replaced("Host", other), None, "{other}");
        }
        assert_eq!(replaced("User-Agent", "Chrome/131.0.0.0"), None);
        assert_eq!(replaced("User-Agent", "${ldap://10.1.1.1/a}"), Some(format!("${{ldap://{two}/a}}")));
        assert_eq!(replaced("Sec-CH-UA-Full-Version-List", "131.0.0.0"), None);
    }
}
