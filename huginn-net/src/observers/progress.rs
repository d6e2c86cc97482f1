//! How far the handshake of a TCP connection came, and what follows.

use huginn_net_core::{Segment, Side, TcpFlags, TcpHeader, without_padding};

use crate::hosts::Progress;
use crate::limits::MAX_ACKNOWLEDGED_BYTES;

/// How far a TCP connection came.
///
/// Aligned to bytes, so that it takes the padding of [`FlowState`](super::flow_state::FlowState).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HandshakeProgress {
    /// The sequence number after that of the last SYN+ACK.
    server_seq: [u8; 4],
    phase: Phase,
    marks: Marks,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No segment was seen.
    #[default]
    New,
    /// The client sent its SYN.
    Syn,
    /// The server sent its SYN+ACK.
    Answered,
    /// The client went on, and neither side sent payload.
    Open,
    /// Nothing more is awaited.
    Done,
}

/// Facts, a bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Marks(u8);

impl Marks {
    /// The client acknowledged the SYN+ACK.
    const PROVEN: u8 = 1;
    /// The client repeated its SYN.
    const REPEATED: u8 = 2;
    /// The server sent payload before the client went on.
    const DATA: u8 = 4;

    /// Sets a mark. Returns whether it was not set before.
    fn set(&mut self, mark: u8) -> bool {
        let is_new = self.0 & mark == 0;
        self.0 |= mark;
        is_new
    }
}

impl HandshakeProgress {
    /// Whether the client acknowledged the sequence number of a SYN+ACK that was seen: it received it, so that neither side forged its
    /// address.
    pub(super) fn is_proven(self) -> bool {
        self.marks.0 & Marks::PROVEN != 0
    }

    /// Whether a segment without SYN, FIN and RST may bring the connection on.
    #[inline(always)]
    pub(super) fn awaits(self, sender: Side) -> bool {
        match self.phase {
            Phase::Done => false,
            Phase::Open => true,
            Phase::New | Phase::Syn | Phase::Answered => sender == Side::Client,
        }
    }

    /// Whether something is awaited.
    pub(super) fn is_pending(self) -> bool {
        self.phase != Phase::Done && self.marks.0 & Marks::DATA == 0
    }

    /// Takes a segment. Returns what it brings, if `is_followed`; otherwise only the proof is awaited.
    #[inline]
    pub(super) fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        is_followed: bool,
    ) -> Option<Progress> {
        if self.phase == Phase::Done {
            return None;
        }
        let Some(tcp) = segment.tcp() else {
            self.phase = Phase::Done;
            return None;
        };
        self.advance(tcp, segment, sender, is_followed)
    }

    #[inline(never)]
    fn advance(
        &mut self,
        tcp: &TcpHeader<'_>,
        segment: &Segment<'_>,
        sender: Side,
        is_followed: bool,
    ) -> Option<Progress> {
        let flags = tcp.flags;
        let has_payload = || segment.payload_missing > 0 || !without_padding(segment).is_empty();
        match (self.phase, sender) {
            (Phase::New | Phase::Syn, Side::Client) if flags.is_initial_syn() => {
                let is_repeated = self.phase == Phase::Syn && self.marks.set(Marks::REPEATED);
                self.phase = Phase::Syn;
                is_repeated.then_some(Progress::Repeats)
            }
            (Phase::New | Phase::Syn | Phase::Answered, Side::Server) if flags.is_syn_ack() => {
                self.server_seq = tcp.first_byte_seq().to_ne_bytes();
                self.phase = Phase::Answered;
                None
            }
            (Phase::Syn, Side::Server) if flags.contains(TcpFlags::RST) => {
                self.phase = Phase::Done;
                Some(Progress::Refused)
            }
            (Phase::Syn | Phase::Answered, Side::Client) if !flags.contains(TcpFlags::SYN) => {
                let is_reset = flags.contains(TcpFlags::RST);
                if !flags.contains(TcpFlags::ACK) {
                    if is_reset {
                        self.phase = Phase::Done;
                    }
                    return is_reset.then_some(Progress::Resets);
                }
                let ahead = tcp.ack.wrapping_sub(u32::from_ne_bytes(self.server_seq));
                if self.phase == Phase::Answered && ahead <= MAX_ACKNOWLEDGED_BYTES {
                    self.marks.set(Marks::PROVEN);
                }
                let has_data = !is_reset && (has_payload() || self.marks.0 & Marks::DATA != 0);
                let is_over = is_reset || has_data || !is_followed;
                self.phase = if is_over { Phase::Done } else { Phase::Open };
                Some(if is_reset { Progress::Resets } else { Progress::Continues { has_data } })
            }
            (Phase::Open, _) if has_payload() => {
                self.phase = Phase::Done;
                Some(Progress::Data)
            }
            // Its acknowledgement is still awaited.
            (Phase::Syn | Phase::Answered, Side::Server) if is_followed && has_payload() => {
                self.marks.set(Marks::DATA).then_some(Progress::Data)
            }
            (Phase::New, _) => {
                self.phase = Phase::Done;
                None
            }
            _ => None,
        }
    }
}

