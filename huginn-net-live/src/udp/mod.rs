//! UDP sockets as targets of mirrored traffic, which need no privilege: VXLAN, Geneve, TZSP and the other tunnels over UDP.
//!
//! Each datagram becomes an IP packet with the addresses and ports of the datagram, so that the decoder treats it as it would
//! on the interface that received it.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use huginn_net_core::{LinkType, ProtocolNumber, Registry, Timestamp};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, MultiHeaders, SockFlag, SockType, SockaddrStorage, bind,
    getsockopt, recvmmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::{getsockopt_impl, sockopt_impl};

use crate::backend::{CaptureBackend, Drops, ReceiveError};
use crate::fanout::{self, UdpGroup};
use crate::frame_batch::FrameBatch;
use crate::limits::{DATAGRAMS_PER_READ, MAX_DATAGRAM_LEN};
use crate::queues::ClockReading;
use crate::{Interface, InterfaceState, LiveError, LiveOptions};

sockopt_impl!(MemoryInfo, GetOnly, libc::SOL_SOCKET, libc::SO_MEMINFO, [u32; MEMORY_INFO_LEN]);

/// Numbers of `SO_MEMINFO` (`SK_MEMINFO_VARS` of `linux/sock_diag.h`); the last one is that of drops.
const MEMORY_INFO_LEN: usize = 9;

/// UDP among the protocols of IP.
const UDP: u8 = 17;

/// Length of the header of UDP in bytes.
const UDP_HEADER_LEN: u16 = 8;

/// Hops of the headers, which nothing reads: the socket does not tell those of a datagram.
const TTL: u8 = 64;

/// A socket that receives mirrored traffic.
pub(crate) struct UdpBackend {
    socket: UdpSocket,
    local: SocketAddr,
    buffer: Vec<u8>,
    snaplen: usize,
    /// Whether it is one of several sockets of the port.
    is_shared: bool,
    /// Datagrams that were received before are not lent: nanoseconds since the Unix epoch.
    since: u64,
    /// The counter of drops at its last reading, which wraps, and the sum of its increments.
    last_drops: u32,
    dropped: u64,
}

/// Parses `PORT` or `ADDRESS:PORT`. A port alone is that of all addresses.
fn parse(text: &str) -> Option<SocketAddr> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') {
        let port = text.parse().ok()?;
        return Some(SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0).into());
    }
    text.parse().ok()
}

/// Parses `PORT` or `ADDRESS:PORT`, which must be that of a tunnel.
fn tunnel_address(name: &str, target: &str) -> Result<SocketAddr, LiveError> {
    let address = parse(target).ok_or_else(|| LiveError::InvalidUdpSocket { name: name.to_owned() })?;
    let port = ProtocolNumber { registry: Registry::UdpPort, number: address.port().into() };
    match port.name() {
        Some(_) => Ok(address),
        None => Err(LiveError::NoTunnelPort { name: name.to_owned(), port: address.port() }),
    }
}

/// Whether the kernel can divide the datagrams of an address among several sockets. Each socket receives those to a group or to all.
///
/// # Errors
/// Those of [`UdpBackend::open`] for an invalid name.
pub(crate) fn has_queues(name: &str, target: &str) -> Result<bool, LiveError> {
    let address = tunnel_address(name, target)?;
    let is_broadcast = address.ip() == IpAddr::V4(Ipv4Addr::BROADCAST);
    Ok(fanout::divides_port(address.port()) && !address.ip().is_multicast() && !is_broadcast)
}

