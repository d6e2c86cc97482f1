//! Initial sequence numbers of a TCP connection.

use super::side_mut;
use crate::{Side, TcpFlags, TcpHeader};

/// The sequence number of the first byte of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InitialSeq {
    pub(crate) seq: u32,
    /// Whether the number came from a SYN. Otherwise earlier bytes may follow.
    pub(crate) from_syn: bool,
}

impl InitialSeq {
    /// Whether the direction may begin at `seq` instead: up to `window` bytes earlier, unless a SYN announced its
    /// beginning.
    pub(crate) fn may_start_at(self, seq: u32, window: usize) -> bool {
        let back = self.seq.wrapping_sub(seq).cast_signed();
        !self.from_syn && back > 0 && usize::try_from(back).is_ok_and(|back| back <= window)
    }
}

/// Initial sequence numbers of client and server, as far as known before the first payload.
///
/// A connection without payload, as many are, stores only these 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InitialSeqs(pub(super) [Option<InitialSeq>; 2]);

impl InitialSeqs {
    /// Updates the numbers from a segment. The last SYN of a side sets its number; an acknowledgement shows where the
    /// other side continues.
    pub(crate) fn update(&mut self, tcp: &TcpHeader<'_>, sender: Side) {
        if tcp.flags.contains(TcpFlags::SYN) {
            *side_mut(&mut self.0, sender) = Some(InitialSeq { seq: tcp.first_byte_seq(), from_syn: true });
        }
        if tcp.flags.contains(TcpFlags::ACK) {
            side_mut(&mut self.0, sender.peer()).get_or_insert(InitialSeq { seq: tcp.ack, from_syn: false });
        }
    }

    /// Whether a new [`TcpConnection`](super::TcpConnection) would deliver the complete payload of this segment at once: the
    /// payload follows no gap and repeats no byte.
    pub(crate) fn are_in_order(mut self, tcp: &TcpHeader<'_>, sender: Side, window: usize) -> bool {
        let seq = tcp.first_byte_seq();
        tcp.flags.contains(TcpFlags::SYN)
            || side_mut(&mut self.0, sender)
                .is_none_or(|initial| initial.seq == seq || initial.may_start_at(seq, window))
    }
}
