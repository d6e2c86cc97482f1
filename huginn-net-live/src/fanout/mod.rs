//! Divides the frames of an interface (`PACKET_FANOUT` of `packet(7)`) or the datagrams of a UDP port (`SO_REUSEPORT` of `socket(7)`)
//! among several sockets.
//!
//! A program of classic BPF chooses the socket by the IP addresses of a packet, so that all packets of a flow go to one: both
//! directions, fragments, and the packets of a tunnel. The kernel's own hash does not serve, because it includes ports: only the first
//! fragment has ports, and the outer ports of VXLAN and Geneve differ by direction.

mod program;

use std::io;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use libc::sock_fprog;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

use self::program::Program;

sockopt_impl!(PacketFanout, Both, libc::SOL_PACKET, libc::PACKET_FANOUT, u32);
sockopt_impl!(PacketFanoutData, SetOnly, libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, sock_fprog);

/// The sockets among which the kernel divides the packets of one interface or UDP port.
#[derive(Debug)]
pub(crate) struct FanoutGroup {
    sockets: u32,
    /// The index of the interface, and the number of its group.
    current: Mutex<Option<(u32, u16)>>,
}

impl FanoutGroup {
    /// A group of these many sockets.
    pub(crate) fn new(sockets: u32) -> Self {
        Self { sockets, current: Mutex::new(None) }
    }

    /// Adds a packet socket that is bound to this interface.
    pub(crate) fn join(&self, socket: &impl AsFd, interface: u32) -> io::Result<()> {
        const MODE: u32 = libc::PACKET_FANOUT_CBPF;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, id)) = current.filter(|(index, _)| *index == interface) {
            return Ok(setsockopt(socket, PacketFanout, &(u32::from(id) | MODE << 16))?);
        }
        // The kernel chooses a number that no other group has.
        setsockopt(socket, PacketFanout, &((MODE | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16))?;
        let [low, high, ..] = getsockopt(socket, PacketFanout)?.to_le_bytes();
        with_program(program::of_frames(), |program| Ok(setsockopt(socket, PacketFanoutData, program)?))?;
        *current = Some((interface, u16::from_le_bytes([low, high])));
        Ok(())
    }

    /// Adds a UDP socket for the tunnel of this port. It must have been bound with `SO_REUSEPORT`.
    pub(crate) fn join_udp(&self, socket: &impl AsFd, port: u16) -> io::Result<()> {
        let program = program::of_tunnel(port, self.sockets).ok_or(io::ErrorKind::Unsupported)?;
        // The last program is that of all sockets of the port.
        with_program(program, |program| Ok(setsockopt(socket, sockopt::AttachReusePortCbpf, program)?))
    }
}

/// Whether [`join_udp`](FanoutGroup::join_udp) divides the datagrams of this port.
pub(crate) fn divides_port(port: u16) -> bool {
    program::of_tunnel(port, 1).is_some()
}

fn with_program(mut program: Program, attach: impl FnOnce(&sock_fprog) -> io::Result<()>) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    attach(&sock_fprog { len, filter: program.as_mut_ptr() })
}
