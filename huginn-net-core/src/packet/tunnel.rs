//! VLAN tags and tunnels around a packet.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::Addresses;
use crate::limits::MAX_TUNNEL_LAYERS;

/// One tag or tunnel header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TunnelLayer {
    /// IEEE 802.1Q or 802.1ad tag: the VLAN identifier.
    Vlan(u16),
    /// MPLS (RFC 3032): the label.
    Mpls(u32),
    /// PPPoE (RFC 2516): the session.
    Pppoe(u16),
    /// GRE (RFC 2784, RFC 2890), and the enhanced GRE of PPTP (RFC 2637).
    Gre,
    /// ERSPAN: the session.
    Erspan(u16),
    /// VXLAN (RFC 7348): the network identifier.
    Vxlan(u32),
    /// Geneve (RFC 8926): the network identifier.
    Geneve(u32),
    /// GTP-U (3GPP TS 29.281): the tunnel endpoint identifier of this direction.
    Gtpu(u32),
    /// CAPWAP data (RFC 5415).
    Capwap,
    /// IPv4 in IPv4 (RFC 2003).
    IpInIp,
    /// IPv6 in IPv4 (RFC 4213).
    SixInFour,
    /// IPv4 in IPv6 (RFC 2473).
    FourInSix,
    /// IPv6 in IPv6 (RFC 2473).
    SixInSix,
    /// Teredo (RFC 4380).
    Teredo,
    /// Ethernet in IP (RFC 3378).
    EtherIp,
    /// L2TP (RFC 2661, RFC 3931): the session identifier of this direction; 0 for control messages.
    L2tp(u32),
    /// TZSP, the mirror of sniffers and routers.
    Tzsp,
    /// LISP (RFC 9300): the instance identifier; 0 without one.
    Lisp(u32),
    /// Generic UDP Encapsulation.
    Gue,
    /// Foo over UDP of Linux.
    Fou,
    /// AMT (RFC 7450): multicast over UDP.
    Amt,
    /// ESP (RFC 4303) with null encryption.
    Esp,
    /// Encapsulated remote mirroring of HP ProCurve switches.
    HpErm,
    /// Packet mirroring of Juniper's JUNOSe.
    JuniperMirror,
    /// The [interface](crate::Timestamp::interface) that captured the packet, if
    /// [`DecodeConfig::interface_in_flow_key`](crate::DecodeConfig::interface_in_flow_key) is set; always the first layer.
    Interface(u16),
}

impl TunnelLayer {
    /// Returns the word that this layer contributes to the flow key.
    ///
    /// MPLS labels, GTP-U endpoint identifiers and L2TP sessions differ between the directions of a flow. The key omits
    /// them, so that both directions share a flow.
    pub(crate) fn key_word(self) -> u64 {
        let (kind, id) = match self {
            Self::Vlan(id) => (1, u32::from(id)),
            Self::Mpls(_) => (2, 0),
            Self::Pppoe(id) => (3, u32::from(id)),
            Self::Gre => (4, 0),
            Self::Erspan(id) => (5, u32::from(id)),
            Self::Vxlan(id) => (6, id),
            Self::Geneve(id) => (7, id),
            Self::Gtpu(_) => (8, 0),
            Self::Capwap => (9, 0),
            Self::IpInIp => (10, 0),
            Self::SixInFour => (11, 0),
            Self::FourInSix => (12, 0),
            Self::SixInSix => (13, 0),
            Self::Teredo => (14, 0),
            Self::EtherIp => (15, 0),
            Self::L2tp(_) => (16, 0),
            Self::Tzsp => (17, 0),
            Self::Lisp(id) => (18, id),
            Self::Gue => (19, 0),
            Self::Interface(index) => (20, u32::from(index)),
            Self::Fou => (21, 0),
            Self::Amt => (22, 0),
            Self::Esp => (23, 0),
            Self::HpErm => (24, 0),
            Self::JuniperMirror => (25, 0),
        };
        (kind << 32) | u64::from(id)
    }
}

