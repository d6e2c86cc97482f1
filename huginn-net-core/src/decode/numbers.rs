//! Tables of protocol numbers: what a number is called, and which decoder reads what follows it.
//!
//! A row has a number, a name and, if the protocol is decoded, a decoder. A number without a decoder is counted with its
//! name.

use std::fmt;

use super::counters::SkipReason;
use super::ip::IpPacket;
use super::udp_tunnel::{self, Recognised, TunnelDatagram};
use super::{
    HeaderResult, NextHeader, atm, ethernet, ethertype, gre, ip_tunnel, juniper, lan, link, mpls, overlay,
    ppp, wifi,
};
use crate::{Cursor, TunnelPath};

/// A registry of protocol numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Registry {
    /// `LINKTYPE_` values of the [tcpdump.org registry](https://www.tcpdump.org/linktypes.html).
    LinkType,
    /// Ethertypes, of GRE and other tunnels too.
    Ethertype,
    /// Service access points of IEEE 802.2.
    LlcSap,
    /// Organisation codes of SNAP headers.
    SnapOrganization,
    /// Network layer protocol identifiers of ISO/IEC TR 9577.
    Nlpid,
    /// Address families of BSD loopback and of netfilter.
    AddressFamily,
    /// Protocols of PPP.
    PppProtocol,
    /// Types (high four bits) and subtypes (low four bits) of 802.11 frames.
    WifiFrame,
    /// Protocols of IP.
    IpProtocol,
    /// UDP ports of tunnels.
    UdpPort,
    /// Next protocols of NSH, which VXLAN-GPE and LISP-GPE share (RFC 8300, section 9.1.6).
    NextProtocol,
}

/// A protocol number in its registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ProtocolNumber {
    /// The registry.
    pub registry: Registry,
    /// The number.
    pub number: u32,
}

impl ProtocolNumber {
    pub(super) fn new(registry: Registry, number: impl Into<u32>) -> Self {
        Self { registry, number: number.into() }
    }

    /// Returns the name of the protocol, such as `IPComp`, if it is known.
    pub fn name(self) -> Option<&'static str> {
        let Ok(number) = u16::try_from(self.number) else {
            return if self.registry == Registry::SnapOrganization { snap_name(self.number) } else { None };
        };
        match self.registry {
            Registry::LinkType => link_name(number),
            Registry::Ethertype => ethertype_name(number).or_else(|| gre_name(number)),
            Registry::LlcSap => llc_name(number),
            Registry::SnapOrganization => snap_name(number.into()),
            Registry::Nlpid => nlpid_name(number),
            Registry::PppProtocol => ppp_name(number),
            Registry::WifiFrame => wifi_name(number),
            Registry::IpProtocol => ip_name(number),
            Registry::UdpPort => udp_name(number),
            Registry::NextProtocol => next_name(number),
            Registry::AddressFamily => None,
        }
    }
}

/// Writes the name, if it is known, and the number: `IPComp (IP protocol 108)`, `ethertype 0x1234`.
impl fmt::Display for ProtocolNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, number } = *self;
        let name = self.name();
        if let Some(name) = name {
            write!(f, "{name} (")?;
        }
        match registry {
            Registry::LinkType => write!(f, "link type {number}"),
            Registry::Ethertype => write!(f, "ethertype {number:#06x}"),
            Registry::LlcSap => write!(f, "LLC SAP {number:#04x}"),
            Registry::SnapOrganization => write!(f, "SNAP organization {number:#08x}"),
            Registry::Nlpid => write!(f, "NLPID {number:#04x}"),
            Registry::AddressFamily => write!(f, "address family {number}"),
            Registry::PppProtocol => write!(f, "PPP protocol {number:#06x}"),
            Registry::WifiFrame => write!(f, "802.11 frame {number:#04x}"),
            Registry::IpProtocol => write!(f, "IP protocol {number}"),
            Registry::UdpPort => write!(f, "UDP port {number}"),
            Registry::NextProtocol => write!(f, "next protocol {number}"),
        }?;
        if name.is_some() { f.write_str(")") } else { Ok(()) }
    }
}

