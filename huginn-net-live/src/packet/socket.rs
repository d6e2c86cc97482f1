//! A packet socket and its options (`packet(7)`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use pnet_datalink::NetworkInterface;
use pnet_datalink::linux::{Config, channel};

use super::ffi::{Ring, bound_to};
use crate::Interface;
use crate::limits::{MIN_RING_BLOCKS, RING_BLOCK_LEN};

sockopt_impl!(PacketIgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool);
sockopt_impl!(PacketStatistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats_v3);

/// A socket for link-layer frames.
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Creates a socket that receives nothing until it is [bound](Self::bind).
    pub(super) fn new() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        Ok(Self(socket(AddressFamily::Packet, SockType::Raw, flags, None)?))
    }

    /// Creates the ring of the socket with this size, or less if the system lacks memory. Returns the size granted.
    pub(super) fn ring(&self, bytes: usize, max_age: Duration) -> io::Result<(Ring, usize)> {
        let mut blocks = bytes.div_ceil(RING_BLOCK_LEN).max(MIN_RING_BLOCKS);
        loop {
            match Ring::new(self.0.as_fd(), blocks, max_age) {
                Ok(ring) => return Ok((ring, blocks.saturating_mul(RING_BLOCK_LEN))),
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && blocks > MIN_RING_BLOCKS => {
                    blocks = (blocks / 2).max(MIN_RING_BLOCKS);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Ignores outgoing frames, if the kernel supports it (since Linux 4.20).
    pub(super) fn ignore_outgoing(&self) {
        let _ = setsockopt(&self.0, PacketIgnoreOutgoing, &true);
    }

    /// Binds to an interface. Needs no privileges, and may be repeated.
    pub(super) fn bind(&self, interface: &Interface, promiscuous: bool) -> io::Result<()> {
        let config = Config {
            // The receiver closes the descriptor in any case.
            socket_fd: Some(self.0.try_clone()?.into_raw_fd()),
            promiscuous,
            read_buffer_size: 0,
            write_buffer_size: 0,
            ..Config::default()
        };
        let interface = NetworkInterface {
            name: interface.name.clone(),
            description: String::new(),
            index: interface.index,
            mac: None,
            ips: Vec::new(),
            flags: 0,
        };
        channel(&interface, config).map(drop)
    }

    /// Returns index and type (`ARPHRD_` of `linux/if_arp.h`) of the bound interface; `None` if it no longer exists.
    pub(super) fn bound(&self) -> Option<(u32, u16)> {
        let address = bound_to(self.0.as_fd()).ok()?;
        Some((u32::try_from(address.sll_ifindex).ok()?, address.sll_hatype))
    }

    /// Returns the number of frames dropped since the last call because the ring was full.
    pub(super) fn dropped(&self) -> u32 {
        getsockopt(&self.0, PacketStatistics).map_or(0, |statistics| statistics.tp_drops)
    }

    /// Returns and clears the last error of the socket.
    pub(super) fn error(&self) -> io::Result<()> {
        match getsockopt(&self.0, sockopt::SocketError)? {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
