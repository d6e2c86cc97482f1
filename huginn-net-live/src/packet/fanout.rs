//! Divides the frames of an interface among several sockets (`PACKET_FANOUT` of `packet(7)`).
//!
//! A program of classic BPF chooses the socket, so that all frames of a flow go to one, both directions included. The kernel's own
//! hash does not serve: the UDP ports of VXLAN and Geneve differ by direction.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use huginn_net_core::udp_tunnel_ports;
use libc::{
    BPF_A, BPF_ABS, BPF_ALU, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_LDX,
    BPF_MEM, BPF_MISC, BPF_MSH, BPF_MUL, BPF_RET, BPF_RSH, BPF_ST, BPF_TAX, BPF_W, BPF_X, BPF_XOR,
    sock_filter,
};
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

sockopt_impl!(PacketFanout, Both, libc::SOL_PACKET, libc::PACKET_FANOUT, u32);
sockopt_impl!(PacketFanoutData, SetOnly, libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, libc::sock_fprog);

/// The sockets among which the kernel divides the frames of one interface.
#[derive(Debug, Default)]
pub(crate) struct FanoutGroup {
    /// The index of the interface, and the number of its group.
    current: Mutex<Option<(u32, u16)>>,
}

impl FanoutGroup {
    /// Adds a socket that is bound to this interface.
    ///
    /// The kernel reassembles IPv4 fragments first, since only the first fragment of a datagram has ports.
    pub(super) fn join(&self, socket: &impl AsFd, interface: u32) -> io::Result<()> {
        const MODE: u32 = libc::PACKET_FANOUT_CBPF | libc::PACKET_FANOUT_FLAG_DEFRAG;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, id)) = current.filter(|(index, _)| *index == interface) {
            return Ok(setsockopt(socket, PacketFanout, &(u32::from(id) | MODE << 16))?);
        }
        // The kernel chooses a number that no other group has.
        setsockopt(socket, PacketFanout, &((MODE | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16))?;
        let [low, high, ..] = getsockopt(socket, PacketFanout)?.to_le_bytes();
        let mut program = program();
        let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        setsockopt(socket, PacketFanoutData, &libc::sock_fprog { len, filter: program.as_mut_ptr() })?;
        *current = Some((interface, u16::from_le_bytes([low, high])));
        Ok(())
    }
}

type Program = Vec<sock_filter>;

/// Offset of the ancillary field with the EtherType of the frame (`SKF_AD_OFF` + `SKF_AD_PROTOCOL` of `linux/filter.h`).
const ETHERTYPE: u32 = 0_u32.wrapping_sub(0x1000);
/// Offset of the network header (`SKF_NET_OFF`).
const NETWORK: u32 = 0_u32.wrapping_sub(0x10_0000);
/// An odd factor that carries every bit of the hash to the upper half: digits of the golden ratio.
const FACTOR: u32 = 0x9e37_79b1;

const ETHERTYPES: [u32; 2] = [0x0800, 0x86dd];
const PPP_PROTOCOLS: [u32; 2] = [0x0021, 0x0057];
const TCP: u32 = 6;
const UDP: u32 = 17;

/// Returns the program that maps a frame to a number; the kernel takes the remainder by the number of sockets.
///
/// Without a tunnel the number depends on addresses and ports, in a tunnel on the outer addresses, each in any order. Frames that
/// are not IP have the number 0. So have frames for which a load fails.
fn program() -> Program {
    // The kernel has removed the outer VLAN tag.
    let in_tag = || [load(BPF_H, at(2)), ip(ETHERTYPES, at(4), ret(0))].concat();
    let in_session = [load(BPF_H, at(6)), ip(PPP_PROTOCOLS, at(8), ret(0))].concat();
    let others = if_equal(0x8100, in_tag(), if_equal(0x88a8, in_tag(), if_equal(0x8864, in_session, ret(0))));
    [load(BPF_H, ETHERTYPE), ip(ETHERTYPES, at(0), others)].concat()
}

/// Returns an offset from the network header.
fn at(offset: u32) -> u32 {
    NETWORK.wrapping_add(offset)
}

/// Hashes the packet at this offset if the accumulator has one of the numbers of IPv4 and IPv6.
fn ip([v4, v6]: [u32; 2], offset: u32, otherwise: Program) -> Program {
    if_equal(v4, ipv4(offset), if_equal(v6, ipv6(offset), otherwise))
}