/// Defines a table: a function that calls the decoder of a number, if it has one, and a function that returns its name.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $name:ident, fn $decode:ident<$lifetime:lifetime>($($arg:ident: $kind:ty),*) -> $result:ty, $call:tt {
            $($number:literal $text:literal $(=> $decoder:expr)?;)*
        }
    ) => {
        $(#[$doc])*
        pub(super) fn $decode<$lifetime>(number: u16, $($arg: $kind),*) -> Option<$result> {
            match number {
                $($number => table!(@call $call $($decoder)?),)*
                _ => None,
            }
        }
        table! { $name { $($number $text;)* } }
    };
    ($name:ident { $($number:literal $text:literal;)* }) => {
        pub(super) fn $name(number: u16) -> Option<&'static str> {
            Some(match number {
                $($number => $text,)*
                _ => return None,
            })
        }
    };
    (@call $call:tt) => { None };
    (@call $call:tt $decoder:expr) => { Some($decoder $call) };
}

table! {
    /// Reads a frame by its link type. `cut`: whether the snap length cut the frame.
    link_name, fn link<'a>(data: &'a [u8], cut: bool, path: &mut TunnelPath) -> HeaderResult<'a>, (data, cut, path) {
        0 "BSD loopback" => |data, _, _| link::loopback(data);
        1 "Ethernet" => |data, _, _| ethernet::frame(data);
        6 "Token Ring" => |data, _, _| lan::token_ring(data);
        7 "ARCNET" => |data, _, _| lan::arcnet(data);
        8 "SLIP" => |data, _, _| link::after_bytes(data, 16, NextHeader::Ip);
        9 "PPP" => |data, _, _| ppp::frame(data);
        10 "FDDI" => |data, _, _| lan::fddi(data);
        12 "raw IP" => |data, _, _| Ok(NextHeader::Ip(data));
        14 "raw IP" => |data, _, _| Ok(NextHeader::Ip(data));
        50 "PPP" => |data, _, _| ppp::hdlc(data);
        51 "PPPoE" => |data, _, path| ppp::pppoe(data, path);
        100 "ATM" => |data, _, _| atm::aal5(data);
        101 "raw IP" => |data, _, _| Ok(NextHeader::Ip(data));
        104 "Cisco HDLC" => |data, _, _| ppp::hdlc(data);
        105 "802.11" => |data, _, _| wifi::frame(data, false);
        106 "classical IP over ATM" => |data, _, _| atm::aal5(data);
        107 "Frame Relay" => |data, _, _| atm::frame_relay(data);
        108 "OpenBSD loopback" => |data, _, _| link::loopback(data);
        109 "ENC" => |data, _, _| link::after_bytes(data, 12, NextHeader::Ip);
        113 "Linux cooked" => |data, _, _| link::cooked(data);
        117 "PFLOG" => |data, _, _| link::pflog(data);
        119 "802.11 with Prism header" => |data, _, _| link::prism(data);
        122 "IP over Fibre Channel" => |data, _, _| lan::fibre_channel(data);
        123 "SunATM" => |data, _, _| atm::sun(data);
        127 "802.11 with radiotap header" => |data, cut, _| wifi::radiotap(data, cut);
        129 "ARCNET" => |data, _, _| lan::arcnet_linux(data);
        130 "Juniper MLPPP" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(2));
        131 "Juniper MLFR" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(8));
        132 "Juniper ES" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(6));
        133 "Juniper GGSN" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(8));
        134 "Juniper MFR" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(4));
        135 "Juniper ATM2" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(8));
        136 "Juniper services" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(8));
        137 "Juniper ATM1" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(4));
        138 "IP over IEEE 1394" => |data, _, _| link::after_type(data, 16);
        143 "DOCSIS" => |data, _, _| lan::docsis(data);
        147 "USER0";
        149 "PKTAP in USER2" => |data, _, _| link::pktap(data, 149);
        163 "802.11 with AVS header" => |data, _, _| link::prism(data);
        164 "Juniper monitor" => |data, _, _| juniper::frame(data, juniper::Kind::Cookie(8));
        166 "PPP with direction" => |data, _, _| link::ppp_direction(data);
        167 "Juniper PPPoE" => |data, _, _| juniper::frame(data, juniper::Kind::Ethernet);
        168 "Juniper PPPoE over ATM" => |data, _, _| juniper::frame(data, juniper::Kind::Ethertype);
        178 "Juniper Ethernet" => |data, _, _| juniper::frame(data, juniper::Kind::Ethernet);
        179 "Juniper PPP" => |data, _, _| juniper::frame(data, juniper::Kind::Ppp);
        180 "Juniper Frame Relay" => |data, _, _| juniper::frame(data, juniper::Kind::FrameRelay);
        181 "Juniper Cisco HDLC" => |data, _, _| juniper::frame(data, juniper::Kind::CiscoHdlc);
        189 "USB";
        190 "CAN";
        192 "PPI" => |data, _, _| link::ppi(data);
        195 "802.15.4";
        197 "ERF" => |data, _, _| link::erf(data);
        204 "PPP with direction" => |data, _, _| link::ppp_direction(data);
        205 "Cisco HDLC with direction" => |data, _, _| link::direction(data, ppp::hdlc);
        206 "Frame Relay with direction" => |data, _, _| link::direction(data, atm::frame_relay);
        220 "USB";
        226 "Solaris ipnet" => |data, _, _| link::after_bytes(data, 24, NextHeader::Ip);
        227 "SocketCAN";
        228 "raw IPv4" => |data, _, _| Ok(NextHeader::Ip(data));
        229 "raw IPv6" => |data, _, _| Ok(NextHeader::Ip(data));
        230 "802.15.4";
        239 "netfilter log" => |data, _, _| link::nflog(data);
        240 "netANALYZER" => |data, _, _| link::after_ethernet_header(data, 4);
        241 "netANALYZER transparent" => |data, _, _| link::after_ethernet_header(data, 12);
        242 "IP over InfiniBand" => |data, _, _| lan::ip_over_infiniband(data);
        247 "InfiniBand" => |data, _, _| lan::infiniband(data);
        249 "USB";
        251 "Bluetooth LE";
        252 "Wireshark upper PDU";
        253 "netlink";
        258 "PKTAP" => |data, _, _| link::pktap(data, 258);
        271 "vsock";
        276 "Linux cooked 2" => |data, _, _| link::cooked_2(data);
        281 "Broadcom switch tag" => |data, _, _| link::switch_tagged(data, 4);
        282 "Broadcom switch tag" => |data, _, _| link::after_ethernet_header(data, 4);
        284 "Marvell switch tag" => |data, _, _| link::switch_tagged(data, 4);
        285 "Marvell switch tag" => |data, _, _| link::switch_tagged(data, 8);
    }
}

