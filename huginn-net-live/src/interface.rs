//! Lists network interfaces.

use huginn_net_core::IpNet;

use crate::LiveError;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// The name.
    pub name: String,
    /// The interface index; 0 if the system has none.
    pub index: u32,
    /// A description, if libpcap has one.
    pub description: Option<String>,
    /// The MAC address, if the interface has one of six bytes.
    pub mac: Option<[u8; 6]>,
    /// The IP addresses with their prefix lengths.
    pub addresses: Vec<IpNet>,
    /// The MTU in bytes, if known.
    pub mtu: Option<u32>,
    /// Whether the interface is administratively up (`IFF_UP`).
    pub is_up: bool,
    /// Whether the interface is up and has a carrier (`IFF_RUNNING`).
    pub is_running: bool,
    /// Whether this is a loopback interface.
    pub is_loopback: bool,
}

/// Lists the interfaces of this thread's network namespace, by index.
///
/// # Errors
/// [`LiveError::System`] if the system call fails, [`LiveError::NoBackend`] if this build cannot list interfaces.
pub fn interfaces() -> Result<Vec<Interface>, LiveError> {
    let mut interfaces = list::interfaces()?;
    describe(&mut interfaces);
    interfaces.sort_by_key(|interface| interface.index);
    Ok(interfaces)
}

/// Adds libpcap's descriptions.
#[cfg(feature = "libpcap")]
fn describe(interfaces: &mut [Interface]) {
    let devices = pcap::Device::list().unwrap_or_default();
    for interface in interfaces {
        let device = devices.iter().find(|device| device.name == interface.name);
        interface.description = device.and_then(|device| device.desc.clone());
    }
}

#[cfg(not(feature = "libpcap"))]
fn describe(_: &mut [Interface]) {}

/// Lists the interfaces without descriptions.
pub(crate) use list::interfaces as list_without_descriptions;

/// What identifies an interface.
#[cfg(target_os = "linux")]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// Whether the interface is administratively up.
    pub(crate) is_up: bool,
}

/// Lists what identifies the interfaces, without reading files.
#[cfg(target_os = "linux")]
pub(crate) use list::links;

#[cfg(unix)]
mod list {
    #[cfg(target_os = "linux")]
    use std::collections::HashSet;
    use std::fs;
    use std::net::IpAddr;

    use huginn_net_core::IpNet;
    use nix::ifaddrs::{InterfaceAddress, getifaddrs};
    use nix::net::if_::{InterfaceFlags, if_nametoindex};
    use nix::sys::socket::SockaddrStorage;

    use super::Interface;
    use crate::LiveError;