/// Hashes an IPv4 packet (RFC 791, section 3.1). A fragment that could not be reassembled has no ports.
fn ipv4(ip: u32) -> Program {
    let at = |offset| ip.wrapping_add(offset);
    let addresses = [load(BPF_W, at(12)), xor(BPF_W, at(16)), store(0)].concat();
    let ports = |protocol| {
        let header_len = step(BPF_LDX | BPF_B | BPF_MSH, ip);
        [header_len, by_ports(protocol, BPF_IND, ip)].concat()
    };
    let by_protocol =
        [load(BPF_B, at(9)), if_equal(TCP, ports(TCP), if_equal(UDP, ports(UDP), end()))].concat();
    let no_fragment = step(BPF_JMP | BPF_JSET | BPF_K, 0x3fff);
    [addresses, load(BPF_H, at(6)), branch(no_fragment, end(), by_protocol)].concat()
}

/// Hashes an IPv6 packet (RFC 8200, section 3). One with extension headers counts as one without ports.
fn ipv6(ip: u32) -> Program {
    let at = |offset| ip.wrapping_add(offset);
    let words = (12..40).step_by(4).flat_map(|offset| xor(BPF_W, at(offset)));
    let addresses = load(BPF_W, at(8)).into_iter().chain(words).chain(store(0)).collect();
    let ports = |protocol| by_ports(protocol, BPF_ABS, at(40));
    let by_protocol = if_equal(TCP, ports(TCP), if_equal(UDP, ports(UDP), end()));
    [addresses, load(BPF_B, at(6)), by_protocol].concat()
}

/// Adds the ports at this offset to the hash, unless one is that of a tunnel.
fn by_ports(protocol: u32, mode: u32, ports: u32) -> Program {
    let port = |offset: u32| step(BPF_LD | BPF_H | mode, ports.wrapping_add(offset));
    let source = [port(0), store(1)].concat();
    // The second port overwrites the header length in X.
    let both = [port(2), tax(), step(BPF_LD | BPF_MEM, 1), step(BPF_ALU | BPF_XOR | BPF_X, 0)].concat();
    let sum = [both, tax(), step(BPF_LD | BPF_MEM, 0), step(BPF_ALU | BPF_XOR | BPF_X, 0), store(0), end()]
        .concat();
    if protocol != UDP {
        return [source, sum].concat();
    }
    let unless_tunnel = |otherwise: Program| {
        udp_tunnel_ports().fold(otherwise, |otherwise, port| if_equal(port.into(), end(), otherwise))
    };
    let after_source = unless_tunnel([port(2), unless_tunnel(sum)].concat());
    [source, after_source].concat()
}

/// Returns the hash in the memory, mixed.
fn end() -> Program {
    let mixed = [step(BPF_LD | BPF_MEM, 0), step(BPF_ALU | BPF_MUL | BPF_K, FACTOR)].concat();
    [mixed, step(BPF_ALU | BPF_RSH | BPF_K, 16), step(BPF_RET | BPF_A, 0)].concat()
}

fn ret(value: u32) -> Program {
    step(BPF_RET | BPF_K, value)
}

fn load(size: u32, offset: u32) -> Program {
    step(BPF_LD | size | BPF_ABS, offset)
}

/// Combines the accumulator with a value of the packet.
fn xor(size: u32, offset: u32) -> Program {
    [tax(), load(size, offset), step(BPF_ALU | BPF_XOR | BPF_X, 0)].concat()
}

fn store(cell: u32) -> Program {
    step(BPF_ST, cell)
}

/// Copies the accumulator to the register X.
fn tax() -> Program {
    step(BPF_MISC | BPF_TAX, 0)
}

/// Runs one program if the accumulator has this value, else the other one. Both return.
fn if_equal(value: u32, then: Program, otherwise: Program) -> Program {
    branch(step(BPF_JMP | BPF_JEQ | BPF_K, value), then, otherwise)
}

/// Runs one program if the condition holds, else the other one. Both return.
fn branch(condition: Program, then: Program, otherwise: Program) -> Program {
    // A condition skips at most 255 instructions; a jump skips any number.
    let skipped = u32::try_from(then.len()).unwrap_or(u32::MAX);
    let condition = condition.into_iter().map(|instruction| sock_filter { jt: 1, jf: 0, ..instruction });
    let jump = step(BPF_JMP, skipped);
    condition.chain(jump).chain(then).chain(otherwise).collect()
}

/// Returns a program of one instruction.
#[expect(clippy::cast_possible_truncation, reason = "operation codes have 8 bits")]
fn step(code: u32, k: u32) -> Program {
    vec![sock_filter { code: code as u16, jt: 0, jf: 0, k }]
}