table! {
    /// Reads the payload of an ethertype.
    ethertype_name, fn ethertype<'a>(data: &'a [u8], path: &mut TunnelPath) -> HeaderResult<'a>, (data, path) {
        0x0800 "IPv4" => |data, _| Ok(NextHeader::Ip(data));
        0x0806 "ARP" => |_, _| Err(SkipReason::Arp);
        0x22ea "MSRP";
        0x22f0 "AVTP";
        0x22f3 "TRILL" => |data, _| overlay::trill(data);
        0x22f4 "IS-IS over TRILL";
        0x4305 "batman-adv" => |data, _| overlay::batman(data);
        0x6003 "DECnet";
        0x6558 "Ethernet" => |data, _| ethernet::frame(data);
        0x8035 "RARP" => |_, _| Err(SkipReason::Arp);
        0x809b "AppleTalk";
        0x80f3 "AppleTalk ARP";
        0x8100 "802.1Q" => ethertype::vlan;
        0x8137 "IPX";
        0x86dd "IPv6" => |data, _| Ok(NextHeader::Ip(data));
        0x8808 "Ethernet flow control";
        0x8809 "slow protocols (LACP)";
        0x880b "PPP" => |data, _| Ok(NextHeader::Ppp(data));
        0x8847 "MPLS" => mpls::stack;
        0x8848 "MPLS multicast" => mpls::stack;
        0x8863 "PPPoE discovery" => |_, _| Err(SkipReason::not_data(Registry::Ethertype, 0x8863_u16));
        0x8864 "PPPoE session" => ppp::pppoe;
        0x886c "Broadcom 802.11 events";
        0x8870 "LLC in a jumbo frame" => |data, _| ethernet::llc(data);
        0x8874 "Realtek loop detection";
        0x888e "EAPOL";
        0x8892 "PROFINET";
        0x8899 "Realtek remote control";
        0x88a2 "ATA over Ethernet";
        0x88a4 "EtherCAT";
        0x88a8 "802.1ad" => ethertype::vlan;
        0x88b8 "GOOSE";
        0x88ba "IEC 61850 sampled values";
        0x88be "ERSPAN in Ethernet";
        0x88ca "TIPC";
        0x88cc "LLDP";
        0x88e1 "HomePlug AV";
        0x88e3 "MRP";
        0x88e5 "MACsec" => |data, _| overlay::macsec(data);
        0x88e7 "802.1ah" => |data, _| ethertype::before_frame(data, 4);
        0x88f5 "MVRP";
        0x88f7 "PTP";
        0x88fb "PRP";
        0x8902 "connectivity fault management";
        0x8903 "FabricPath" => |data, _| ethertype::before_frame(data, 2);
        0x8906 "FCoE";
        0x8909 "Cisco metadata" => |data, _| ethertype::before_type(data, 6);
        0x8914 "FCoE initialization";
        0x8915 "RoCE";
        0x8926 "VN-tag" => |data, _| ethertype::before_type(data, 4);
        0x892f "HSR" => |data, _| ethertype::before_type(data, 4);
        0x893a "IEEE 1905";
        0x893f "E-tag" => |data, _| ethertype::before_type(data, 6);
        0x894f "NSH" => |data, _| ethertype::service_header(data);
        0x9000 "loopback";
        0x9100 "QinQ" => ethertype::vlan;
        0x9200 "QinQ" => ethertype::vlan;
        0x9300 "QinQ" => ethertype::vlan;
        0xd28b "Arista time stamp" => |data, _| overlay::arista(data);
    }
}