    pub(crate) fn interfaces() -> Result<Vec<Interface>, LiveError> {
        let entries = getifaddrs()
            .map_err(|errno| LiveError::System { operation: "listing interfaces", source: errno.into() })?;
        let mut interfaces: Vec<Interface> = Vec::new();
        for entry in entries {
            let existing = interfaces.iter().position(|interface| interface.name == entry.interface_name);
            let index = existing.unwrap_or_else(|| {
                interfaces.push(without_addresses(&entry));
                interfaces.len().saturating_sub(1)
            });
            if let Some(interface) = interfaces.get_mut(index) {
                add_address(interface, &entry);
            }
        }
        for interface in &mut interfaces {
            interface.mtu = mtu(interface);
        }
        Ok(interfaces)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn links() -> Result<Vec<super::Link>, LiveError> {
        let entries = getifaddrs()
            .map_err(|errno| LiveError::System { operation: "listing interfaces", source: errno.into() })?;
        let mut seen = HashSet::new();
        let link = |entry: InterfaceAddress| {
            let index = link_index(&entry).filter(|index| seen.insert(*index))?;
            let is_up = entry.flags.contains(InterfaceFlags::IFF_UP);
            Some(super::Link { index, name: entry.interface_name, is_up })
        };
        Ok(entries.filter_map(link).collect())
    }

    /// Returns the index in the entry of an interface; `None` in that of an IP address. An interface without a link-layer address, such as
    /// tun, WireGuard and PPP, has an entry without an address.
    fn link_index(entry: &InterfaceAddress) -> Option<u32> {
        match &entry.address {
            Some(address) => u32::try_from(address.as_link_addr()?.ifindex()).ok(),
            None => if_nametoindex(entry.interface_name.as_str()).ok(),
        }
    }

    fn without_addresses(entry: &InterfaceAddress) -> Interface {
        let has = |flag| entry.flags.contains(flag);
        Interface {
            name: entry.interface_name.clone(),
            index: 0,
            description: None,
            mac: None,
            addresses: Vec::new(),
            mtu: None,
            is_up: has(InterfaceFlags::IFF_UP),
            is_running: has(InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING),
            is_loopback: has(InterfaceFlags::IFF_LOOPBACK),
        }
    }

    fn add_address(interface: &mut Interface, entry: &InterfaceAddress) {
        if let Some(index) = link_index(entry) {
            interface.index = index;
        }
        let Some(address) = &entry.address else { return };
        if let Some(link) = address.as_link_addr() {
            interface.mac = link.addr().filter(|mac| has_mac(link) && *mac != [0; 6]);
        } else if let Some(ip) = ip(address) {
            let mask = entry.netmask.as_ref().and_then(self::ip);
            interface.addresses.extend(IpNet::new(ip, prefix_len(mask, ip)));
        }
    }

    #[cfg(target_os = "linux")]
    fn has_mac(link: &nix::sys::socket::LinkAddr) -> bool {
        link.halen() == 6
    }

    #[cfg(not(target_os = "linux"))]
    fn has_mac(_: &nix::sys::socket::LinkAddr) -> bool {
        true
    }

    fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    }

    /// Counts the bits of a mask; without a mask, the bits of the address.
    fn prefix_len(mask: Option<IpAddr>, ip: IpAddr) -> u8 {
        let bits = match (mask, ip) {
            (Some(IpAddr::V4(mask)), _) => mask.to_bits().count_ones(),
            (Some(IpAddr::V6(mask)), _) => mask.to_bits().count_ones(),
            (None, IpAddr::V4(_)) => 32,
            (None, IpAddr::V6(_)) => 128,
        };
        u8::try_from(bits).unwrap_or(u8::MAX)
    }

    /// Reads the MTU from `sysfs`. Returns `None` if `sysfs` shows another network namespace, as the index reveals.
    fn mtu(interface: &Interface) -> Option<u32> {
        let value = |name| {
            let text = fs::read_to_string(format!("/sys/class/net/{}/{name}", interface.name)).ok()?;
            text.trim().parse().ok()
        };
        (value("ifindex")? == interface.index).then(|| value("mtu")).flatten()
    }
}

#[cfg(not(unix))]
mod list {
    use super::Interface;
    use crate::LiveError;

    #[cfg(not(feature = "libpcap"))]
    pub(crate) fn interfaces() -> Result<Vec<Interface>, LiveError> {
        Err(LiveError::NoBackend)
    }

    #[cfg(feature = "libpcap")]
    pub(crate) fn interfaces() -> Result<Vec<Interface>, LiveError> {
        let devices = pcap::Device::list().map_err(|error| LiveError::System {
            operation: "listing interfaces",
            source: std::io::Error::other(error),
        })?;
        Ok(devices.into_iter().map(interface).collect())
    }

    #[cfg(feature = "libpcap")]
    fn interface(device: pcap::Device) -> Interface {
        use huginn_net_core::IpNet;
        let net = |address: &pcap::Address| {
            let prefix = match address.netmask {
                Some(std::net::IpAddr::V4(mask)) => mask.to_bits().count_ones(),
                Some(std::net::IpAddr::V6(mask)) => mask.to_bits().count_ones(),
                None if address.addr.is_ipv4() => 32,
                None => 128,
            };
            IpNet::new(address.addr, u8::try_from(prefix).ok()?).ok()
        };
        Interface {
            index: 0,
            description: None,
            mac: None,
            addresses: device.addresses.iter().filter_map(net).collect(),
            mtu: None,
            is_up: device.flags.is_up(),
            is_running: device.flags.is_running(),
            is_loopback: device.flags.is_loopback(),
            name: device.name,
        }
    }
}
