//! Programs of classic BPF that map a packet to a number, from its two IP addresses in any order.

use libc::{
    BPF_A, BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD,
    BPF_LDX, BPF_LSH, BPF_MEM, BPF_MOD, BPF_MUL, BPF_RET, BPF_RSH, BPF_ST, BPF_W, BPF_X, BPF_XOR,
    sock_filter,
};

pub(super) type Program = Vec<sock_filter>;

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
/// The first four bits of PPPoE (RFC 2516, section 4).
const PPPOE_VERSION: u32 = 1;
/// Ethernet frames among the protocols of Geneve (RFC 8926, section 3.4).
const TRANSPARENT_ETHERNET: u32 = 0x6558;
/// The P flag of VXLAN-GPE.
const VXLAN_NEXT_PROTOCOL: u32 = 4;
/// Ethernet among the encapsulated protocols of TZSP, and the tag that ends the list of tags.
const TZSP_ETHERNET: u32 = 1;
const TZSP_END: u32 = 1;

/// The word of the program's memory that has the length of the tunnel header, if it varies.
const HEADER_LEN: u32 = 0;
/// The word of the program's memory that has the hash.
const HASH: u32 = 1;

/// Returns the program for the frames of an interface. The kernel takes the remainder by the number of sockets.
///
/// In a tunnel the number depends on the outer addresses. Frames that are not IP, and frames for which a load fails, have the number 0.
pub(super) fn for_frames() -> Program {
    let hash = HashProgram { sockets: None };
    let sent = hash.by_version(Offset::Fixed(NETWORK));
    let received = [load(BPF_H, ETHERTYPE), hash.by_ethertype(Offset::Fixed(0), 1)].concat();
    // Received frames begin at the network header. That of a sent frame is at an offset, and always in one piece.
    [load(BPF_H, PACKET_TYPE), if_equal(u32::from(libc::PACKET_OUTGOING), sent, received)].concat()
}

/// Returns the program for the datagrams of a tunnel, from the inner addresses: the number of one of these many sockets. `None` if the
/// program for this UDP port is missing. Packets that are not IP, and those for which a load fails, have the number 0.
pub(super) fn for_tunnel(port: u16, sockets: u32) -> Option<Program> {
    let hash = HashProgram { sockets: Some(sockets) };
    match port {
        // VXLAN (RFC 7348, section 5), without the P flag, which permits packets without Ethernet (draft-ietf-nvo3-vxlan-gpe, section 3.1).
        4789 | 8472 | 48879 => {
            let flag = [load(BPF_B, 0), step(BPF_ALU | BPF_AND | BPF_K, VXLAN_NEXT_PROTOCOL)].concat();
            Some([flag, if_equal(0, hash.by_frame(Offset::Fixed(8)), ret(0))].concat())
        }
        // Geneve (RFC 8926, section 3.4): a number of options, of four bytes each.
        6081 => {
            let len = [
                step(BPF_LD | BPF_B | BPF_ABS, 0),
                step(BPF_ALU | BPF_AND | BPF_K, 0x3f),
                step(BPF_ALU | BPF_LSH | BPF_K, 2),
                step(BPF_ALU | BPF_ADD | BPF_K, 8),
                step(BPF_ST, HEADER_LEN),
            ];
            let inner = Offset::AfterHeader(0);
            let by_protocol =
                if_equal(TRANSPARENT_ETHERNET, hash.by_frame(inner), hash.if_ip(ETHERTYPES, inner, ret(0)));
            Some([len.concat(), load(BPF_H, 2), by_protocol].concat())
        }
        // TZSP without tags.
        37008 => {
            let if_ethernet = if_equal(TZSP_ETHERNET, hash.by_frame(Offset::Fixed(5)), ret(0));
            let if_no_tags = [load(BPF_H, 2), if_ethernet].concat();
            Some([load(BPF_B, 4), if_equal(TZSP_END, if_no_tags, ret(0))].concat())
        }
        _ => None,
    }
}

/// Offset of a header.
#[derive(Clone, Copy)]
enum Offset {
    Fixed(u32),
    /// From the end of a tunnel header whose length is in memory.
    AfterHeader(u32),
}

impl Offset {
    fn plus(self, len: u32) -> Self {
        match self {
            Self::Fixed(offset) => Self::Fixed(offset.wrapping_add(len)),
            Self::AfterHeader(offset) => Self::AfterHeader(offset.wrapping_add(len)),
        }
    }

    fn load(self, size: u32) -> Program {
        match self {
            Self::Fixed(offset) => load(size, offset),
            Self::AfterHeader(offset) => {
                [step(BPF_LDX | BPF_MEM, HEADER_LEN), step(BPF_LD | size | BPF_IND, offset)].concat()
            }
        }
    }
}

/// The number of a packet.
#[derive(Clone, Copy)]
struct HashProgram {
    /// Number of sockets, unless the kernel takes the remainder.
    sockets: Option<u32>,
}