table! {
    /// Reads the payload of a protocol type that only GRE has.
    gre_name, fn gre<'a>(flags: u16, cursor: Cursor<'a>, path: &mut TunnelPath) -> HeaderResult<'a>, (flags, cursor, path) {
        0x2001 "NHRP";
        0x22eb "ERSPAN III" => |_, cursor, path| gre::erspan_3(cursor, path);
        0x6400 "EoIP" => |_, cursor, path| gre::eoip(cursor, path);
        0x883e "WCCP" => |_, cursor, _| gre::wccp(cursor);
        0x88be "ERSPAN" => gre::erspan;
    }
}

table! {
    /// Reads the payload of an IP protocol other than TCP and UDP.
    ip_name, fn ip<'a>(packet: &IpPacket<'a>, path: &mut TunnelPath) -> HeaderResult<'a>, (packet, path) {
        0 "hop-by-hop options";
        1 "ICMP" => |_, _| Err(SkipReason::Icmp);
        2 "IGMP";
        4 "IPv4" => ip_tunnel::ip;
        8 "EGP";
        9 "IGRP";
        27 "RDP";
        33 "DCCP";
        41 "IPv6" => ip_tunnel::ip;
        46 "RSVP";
        47 "GRE" => |packet: &IpPacket<'a>, path| gre::packet(packet.payload, path);
        50 "ESP" => ip_tunnel::esp;
        55 "minimal encapsulation";
        58 "ICMPv6" => |_, _| Err(SkipReason::Icmp);
        59 "no next header";
        88 "EIGRP";
        89 "OSPF";
        94 "IP within IP";
        97 "EtherIP" => ip_tunnel::ether_ip;
        103 "PIM";
        108 "IPComp";
        112 "VRRP";
        113 "PGM";
        115 "L2TPv3" => ip_tunnel::l2tp_v3;
        124 "IS-IS over IPv4";
        132 "SCTP";
        133 "Fibre Channel";
        136 "UDP-Lite";
        137 "MPLS" => |packet: &IpPacket<'a>, _| Ok(NextHeader::Ethertype(ethertype::MPLS, packet.payload));
        138 "MANET";
        143 "Ethernet" => |packet: &IpPacket<'a>, _| ethernet::frame(packet.payload);
        240 "Ethernet over IP";
        253 "experiments";
        254 "experiments";
    }
}

table! {
    /// Recognises a tunnel by a UDP port and by its header.
    udp_name, fn udp<'a>(datagram: &TunnelDatagram<'a>) -> Recognised<'a>, (datagram) {
        1701 "L2TP" => udp_tunnel::l2tp;
        2152 "GTP-U" => udp_tunnel::gtpu;
        2268 "AMT" => udp_tunnel::amt;
        3544 "Teredo" => udp_tunnel::teredo;
        4341 "LISP" => udp_tunnel::lisp;
        4500 "ESP in UDP" => udp_tunnel::esp;
        4789 "VXLAN" => udp_tunnel::vxlan;
        4790 "VXLAN-GPE" => udp_tunnel::vxlan;
        5247 "CAPWAP" => udp_tunnel::capwap;
        // FOU has no port of its own: those of Linux' ip-fou(8) and of the articles about it.
        5555 "FOU" => udp_tunnel::fou;
        6080 "GUE" => udp_tunnel::gue;
        6081 "Geneve" => udp_tunnel::geneve;
        6635 "MPLS over UDP" => udp_tunnel::mpls;
        7777 "FOU" => udp_tunnel::fou;
        // The least port that HP's manuals recommend.
        7933 "HP ERM" => udp_tunnel::hp_erm;
        // The VXLAN port of Linux before IANA assigned one.
        8472 "VXLAN" => udp_tunnel::vxlan;
        8888 "FOU" => udp_tunnel::fou;
        30030 "Juniper mirror" => udp_tunnel::juniper_mirror;
        37008 "TZSP" => udp_tunnel::tzsp;
        // VXLAN of Cisco ACI fabrics.
        48879 "VXLAN" => udp_tunnel::vxlan;
    }
}