// The state of a handshake takes no memory of its own.
const _: () = assert!(size_of::<HandshakeProgress>() == 6 && align_of::<HandshakeProgress>() == 1);

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: TcpFlags = TcpFlags::SYN;
    const ACK: TcpFlags = TcpFlags::ACK;
    const RST: TcpFlags = TcpFlags::RST;

    /// What segments bring: sender, flags, acknowledgement number and payload; and whether the connection is proven. A SYN+ACK has the
    /// sequence number 499.
    fn progress(segments: &[(Side, TcpFlags, u32, &[u8])]) -> (Vec<Progress>, bool) {
        let mut handshake = HandshakeProgress::default();
        let steps = segments.iter().filter_map(|(sender, flags, ack, payload)| {
            let (flags, ack) = (*flags, *ack);
            let tcp = TcpHeader {
                src_port: 1,
                dst_port: 2,
                seq: 499,
                ack,
                flags,
                window: 0,
                urgent: 0,
                options: &[],
            };
            handshake.on_segment(&Segment::from_tcp(tcp, payload), *sender, true)
        });
        (steps.collect(), handshake.is_proven())
    }

    const CLIENT: Side = Side::Client;
    const SERVER: Side = Side::Server;

    #[test]
    fn acknowledgement_of_seen_syn_ack_is_proof() {
        let [first, second] = [(CLIENT, SYN, 0, &b""[..]), (SERVER, SYN | ACK, 1, b"")];
        let continues = vec![Progress::Continues { has_data: false }];
        assert_eq!(progress(&[first, second, (CLIENT, ACK, 500, b"")]), (continues.clone(), true));
        assert_eq!(
            progress(&[first, second, (CLIENT, ACK, 499, b"")]),
            (continues.clone(), false),
            "a guess"
        );
        assert_eq!(progress(&[first, (CLIENT, ACK, 500, b"")]), (continues, false), "no SYN+ACK was seen");
        assert_eq!(progress(&[first, second, (CLIENT, RST, 500, b"")]), (vec![Progress::Resets], false));
        assert_eq!(progress(&[first, second, (CLIENT, RST | ACK, 500, b"")]), (vec![Progress::Resets], true));
    }

    #[test]
    fn payload_of_either_side_is_data_once() {
        let [first, second, third] =
            [(CLIENT, SYN, 0, &b""[..]), (SERVER, SYN | ACK, 1, b""), (CLIENT, ACK, 500, b"")];
        for sender in [CLIENT, SERVER] {
            let data = (sender, ACK, 500, &b"data"[..]);
            let steps = vec![Progress::Continues { has_data: false }, Progress::Data];
            assert_eq!(progress(&[first, second, third, data, data]), (steps, true));
        }
        let steps = vec![Progress::Continues { has_data: true }];
        assert_eq!(progress(&[first, second, (CLIENT, ACK, 500, b"data")]), (steps, true));
    }

    #[test]
    fn repeated_syn_and_refusal_are_steps() {
        let first = (CLIENT, SYN, 0, &b""[..]);
        let steps = vec![Progress::Repeats, Progress::Refused];
        assert_eq!(progress(&[first, first, first, (SERVER, RST | ACK, 1, b"")]), (steps, false));
        assert_eq!(progress(&[(CLIENT, ACK, 1, b"in the middle")]), (vec![], false));
    }
}