/// Binds a socket. That of all addresses of IPv6 receives IPv4, too, whatever the system's default; without IPv6, only IPv4.
fn bind_to(address: SocketAddr, shares_port: bool) -> io::Result<UdpSocket> {
    let open = |family| socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
    let (socket, address) = match address {
        SocketAddr::V4(_) => (open(AddressFamily::Inet)?, address),
        SocketAddr::V6(v6) => match open(AddressFamily::Inet6) {
            Err(Errno::EAFNOSUPPORT) if v6.ip().is_unspecified() => {
                (open(AddressFamily::Inet)?, (Ipv4Addr::UNSPECIFIED, v6.port()).into())
            }
            opened => {
                let socket = opened?;
                setsockopt(&socket, sockopt::Ipv6V6Only, &!v6.ip().is_unspecified())?;
                (socket, address)
            }
        },
    };
    setsockopt(&socket, sockopt::ReusePort, &shares_port)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(socket.into())
}

impl UdpBackend {
    /// Binds a socket to `PORT` or `ADDRESS:PORT`, one of a group if there is one. Also returns the size of the buffer that the kernel
    /// granted, in bytes.
    pub(crate) fn open(
        name: &str,
        target: &str,
        options: &LiveOptions,
        group: Option<&UdpGroup>,
    ) -> Result<(Self, usize), LiveError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::PermissionDenied => LiveError::PermissionDenied { name: name.to_owned(), source },
            _ => LiveError::Open { name: name.to_owned(), source },
        };
        let address = tunnel_address(name, target)?;
        let bind = |shares_port| bind_to(address, shares_port);
        let bound = group.map_or_else(|| bind(false), |group| group.join(address.port(), bind));
        let socket = bound.map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let granted = enlarge(&socket, options.buffer_bytes).map_err(failed)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(|errno| failed(errno.into()))?;
        let local = socket.local_addr().map_err(failed)?;
        let backend = Self {
            socket,
            local,
            buffer: vec![0; DATAGRAMS_PER_READ.saturating_mul(MAX_DATAGRAM_LEN)],
            snaplen: usize::try_from(options.snaplen).unwrap_or(usize::MAX),
            is_shared: group.is_some(),
            since: 0,
            last_drops: 0,
            dropped: 0,
        };
        Ok((backend, granted))
    }
}

/// Enlarges the buffer of a socket, beyond the limit of the system if the program may. Returns its size in bytes.
fn enlarge(socket: &UdpSocket, len: usize) -> io::Result<usize> {
    if setsockopt(socket, sockopt::RcvBufForce, &len).is_err() {
        setsockopt(socket, sockopt::RcvBuf, &len)?;
    }
    // The kernel doubles the number for its own use.
    Ok(getsockopt(socket, sockopt::RcvBuf)?.checked_div(2).unwrap_or_default())
}

impl CaptureBackend for UdpBackend {
    /// While a socket of the port was missing, others received its datagrams.
    fn begin(&mut self) -> io::Result<()> {
        if self.is_shared {
            self.since = ClockReading::now().time.as_nanos();
        }
        Ok(())
    }

    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError> {
        batch.link = LinkType::RAW;
        let Self { socket, local, buffer, snaplen, since, .. } = self;
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            buffer.chunks_exact_mut(MAX_DATAGRAM_LEN).map(|chunk| [IoSliceMut::new(chunk)]).collect();
        let space = cmsg_space!(TimeSpec);
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(slices.len(), Some(space));
        let received =
            match recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None)
            {
                Ok(received) => received,
                Err(errno) if io::Error::from(errno).kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(errno) => return Err(ReceiveError::Failed(errno.into())),
            };
        let now = ClockReading::now().time;
        for message in received {
            let Some(sender) = message.address.as_ref().and_then(socket_address) else { continue };
            let mut ts = now;
            for control in message.cmsgs().into_iter().flatten() {
                if let ControlMessageOwned::ScmTimestampns(stamp) = control {
                    ts = timestamp(stamp).unwrap_or(now);
                }
            }
            if ts.as_nanos() < *since {
                continue;
            }
            // An empty datagram has no slice.
            let payload = message.iovs().next().unwrap_or_default();
            push(batch, ts, (sender, *local), payload, *snaplen);
        }
        Ok(())
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn drops(&mut self) -> Drops {
        if let Ok([.., drops]) = getsockopt(&self.socket, MemoryInfo) {
            self.dropped = self.dropped.saturating_add(drops.wrapping_sub(self.last_drops).into());
            self.last_drops = drops;
        }
        Drops { kernel: self.dropped, ..Drops::default() }
    }

