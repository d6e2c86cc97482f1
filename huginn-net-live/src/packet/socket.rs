//! A packet socket and its options (`packet(7)`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use pnet_datalink::NetworkInterface;
use pnet_datalink::linux::{Config, channel};

use super::calls::bound_to;
use crate::Interface;

sockopt_impl!(PacketAuxdata, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool);
sockopt_impl!(PacketIgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool);
sockopt_impl!(PacketStatistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats);

/// A socket for whole frames.
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// A socket that receives nothing before it is [bound](Self::bind).
    pub(super) fn new() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, PacketAuxdata, &true)?;
        Ok(Self(socket))
    }

    /// Asks the kernel for so much room; tells what it gave.
    pub(super) fn set_buffer(&self, bytes: usize) -> io::Result<usize> {
        // The kernel takes an `int` that it doubles, for what frames cost beside their bytes, and tells the double.
        let bytes = bytes.min(i32::MAX as usize / 2);
        if setsockopt(&self.0, sockopt::RcvBufForce, &bytes).is_err() {
            setsockopt(&self.0, sockopt::RcvBuf, &bytes)?;
        }
        Ok(getsockopt(&self.0, sockopt::RcvBuf)? / 2)
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
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
