//! A packet socket and its options (`packet(7)`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use pnet_datalink::NetworkInterface;
use pnet_datalink::linux::{Config, channel};

use super::ffi::{BLOCK_LEN, Ring, bound_to};
use crate::Interface;

sockopt_impl!(PacketIgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool);
sockopt_impl!(PacketStatistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats_v3);

/// A socket for whole frames.
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// A socket that receives nothing before it is [bound](Self::bind).
    pub(super) fn new() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        Ok(Self(socket(AddressFamily::Packet, SockType::Raw, flags, None)?))
    }

    /// Gives the socket a ring of so many bytes, or of as many as the system has; tells how many these are.
    pub(super) fn ring(&self, bytes: usize, max_age: Duration) -> io::Result<(Ring, usize)> {
        let mut blocks = bytes.div_ceil(BLOCK_LEN).max(MIN_BLOCKS);
        loop {
            match Ring::new(self.0.as_fd(), blocks, max_age) {
                Ok(ring) => return Ok((ring, blocks.saturating_mul(BLOCK_LEN))),
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && blocks > MIN_BLOCKS => {
                    blocks = (blocks / 2).max(MIN_BLOCKS);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves out what is sent, where the kernel can (since Linux 4.20).
    pub(super) fn ignore_outgoing(&self) {
        let _ = setsockopt(&self.0, PacketIgnoreOutgoing, &true);
    }

    /// Binds to an interface. This needs no rights, and may be done again.
    pub(super) fn bind(&self, interface: &Interface, promiscuous: bool) -> io::Result<()> {
        let config = Config {
            // It is closed by who gets it, whatever happens.
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

    /// The index of the interface that it is bound to, and the type of that (`ARPHRD_` of `linux/if_arp.h`); none where
    /// there is no such interface any more.
    pub(super) fn bound(&self) -> Option<(u32, u16)> {
        let address = bound_to(self.0.as_fd()).ok()?;
        Some((u32::try_from(address.sll_ifindex).ok()?, address.sll_hatype))
    }

    /// How many frames were dropped for want of room since the last call.
    pub(super) fn dropped(&self) -> u32 {
        getsockopt(&self.0, PacketStatistics).map_or(0, |statistics| statistics.tp_drops)
    }

    /// The error that happened last, received once.
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

/// One to be written while the other is read.
const MIN_BLOCKS: usize = 2;
