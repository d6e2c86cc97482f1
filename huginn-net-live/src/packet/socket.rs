//! A packet socket and its options (`packet(7)`).

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, setsockopt, socket, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use pnet_datalink::NetworkInterface;
use pnet_datalink::linux::{Config, channel};

use super::ffi::{Ring, bound_to};
use crate::limits::{MAX_RING_BLOCK_LEN, MIN_RING_BLOCKS, RING_BLOCK_LEN, RING_BLOCK_OVERHEAD, RING_BLOCKS};
use crate::{Interface, LiveOptions};

sockopt_impl!(PacketIgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool);
sockopt_impl!(PacketStatistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats_v3);

sockopt_impl!(AddMembership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq);

sockopt_impl!(AttachFilter, SetOnly, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, libc::sock_fprog);
sockopt_impl!(DetachFilter, SetOnly, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, i32);

/// The instruction of classic BPF that ends a filter with a constant.
const RETURN: u16 = 0x06;

/// A socket for link-layer frames.
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Creates a socket that receives nothing until it is [bound](Self::bind).
    pub(super) fn new() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        Ok(Self(socket(AddressFamily::Packet, SockType::Raw, flags, None)?))
    }

    /// Creates the ring of the socket, for an interface of this MTU, or a smaller ring if the system lacks memory. Returns
    /// the size granted.
    pub(super) fn ring(&self, options: &LiveOptions, mtu: Option<u32>) -> io::Result<(Ring, usize)> {
        let block_len = block_len(options, mtu);
        let mut blocks = options.buffer_bytes.div_ceil(block_len.get()).max(MIN_RING_BLOCKS);
        loop {
            match Ring::new(self.0.as_fd(), blocks, block_len, options.buffer_timeout) {
                Ok(ring) => return Ok((ring, blocks.saturating_mul(block_len.get()))),
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory && blocks > MIN_RING_BLOCKS => {
                    blocks = (blocks / 2).max(MIN_RING_BLOCKS);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives nothing until [`unmute`](Self::unmute), even if the socket is bound.
    pub(super) fn mute(&self) -> io::Result<()> {
        self.filter(&mut [libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: 0 }])
    }

    /// Receives what this program selects, instead of what another one selected. Needs no privileges.
    pub(super) fn filter(&self, program: &mut [libc::sock_filter]) -> io::Result<()> {
        let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(setsockopt(&self.0, AttachFilter, &libc::sock_fprog { len, filter: program.as_mut_ptr() })?)
    }

    /// Receives frames from now on.
    pub(super) fn unmute(&self) -> io::Result<()> {
        Ok(setsockopt(&self.0, DetachFilter, &0)?)
    }

    /// Ignores outgoing frames, if the kernel supports it (since Linux 4.20).
    pub(super) fn ignore_outgoing(&self) {
        let _ = setsockopt(&self.0, PacketIgnoreOutgoing, &true);
    }

    /// Binds to an interface. Needs no privileges, and may be repeated.
    pub(super) fn bind(&self, interface: &Interface, promiscuous: bool) -> io::Result<()> {
        self.bind_to(&interface.name, interface.index, promiscuous)
    }

    /// Receives frames of all interfaces. Needs no privileges.
    pub(super) fn bind_to_all(&self) -> io::Result<()> {
        self.bind_to("", 0, false)
    }

    /// Puts an interface into promiscuous mode, whatever the socket is bound to, until the interface or the socket is gone. Needs no
    /// privileges.
    pub(super) fn set_promiscuous(&self, index: u32) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: i32::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?,
            mr_type: libc::PACKET_MR_PROMISC.try_into().unwrap_or(0),
            mr_alen: 0,
            mr_address: [0; 8],
        };
        Ok(setsockopt(&self.0, AddMembership, &request)?)
    }

    /// Binds to the interface of this index; 0 stands for all.
    fn bind_to(&self, name: &str, index: u32, promiscuous: bool) -> io::Result<()> {
        let config = Config {
            // The receiver closes the descriptor in any case.
            socket_fd: Some(self.0.try_clone()?.into_raw_fd()),
            promiscuous,
            read_buffer_size: 0,
            write_buffer_size: 0,
            ..Config::default()
        };
        let interface = NetworkInterface {
            name: name.to_owned(),
            description: String::new(),
            index,
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

/// Returns the length of the ring's blocks, a power of two: the shortest ones that hold a frame of this MTU, or longer ones
/// if the ring has more than [`RING_BLOCKS`] of them.
fn block_len(options: &LiveOptions, mtu: Option<u32>) -> NonZeroUsize {
    let longest_frame = mtu.and_then(|mtu| usize::try_from(mtu).ok()).unwrap_or(0);
    let for_frame = longest_frame.saturating_add(RING_BLOCK_OVERHEAD).min(MAX_RING_BLOCK_LEN);
    let for_ring = (options.buffer_bytes / RING_BLOCKS).clamp(RING_BLOCK_LEN, MAX_RING_BLOCK_LEN);
    let for_ring = for_ring.checked_ilog2().map_or(RING_BLOCK_LEN, |bits| 1 << bits);
    NonZeroUsize::new(for_frame.next_power_of_two().max(for_ring)).unwrap_or(NonZeroUsize::MIN)
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_the_longest_frame_and_are_many() {
        let len = |mib: usize, mtu| {
            let options = LiveOptions { buffer_bytes: mib << 20, ..LiveOptions::default() };
            block_len(&options, mtu).get() >> 10
        };
        assert_eq!(len(1, Some(1500)), 64);
        assert_eq!(len(32, Some(1500)), 64);
        assert_eq!(len(32, None), 64);
        assert_eq!(len(63, Some(9000)), 64);
        assert_eq!(len(64, Some(1500)), 128);
        assert_eq!(len(128, Some(1500)), 256);
        assert_eq!(len(4096, Some(1500)), 256);
        // Loopback, and any value of the kernel.
        assert_eq!(len(32, Some(65_536)), 128);
        assert_eq!(len(32, Some(u32::MAX)), 256);
    }
}