    fn reports_link_down(&self) -> bool {
        true
    }

    fn refresh(&mut self, _: &[Interface]) -> io::Result<InterfaceState> {
        Ok(InterfaceState::Up)
    }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::from((address.ip(), address.port())));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| SocketAddr::from((address.ip(), address.port()))))
}

fn timestamp(stamp: TimeSpec) -> Option<Timestamp> {
    let seconds = u64::try_from(stamp.tv_sec()).ok()?;
    Some(Timestamp::new(seconds, u32::try_from(stamp.tv_nsec()).ok()?, 9))
}

/// Adds a datagram with the headers that it came with, cut at the snap length.
fn push(
    batch: &mut FrameBatch,
    ts: Timestamp,
    (from, to): (SocketAddr, SocketAddr),
    payload: &[u8],
    snaplen: usize,
) {
    let udp_len = u16::try_from(payload.len()).unwrap_or(u16::MAX).saturating_add(UDP_HEADER_LEN);
    let [[a, b], [c, d], [e, f]] = [from.port(), to.port(), udp_len].map(u16::to_be_bytes);
    // A checksum of zero says that there is none.
    let udp = [a, b, c, d, e, f, 0, 0];
    let mut add = |ip: &[u8]| {
        let headers = ip.len().saturating_add(udp.len());
        let kept = payload.get(..snaplen.saturating_sub(headers)).unwrap_or(payload);
        let wire_len = u32::try_from(headers.saturating_add(payload.len())).unwrap_or(u32::MAX);
        batch.push(ts, [ip, &udp, kept], wire_len);
    };
    match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(source), IpAddr::V4(target)) => add(&ipv4_header(source, target, udp_len)),
        // The socket is bound to all addresses, of IPv6 and IPv4.
        (IpAddr::V4(source), IpAddr::V6(_)) => add(&ipv4_header(source, Ipv4Addr::UNSPECIFIED, udp_len)),
        (IpAddr::V6(source), IpAddr::V6(target)) => add(&ipv6_header(source, target, udp_len)),
        (IpAddr::V6(source), IpAddr::V4(target)) => {
            add(&ipv6_header(source, target.to_ipv6_mapped(), udp_len));
        }
    }
}

/// An IPv4 header (RFC 791) without options, before UDP.
fn ipv4_header(source: Ipv4Addr, target: Ipv4Addr, udp_len: u16) -> [u8; 20] {
    let [high, low] = udp_len.saturating_add(20).to_be_bytes();
    let ([a, b, c, d], [e, f, g, h]) = (source.octets(), target.octets());
    let mut header = [0x45, 0, high, low, 0, 0, 0, 0, TTL, UDP, 0, 0, a, b, c, d, e, f, g, h];
    let sum: u32 = header.as_chunks().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let folded = (sum >> 16).saturating_add(sum & 0xffff);
    let folded = (folded >> 16).saturating_add(folded & 0xffff);
    let [high, low] = u16::try_from(folded).map_or(0, |sum| !sum).to_be_bytes();
    (header[10], header[11]) = (high, low);
    header
}

/// An IPv6 header (RFC 8200), before UDP.
fn ipv6_header(source: Ipv6Addr, target: Ipv6Addr, udp_len: u16) -> [u8; 40] {
    let [high, low] = udp_len.to_be_bytes();
    let mut header = [0; 40];
    header[..8].copy_from_slice(&[0x60, 0, 0, 0, high, low, UDP, TTL]);
    header[8..24].copy_from_slice(&source.octets());
    header[24..].copy_from_slice(&target.octets());
    header
}

#[cfg(test)]
mod tests;
