//! Divides the frames of an interface among several sockets (`PACKET_FANOUT` of `packet(7)`).
//!
//! A program of classic BPF chooses the socket by the IP addresses of a packet, so that all frames of a flow go to one: both
//! directions, fragments, and the packets of a tunnel. The kernel's own hash does not serve, because it includes ports: only the first
//! fragment has ports, and the outer ports of VXLAN and Geneve differ by direction.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use libc::{
    BPF_A, BPF_ABS, BPF_ALU, BPF_B, BPF_H, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_MISC, BPF_MUL, BPF_RET,
    BPF_RSH, BPF_TAX, BPF_W, BPF_X, BPF_XOR, sock_filter,
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
    pub(super) fn join(&self, socket: &impl AsFd, interface: u32) -> io::Result<()> {
        const MODE: u32 = libc::PACKET_FANOUT_CBPF;
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
/// Offset of the ancillary field with the type of the packet, such as `PACKET_OUTGOING` (`SKF_AD_OFF` + `SKF_AD_PKTTYPE`).
const PACKET_TYPE: u32 = ETHERTYPE.wrapping_add(4);
/// Offset of the network header (`SKF_NET_OFF`).
const NETWORK: u32 = 0_u32.wrapping_sub(0x10_0000);
/// An odd factor that carries every bit of the hash to the upper half: digits of the golden ratio.
const FACTOR: u32 = 0x9e37_79b1;

const ETHERTYPES: [u32; 2] = [0x0800, 0x86dd];
const PPP_PROTOCOLS: [u32; 2] = [0x0021, 0x0057];
const VLAN_TAGS: [u32; 2] = [0x8100, 0x88a8];
const PPPOE_SESSION: u32 = 0x8864;

/// Returns the program that maps a frame to a number; the kernel takes the remainder by the number of sockets.
///
/// The number depends on both addresses, in any order; in a tunnel on the outer ones. Frames that are not IP, and frames for which a
/// load fails, have the number 0.
fn program() -> Program {
    let sent = by_version(NETWORK);
    let received = [load(BPF_H, ETHERTYPE), by_ethertype(ETHERTYPES, 0, tagged())].concat();
    // Received frames begin at the network header. That of a sent frame is at an offset, and always in one piece.
    [load(BPF_H, PACKET_TYPE), if_equal(u32::from(libc::PACKET_OUTGOING), sent, received)].concat()
}

/// Hashes the packet at this offset by the first four bits.
fn by_version(packet: u32) -> Program {
    let version = [load(BPF_B, packet), step(BPF_ALU | BPF_RSH | BPF_K, 4)].concat();
    [version, by_ethertype([4, 6], packet, ret(0))].concat()
}

/// Hashes the packet in another VLAN tag or a PPPoE session, or in both. The kernel has removed the outer tag.
fn tagged() -> Program {
    let session = |header: u32| {
        [load(BPF_H, header.wrapping_add(6)), by_ethertype(PPP_PROTOCOLS, header.wrapping_add(8), ret(0))]
            .concat()
    };
    let in_tag = || {
        let in_session = if_equal(PPPOE_SESSION, session(4), ret(0));
        [load(BPF_H, 2), by_ethertype(ETHERTYPES, 4, in_session)].concat()
    };
    let otherwise = if_equal(PPPOE_SESSION, session(0), ret(0));
    VLAN_TAGS.into_iter().fold(otherwise, |otherwise, tag| if_equal(tag, in_tag(), otherwise))
}

/// Hashes the addresses of the packet at this offset if the accumulator has one of the numbers of IPv4 (RFC 791, section 3.1) and IPv6
/// (RFC 8200, section 3).
fn by_ethertype([v4, v6]: [u32; 2], packet: u32, otherwise: Program) -> Program {
    let addresses = |start: u32, end: u32| {
        let words = (start..end).step_by(4).map(|offset| packet.wrapping_add(offset));
        let combined =
            words.flat_map(|offset| [tax(), load(BPF_W, offset), step(BPF_ALU | BPF_XOR | BPF_X, 0)]);
        let mixed = [step(BPF_ALU | BPF_MUL | BPF_K, FACTOR), step(BPF_ALU | BPF_RSH | BPF_K, 16)];
        // The first word is combined with zero.
        let zero = step(BPF_LD, 0);
        [zero].into_iter().chain(combined).chain(mixed).chain([step(BPF_RET | BPF_A, 0)]).flatten().collect()
    };
    if_equal(v4, addresses(12, 20), if_equal(v6, addresses(8, 40), otherwise))
}

fn ret(value: u32) -> Program {
    step(BPF_RET | BPF_K, value)
}

fn load(size: u32, offset: u32) -> Program {
    step(BPF_LD | size | BPF_ABS, offset)
}

/// Copies the accumulator to the register X.
fn tax() -> Program {
    step(BPF_MISC | BPF_TAX, 0)
}

/// Runs one program if the accumulator has this value, else the other one. Both return.
fn if_equal(value: u32, then: Program, otherwise: Program) -> Program {
    // A condition skips at most 255 instructions; a jump skips any number.
    let skipped = u32::try_from(then.len()).unwrap_or(u32::MAX);
    let condition = step(BPF_JMP | BPF_JEQ | BPF_K, value);
    let condition = condition.into_iter().map(|instruction| sock_filter { jt: 1, ..instruction });
    condition.chain(step(BPF_JMP, skipped)).chain(then).chain(otherwise).collect()
}

/// Returns a program of one instruction.
#[expect(clippy::cast_possible_truncation, reason = "operation codes have 8 bits")]
fn step(code: u32, k: u32) -> Program {
    vec![sock_filter { code: code as u16, jt: 0, jf: 0, k }]
}