impl HashProgram {
    /// Hashes the Ethernet frame at this place: with two VLAN tags at most.
    fn by_frame(self, frame: Offset) -> Program {
        [frame.plus(12).load(BPF_H), self.by_ethertype(frame.plus(14), 2)].concat()
    }

    /// Hashes the packet at this place by its first four bits: those of IP, or of PPPoE.
    fn by_version(self, packet: Offset) -> Program {
        let version = [packet.load(BPF_B), step(BPF_ALU | BPF_RSH | BPF_K, 4)].concat();
        let otherwise = if_equal(PPPOE_VERSION, self.in_session(packet), ret(0));
        [version, self.if_ip([4, 6], packet, otherwise)].concat()
    }

    /// Hashes the packet of the PPPoE session at this place.
    fn in_session(self, session: Offset) -> Program {
        [session.plus(6).load(BPF_H), self.if_ip(PPP_PROTOCOLS, session.plus(8), ret(0))].concat()
    }

    /// Hashes what is at this place by the ethertype in the accumulator: IP, also after these many VLAN tags, in a PPPoE session, or both.
    fn by_ethertype(self, payload: Offset, tags: u32) -> Program {
        let mut otherwise = if_equal(PPPOE_SESSION, self.in_session(payload), ret(0));
        if let Some(more) = tags.checked_sub(1) {
            let in_tag = [payload.plus(2).load(BPF_H), self.by_ethertype(payload.plus(4), more)].concat();
            otherwise = if_any(VLAN_TAGS, in_tag, otherwise);
        }
        self.if_ip(ETHERTYPES, payload, otherwise)
    }

    /// Hashes the addresses of the packet at this place if the accumulator has one of the numbers of IPv4 (RFC 791, section 3.1) and IPv6
    /// (RFC 8200, section 3).
    fn if_ip(self, [v4, v6]: [u32; 2], packet: Offset, otherwise: Program) -> Program {
        let addresses = |start, end| self.addresses(packet, start, end);
        if_equal(v4, addresses(12, 20), if_equal(v6, addresses(8, 40), otherwise))
    }

    /// Hashes the words of the packet from `start` to `end`.
    fn addresses(self, packet: Offset, start: u32, end: u32) -> Program {
        let add_word = |offset| {
            let combine =
                [step(BPF_LDX | BPF_MEM, HASH), step(BPF_ALU | BPF_XOR | BPF_X, 0), step(BPF_ST, HASH)];
            [packet.plus(offset).load(BPF_W), combine.concat()].concat()
        };
        let zero = [step(BPF_LD, 0), step(BPF_ST, HASH)].concat();
        let words = (start..end).step_by(4).map(add_word);
        let mixed = [step(BPF_ALU | BPF_MUL | BPF_K, FACTOR), step(BPF_ALU | BPF_RSH | BPF_K, 16)].concat();
        let remainder =
            self.sockets.map(|sockets| step(BPF_ALU | BPF_MOD | BPF_K, sockets)).unwrap_or_default();
        let parts = [zero].into_iter().chain(words).chain([mixed, remainder, step(BPF_RET | BPF_A, 0)]);
        parts.flatten().collect()
    }
}

fn ret(value: u32) -> Program {
    step(BPF_RET | BPF_K, value)
}

fn load(size: u32, offset: u32) -> Program {
    step(BPF_LD | size | BPF_ABS, offset)
}

/// Runs one program if the accumulator has this value, else the other one. Both return.
fn if_equal(value: u32, then: Program, otherwise: Program) -> Program {
    if_any([value], then, otherwise)
}

/// Runs one program if the accumulator has one of these values, else the other one. Both return.
fn if_any<const N: usize>(values: [u32; N], then: Program, otherwise: Program) -> Program {
    // A condition skips at most 255 instructions; a jump skips any number.
    let skipped = u32::try_from(then.len()).unwrap_or(u32::MAX);
    let conditions = values.into_iter().zip((1..=u8::MAX).take(N).rev()).flat_map(|(value, jt)| {
        let condition = step(BPF_JMP | BPF_JEQ | BPF_K, value).into_iter();
        condition.map(move |instruction| sock_filter { jt, ..instruction })
    });
    conditions.chain(step(BPF_JMP, skipped)).chain(then).chain(otherwise).collect()
}

/// Returns a program of one instruction.
#[expect(clippy::cast_possible_truncation, reason = "operation codes have 8 bits")]
fn step(code: u32, k: u32) -> Program {
    vec![sock_filter { code: code as u16, jt: 0, jf: 0, k }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel refuses a program for UDP sockets that is longer than `net.core.optmem_max`, often 20,480 bytes. Here it takes some 20 bytes
    /// for an instruction.
    #[test]
    fn programs_for_tunnels_are_short() {
        for port in [4789, 6081, 37008] {
            let len = for_tunnel(port, 16).unwrap().len();
            assert!(len <= 600, "{port}: {len}");
        }
    }
}
