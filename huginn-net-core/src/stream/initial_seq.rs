//! Initial sequence numbers of a TCP connection.

use super::{StreamStart, side_mut};
use crate::limits::MAX_TCP_WINDOW;
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

    /// Whether a segment of this sender cannot follow the number: it is neither the next (a keep-alive repeats a byte) nor
    /// within the largest window.
    fn contradicts(self, seq: u32) -> bool {
        let ahead = i64::from(seq.wrapping_sub(self.seq).cast_signed());
        ahead < -1 || u64::try_from(ahead).is_ok_and(|ahead| ahead >= MAX_TCP_WINDOW)
    }
}

/// Initial sequence numbers of client and server, as far as known before the first payload, and the start of the connection.
///
/// A connection without payload, as many are, stores only these 20 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InitialSeqs {
    pub(super) first_bytes: [Option<InitialSeq>; 2],
    /// Whether client and server sent a segment.
    pub(super) has_seen: [bool; 2],
    pub(super) start: StreamStart,
}

impl InitialSeqs {
    /// Updates the numbers from a segment. The last SYN of a side sets its number; an acknowledgement shows where the
    /// other side continues. If none was captured, a segment shows which of several SYN+ACKs counts.
    pub(crate) fn update(&mut self, tcp: &TcpHeader<'_>, sender: Side) {
        *side_mut(&mut self.has_seen, sender) = true;
        if tcp.flags.contains(TcpFlags::SYN) {
            self.start = StreamStart::Handshake;
            *side_mut(&mut self.first_bytes, sender) =
                Some(InitialSeq { seq: tcp.first_byte_seq(), from_syn: true });
        } else if !*side_mut(&mut self.has_seen, sender.peer()) && !tcp.flags.contains(TcpFlags::RST) {
            let own = side_mut(&mut self.first_bytes, sender);
            if own.is_some_and(|initial| initial.contradicts(tcp.seq)) {
                *own = Some(InitialSeq { seq: tcp.seq, from_syn: false });
            }
        }
        if tcp.flags.contains(TcpFlags::ACK) {
            let answered = side_mut(&mut self.first_bytes, sender.peer());
            match answered {
                // Of several SYNs, the answer names the one that counts.
                Some(initial) if tcp.flags.contains(TcpFlags::SYN) => initial.seq = tcp.ack,
                Some(_) => {}
                None => *answered = Some(InitialSeq { seq: tcp.ack, from_syn: false }),
            }
        }
    }

    /// Whether a new [`TcpConnection`](super::TcpConnection) would deliver the complete payload of this segment at once: the
    /// payload follows no gap and repeats no byte.
    pub(crate) fn are_in_order(mut self, tcp: &TcpHeader<'_>, sender: Side, window: usize) -> bool {
        let seq = tcp.first_byte_seq();
        tcp.flags.contains(TcpFlags::SYN)
            || side_mut(&mut self.first_bytes, sender)
                .is_none_or(|initial| initial.seq == seq || initial.may_start_at(seq, window))
    }
}
