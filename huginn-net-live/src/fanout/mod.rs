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

/// The packet sockets among which the kernel divides the frames of one interface.
#[derive(Debug, Default)]
pub(crate) struct PacketGroup {
    /// The index of the interface, and the number of its group.
    current: Mutex<Option<(u32, u16)>>,
}

impl PacketGroup {
    /// Whether the sockets are bound to all interfaces, not to one.
    pub(crate) fn is_of_all(&self) -> bool {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|(index, _)| index == 0)
    }

    /// Adds a socket that is bound to this interface; 0 stands for all.
    pub(crate) fn join(&self, socket: &impl AsFd, interface: u32) -> io::Result<()> {
        const MODE: u32 = libc::PACKET_FANOUT_CBPF;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, id)) = current.filter(|(index, _)| *index == interface) {
            return Ok(setsockopt(socket, PacketFanout, &(u32::from(id) | MODE << 16))?);
        }
        // The kernel chooses a number that no other group has.
        setsockopt(socket, PacketFanout, &((MODE | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16))?;
        let [low, high, ..] = getsockopt(socket, PacketFanout)?.to_le_bytes();
        with_program(program::for_frames(), |program| Ok(setsockopt(socket, PacketFanoutData, program)?))?;
        *current = Some((interface, u16::from_le_bytes([low, high])));
        Ok(())
    }
}

/// The UDP sockets among which the kernel divides the datagrams of the port of a tunnel.
#[derive(Debug)]
pub(crate) struct UdpGroup {
    sockets: u32,
    has_socket: Mutex<bool>,
}

impl UdpGroup {
    /// Returns a group of these many sockets.
    pub(crate) fn new(sockets: u32) -> Self {
        Self { sockets, has_socket: Mutex::new(false) }
    }

    /// Adds a socket of this port. `bind` binds it, with `SO_REUSEPORT` or without.
    ///
    /// # Errors
    /// `AddrInUse` if a socket outside of the group has the port: it would receive datagrams of the group, or none.
    pub(crate) fn join<S: AsFd>(&self, port: u16, bind: impl Fn(bool) -> io::Result<S>) -> io::Result<S> {
        let mut has_socket = self.has_socket.lock().unwrap_or_else(PoisonError::into_inner);
        if *has_socket {
            return bind(true);
        }
        drop(bind(false)?);
        let socket = bind(true)?;
        // The sockets that are bound later have the program, too.
        let program = program::for_tunnel(port, self.sockets).ok_or(io::ErrorKind::Unsupported)?;
        with_program(program, |program| Ok(setsockopt(&socket, sockopt::AttachReusePortCbpf, program)?))?;
        *has_socket = true;
        Ok(socket)
    }
}

/// Whether a [`UdpGroup`] divides the datagrams of this port.
pub(crate) fn divides_port(port: u16) -> bool {
    program::for_tunnel(port, 1).is_some()
}

fn with_program(mut program: Program, attach: impl FnOnce(&sock_fprog) -> io::Result<()>) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    attach(&sock_fprog { len, filter: program.as_mut_ptr() })
}