impl fmt::Display for TunnelLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vlan(id) => write!(f, "vlan:{id}"),
            Self::Mpls(label) => write!(f, "mpls:{label}"),
            Self::Pppoe(session) => write!(f, "pppoe:{session}"),
            Self::Gre => f.write_str("gre"),
            Self::Erspan(session) => write!(f, "erspan:{session}"),
            Self::Vxlan(vni) => write!(f, "vxlan:{vni}"),
            Self::Geneve(vni) => write!(f, "geneve:{vni}"),
            Self::Gtpu(teid) => write!(f, "gtp-u:{teid}"),
            Self::Capwap => f.write_str("capwap"),
            Self::IpInIp => f.write_str("ipip"),
            Self::SixInFour => f.write_str("6in4"),
            Self::FourInSix => f.write_str("4in6"),
            Self::SixInSix => f.write_str("6in6"),
            Self::Teredo => f.write_str("teredo"),
            Self::EtherIp => f.write_str("etherip"),
            Self::L2tp(session) => write!(f, "l2tp:{session}"),
            Self::Tzsp => f.write_str("tzsp"),
            Self::Lisp(instance) => write!(f, "lisp:{instance}"),
            Self::Gue => f.write_str("gue"),
            Self::Fou => f.write_str("fou"),
            Self::Amt => f.write_str("amt"),
            Self::Esp => f.write_str("esp"),
            Self::HpErm => f.write_str("hp-erm"),
            Self::JuniperMirror => f.write_str("jmirror"),
            Self::Interface(index) => write!(f, "interface:{index}"),
        }
    }
}

/// Parses the text that [`Display`](fmt::Display) writes.
impl FromStr for TunnelLayer {
    type Err = TunnelLayerError;

    fn from_str(text: &str) -> Result<Self, TunnelLayerError> {
        let error = || TunnelLayerError(text.to_owned());
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let wide = || number.and_then(|number| number.parse().ok()).ok_or_else(error);
        let narrow = || number.and_then(|number| number.parse().ok()).ok_or_else(error);
        match name {
            "vlan" => return narrow().map(Self::Vlan),
            "mpls" => return wide().map(Self::Mpls),
            "pppoe" => return narrow().map(Self::Pppoe),
            "interface" => return narrow().map(Self::Interface),
            "erspan" => return narrow().map(Self::Erspan),
            "vxlan" => return wide().map(Self::Vxlan),
            "geneve" => return wide().map(Self::Geneve),
            "gtp-u" => return wide().map(Self::Gtpu),
            "l2tp" => return wide().map(Self::L2tp),
            "lisp" => return wide().map(Self::Lisp),
            _ => {}
        }
        Ok(match text {
            "gre" => Self::Gre,
            "capwap" => Self::Capwap,
            "ipip" => Self::IpInIp,
            "6in4" => Self::SixInFour,
            "4in6" => Self::FourInSix,
            "6in6" => Self::SixInSix,
            "teredo" => Self::Teredo,
            "etherip" => Self::EtherIp,
            "tzsp" => Self::Tzsp,
            "gue" => Self::Gue,
            "fou" => Self::Fou,
            "amt" => Self::Amt,
            "esp" => Self::Esp,
            "hp-erm" => Self::HpErm,
            "jmirror" => Self::JuniperMirror,
            _ => return Err(error()),
        })
    }
}

/// A text that names no [`TunnelLayer`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a tunnel or tag")]
pub struct TunnelLayerError(String);

/// VLAN tags and tunnels around a packet, outermost first.
#[derive(Clone, Copy)]
pub struct TunnelPath {
    layers: [TunnelLayer; MAX_TUNNEL_LAYERS],
    len: u8,
    /// Hash of the path for the flow key; 0 without layers.
    key: u64,
    /// Whether VLAN tags are left out of the key.
    ignores_vlan: bool,
}

impl TunnelPath {
    /// No tag and no tunnel.
    pub const EMPTY: Self =
        Self { layers: [TunnelLayer::Gre; MAX_TUNNEL_LAYERS], len: 0, key: 0, ignores_vlan: false };