table! {
    /// Reads the payload of a PPP protocol.
    ppp_name, fn ppp<'a>(data: &'a [u8]) -> HeaderResult<'a>, (data) {
        0x0021 "IPv4" => |data| Ok(NextHeader::Ip(data));
        0x0023 "OSI";
        0x0029 "AppleTalk";
        0x002b "IPX";
        0x002d "compressed TCP/IP";
        0x002f "uncompressed TCP/IP";
        0x0031 "bridging" => ppp::bridged;
        0x003d "multilink" => ppp::multilink;
        0x0053 "encryption" => |_| Err(SkipReason::Encrypted(ProtocolNumber::new(Registry::PppProtocol, 0x53_u8)));
        0x0055 "encryption of one link" =>
            |_| Err(SkipReason::Encrypted(ProtocolNumber::new(Registry::PppProtocol, 0x55_u8)));
        0x0057 "IPv6" => |data| Ok(NextHeader::Ip(data));
        0x00fb "compression of one link";
        0x00fd "compression or MPPE";
        0x0281 "MPLS" => |data| Ok(NextHeader::Ethertype(ethertype::MPLS, data));
        0x0283 "MPLS multicast" => |data| Ok(NextHeader::Ethertype(ethertype::MPLS_MULTICAST, data));
        0x8021 "IPCP";
        0x8023 "OSINLCP";
        0x802b "IPXCP";
        0x8031 "BCP";
        0x8053 "ECP";
        0x8057 "IPV6CP";
        0x80fd "CCP";
        0x8281 "MPLSCP";
        0xc021 "LCP";
        0xc023 "PAP";
        0xc025 "LQR";
        0xc02b "BACP";
        0xc223 "CHAP";
        0xc227 "EAP";
    }
}

table! {
    /// Reads the payload of a network layer protocol identifier.
    nlpid_name, fn nlpid<'a>(data: &'a [u8]) -> HeaderResult<'a>, (data) {
        0x08 "Q.933";
        0x80 "SNAP" => atm::snap;
        0x81 "CLNP";
        0x82 "ES-IS";
        0x83 "IS-IS";
        0x8e "IPv6" => |data| Ok(NextHeader::Ip(data));
        0xb0 "data compression";
        0xcc "IPv4" => |data| Ok(NextHeader::Ip(data));
        0xcf "PPP" => |data| Ok(NextHeader::Ppp(data));
    }
}

table! {
    /// Reads the payload of a next protocol of NSH.
    next_name, fn next<'a>(data: &'a [u8]) -> HeaderResult<'a>, (data) {
        1 "IPv4" => |data| Ok(NextHeader::Ip(data));
        2 "IPv6" => |data| Ok(NextHeader::Ip(data));
        3 "Ethernet" => |data| Ok(NextHeader::Ethertype(ethertype::ETHERNET, data));
        4 "NSH" => |data| Ok(NextHeader::Ethertype(ethertype::NSH, data));
        5 "MPLS" => |data| Ok(NextHeader::Ethertype(ethertype::MPLS, data));
    }
}

table! {
    llc_name {
        0x00 "null";
        0x04 "SNA";
        0x06 "IP";
        0x42 "spanning tree";
        0xaa "SNAP";
        0xe0 "IPX";
        0xf0 "NetBIOS";
        0xfe "OSI";
        0xff "raw IPX";
    }
}

table! {
    wifi_name {
        0x00 "association request";
        0x01 "association response";
        0x02 "reassociation request";
        0x03 "reassociation response";
        0x04 "probe request";
        0x05 "probe response";
        0x08 "beacon";
        0x0a "disassociation";
        0x0b "authentication";
        0x0c "deauthentication";
        0x0d "action";
        0x18 "block ACK request";
        0x19 "block ACK";
        0x1a "PS-Poll";
        0x1b "RTS";
        0x1c "CTS";
        0x1d "ACK";
        0x24 "null data";
        0x2c "QoS null data";
    }
}

/// Returns the name of an organisation code.
fn snap_name(number: u32) -> Option<&'static str> {
    match number {
        0x00_000c => Some("Cisco"),
        0x08_0007 => Some("AppleTalk"),
        0x00_80c2 => Some("bridged frame"),
        _ => None,
    }
}