    /// The layers, outermost first.
    pub fn layers(&self) -> &[TunnelLayer] {
        self.layers.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Whether there is no layer at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an inner layer. Returns false if the path already has 8.
    #[must_use]
    pub fn push(&mut self, layer: TunnelLayer) -> bool {
        match self.layers.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = layer;
                self.len = self.len.saturating_add(1);
                if !(self.ignores_vlan && matches!(layer, TunnelLayer::Vlan(_))) {
                    self.mix_key(layer.key_word());
                }
                true
            }
            None => false,
        }
    }

    /// Returns the path with these layers and this [key word](Self::key_word). `None` if there are more than
    /// 8 layers.
    pub fn with_key_word(layers: &[TunnelLayer], key_word: u64) -> Option<Self> {
        let mut path = Self::EMPTY;
        layers.iter().all(|layer| path.push(*layer)).then_some(Self { key: key_word, ..path })
    }

    /// Creates an empty path. `ignores_vlan`: whether VLAN tags are left out of the key.
    pub(crate) const fn new(ignores_vlan: bool) -> Self {
        Self { ignores_vlan, ..Self::EMPTY }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.key = 0;
    }

    /// Mixes a word that both directions share into the key.
    pub(crate) fn mix_key(&mut self, word: u64) {
        // An odd multiplier (the fractional part of the golden ratio) makes the fold depend on the order.
        self.key = (self.key ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// Mixes the two endpoints of a tunnel into the key.
    pub(crate) fn mix_endpoints(&mut self, ends: Addresses) {
        let end = |bits: u128| {
            #[expect(clippy::cast_possible_truncation, reason = "the halves of a word")]
            let halves = ((bits >> 64) as u64, bits as u64);
            let spread =
                (halves.0.rotate_left(32) ^ halves.1).wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
            (spread ^ (spread >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
        };
        let (one, other) = match ends {
            Addresses::V4 { src, dst } => (end(src.to_bits().into()), end(dst.to_bits().into())),
            Addresses::V6 { src, dst } => (end(src.to_bits()), end(dst.to_bits())),
        };
        // The sum is the same in both directions. Each endpoint is hashed first, so that different pairs rarely share
        // a sum.
        self.mix_key(one.wrapping_add(other));
    }

    /// Returns the hash of this path, the same in both directions; 0 without layers.
    pub fn key_word(&self) -> u64 {
        self.key
    }
}

impl Default for TunnelPath {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Paths of the same layers differ if their [key words](TunnelPath::key_word) do: two GRE tunnels with other endpoints.
impl PartialEq for TunnelPath {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.layers() == other.layers()
    }
}

impl Eq for TunnelPath {}

impl Hash for TunnelPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.layers().hash(state);
    }
}

impl fmt::Debug for TunnelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.layers().iter().map(ToString::to_string)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn key_distinguishes_tunnel_endpoints_in_both_directions() {
        let key = |one: &str, other: &str, gre_key: u64| {
            let mut path = TunnelPath::EMPTY;
            path.mix_endpoints(match (one.parse().unwrap(), other.parse().unwrap()) {
                (IpAddr::V4(src), IpAddr::V4(dst)) => Addresses::V4 { src, dst },
                (IpAddr::V6(src), IpAddr::V6(dst)) => Addresses::V6 { src, dst },
                mixed => panic!("{mixed:?}"),
            });
            path.mix_key(gre_key);
            assert!(path.push(TunnelLayer::Gre));
            path.key_word()
        };
        let there = key("192.0.2.1", "192.0.2.2", 100);
        assert_eq!(there, key("192.0.2.2", "192.0.2.1", 100));
        for other in [
            key("192.0.2.1", "192.0.2.3", 100),
            key("192.0.2.1", "192.0.2.2", 200),
            key("2001:db8::1", "2001:db8::2", 100),
            key("192.0.2.0", "192.0.2.3", 100),
        ] {
            assert_ne!(there, other);
        }
    }

    #[test]
    fn paths_with_the_same_layers_differ_in_their_key() {
        let path = |key| TunnelPath::with_key_word(&[TunnelLayer::Gre], key).unwrap();
        assert_eq!(path(1), path(1));
        assert_ne!(path(1), path(2));
    }

    #[test]
    fn display_of_layer_is_parsed() {
        use TunnelLayer::*;
        let numbered = [
            Vlan(4095),
            Mpls(1 << 19),
            Pppoe(1),
            Erspan(2),
            Vxlan(1 << 23),
            Geneve(3),
            Gtpu(u32::MAX),
            L2tp(7),
            Lisp(8),
            Interface(9),
        ];
        let plain = [
            Gre,
            Capwap,
            IpInIp,
            SixInFour,
            FourInSix,
            SixInSix,
            Teredo,
            EtherIp,
            Tzsp,
            Gue,
            Fou,
            Amt,
            Esp,
            HpErm,
            JuniperMirror,
        ];
        for layer in numbered.into_iter().chain(plain) {
            assert_eq!(layer.to_string().parse(), Ok(layer));
        }
        for text in ["", "vlan", "vlan:", "vlan:65536", "gre:1", "vxlan:-1"] {
            assert!(text.parse::<TunnelLayer>().is_err(), "{text}");
        }
    }
}
