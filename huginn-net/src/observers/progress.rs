//! How far the handshake of a TCP connection came, and what follows.

use huginn_net_core::{Segment, Side, TcpFlags, TcpHeader, without_padding};

use crate::hosts::Progress;

/// Bytes of a server that a client acknowledges with the first segment in the capture after the SYN+ACK, at most: more than an initial
/// window (RFC 6928).
const MAX_ACKNOWLEDGED_BYTES: u32 = 1 << 16;

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
    /// The first segment was of a connection that is older than the capture, or lost its SYN: an answer is awaited.
    Midstream,
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
    /// Nothing but the proof is awaited.
    const OVER: u8 = 8;
    /// The server sent a SYN+ACK.
    const ANSWERED: u8 = 16;
    /// The first segment of a connection without SYN, or of a flow over UDP, was that of the server.
    const FIRST_OF_SERVER: u8 = 32;
    /// Both sides sent segments of a connection without SYN.
    const BOTH_SIDES: u8 = 64;

    fn has(self, mark: u8) -> bool {
        self.0 & mark != 0
    }

    /// Sets a mark. Returns whether it was not set before.
    fn set(&mut self, mark: u8) -> bool {
        let is_new = !self.has(mark);
        self.0 |= mark;
        is_new
    }
}

impl HandshakeProgress {
    /// Whether the client acknowledged the sequence number of a SYN+ACK that was seen: it received it, so that neither side forged its
    /// address.
    pub(super) fn is_proven(self) -> bool {
        self.marks.has(Marks::PROVEN)
    }

    /// Whether the peer answered: the client is [proven](Self::is_proven), or both sides sent segments of a connection whose SYN was not
    /// captured. A host that knows nothing of a connection answers with RST, which does not count.
    pub(super) fn is_answered(self) -> bool {
        self.marks.0 & (Marks::PROVEN | Marks::BOTH_SIDES) != 0
    }

    /// The side that sent the first segment of a connection without SYN.
    fn first_sender(self) -> Side {
        if self.marks.has(Marks::FIRST_OF_SERVER) { Side::Server } else { Side::Client }
    }

    /// Whether a segment without SYN, FIN and RST may bring the connection on.
    #[inline(always)]
    pub(super) fn awaits(self, sender: Side) -> bool {
        match self.phase {
            Phase::Done => false,
            Phase::Open => true,
            Phase::Midstream => sender != self.first_sender(),
            Phase::New | Phase::Syn | Phase::Answered => sender == Side::Client,
        }
    }

    /// Whether something is awaited.
    pub(super) fn is_pending(self) -> bool {
        !matches!(self.phase, Phase::Done | Phase::Midstream) && !self.marks.has(Marks::DATA)
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
            if sender == Side::Server {
                self.marks.set(Marks::FIRST_OF_SERVER);
            }
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
                self.marks.set(Marks::ANSWERED);
                if has_payload() {
                    self.marks.set(Marks::DATA);
                }
                None
            }
            (Phase::Syn, Side::Server) if flags.contains(TcpFlags::RST) => {
                self.phase = Phase::Done;
                Some(Progress::Refused)
            }
            (Phase::Syn | Phase::Answered, Side::Client) if !flags.contains(TcpFlags::SYN) => {
                // A host that knows nothing of the connection answers with RST, which acknowledges what another host sent
                // (RFC 9293, section 3.10.7.1).
                if flags.contains(TcpFlags::RST) {
                    self.phase = Phase::Done;
                    return Some(Progress::Resets);
                }
                if !flags.contains(TcpFlags::ACK) {
                    return None;
                }
                let has_data = has_payload() || self.marks.has(Marks::DATA);
                self.phase = Phase::Open;
                self.prove(tcp);
                if has_data || !is_followed {
                    self.end();
                }
                Some(Progress::Continues { has_data })
            }
            (Phase::Open, _) => {
                if sender == Side::Client && !flags.contains(TcpFlags::RST) {
                    self.prove(tcp);
                }
                if self.marks.has(Marks::OVER) {
                    self.end();
                    return None;
                }
                let has_data = has_payload();
                if has_data {
                    self.end();
                }
                has_data.then_some(Progress::Data)
            }
            // Its acknowledgement is still awaited.
            (Phase::Syn | Phase::Answered, Side::Server) if has_payload() => {
                (self.marks.set(Marks::DATA) && is_followed).then_some(Progress::Data)
            }
            (Phase::New, _) => {
                self.phase = Phase::Midstream;
                if sender == Side::Server {
                    self.marks.set(Marks::FIRST_OF_SERVER);
                }
                None
            }
            (Phase::Midstream, _) => {
                let is_answer = flags.contains(TcpFlags::ACK) && !flags.contains(TcpFlags::RST);
                if sender != self.first_sender() && is_answer && !flags.contains(TcpFlags::SYN) {
                    self.marks.set(Marks::BOTH_SIDES);
                    self.phase = Phase::Done;
                }
                None
            }
            _ => None,
        }
    }

    /// Checks whether a segment of the client acknowledges the SYN+ACK.
    fn prove(&mut self, tcp: &TcpHeader<'_>) {
        // A server sends payload before the first acknowledgement only if the capture lacks that segment.
        let max_ahead = if self.marks.has(Marks::DATA) { MAX_ACKNOWLEDGED_BYTES } else { 0 };
        let ahead = tcp.ack.wrapping_sub(u32::from_ne_bytes(self.server_seq));
        if self.marks.has(Marks::ANSWERED) && tcp.flags.contains(TcpFlags::ACK) && ahead <= max_ahead {
            self.marks.set(Marks::PROVEN);
        }
    }

    /// Ends the progress, except for a proof that may follow: servers wait for it after an acknowledgement of something else.
    fn end(&mut self) {
        self.marks.set(Marks::OVER);
        if self.is_proven() || !self.marks.has(Marks::ANSWERED) {
            self.phase = Phase::Done;
        }
    }
}

/// Whether the peer of a flow answered before its events.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answered {
    /// Of TCP.
    Tcp(bool),
    /// Of UDP: a server answers a client, if that sent the first datagram, and nothing shows that the client received it.
    Udp { of_server: bool },
}

impl Answered {
    pub(super) fn new(handshake: HandshakeProgress, is_tcp: bool) -> Self {
        if is_tcp {
            Self::Tcp(handshake.is_answered())
        } else {
            Self::Udp { of_server: !handshake.marks.has(Marks::FIRST_OF_SERVER) }
        }
    }

    /// Whether it is so for events about a side.
    #[inline]
    pub(super) fn for_subject(self, subject: Side) -> bool {
        match self {
            Self::Tcp(is_answered) => is_answered,
            Self::Udp { of_server } => of_server && subject == Side::Server,
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

    #[test]
    fn connection_without_syn_is_answered_once_both_sides_sent() {
        let is_answered = |segments: &[(Side, TcpFlags, u32, &[u8])]| advanced(segments).1.is_answered();
        let (of_client, of_server) = ((CLIENT, ACK, 500, &b"x"[..]), (SERVER, ACK, 100, &b""[..]));
        let reset = (SERVER, ACK | TcpFlags::RST, 100, &b""[..]);
        assert!(!is_answered(&[of_client, of_client]) && !is_answered(&[of_server, of_server]));
        assert!(is_answered(&[of_client, of_server]) && is_answered(&[of_server, of_client]));
        assert!(!is_answered(&[of_client, reset]) && is_answered(&[of_client, reset, of_server]));
        let syn = (CLIENT, SYN, 0, &b""[..]);
        assert!(!is_answered(&[syn, of_server]) && !is_answered(&[syn, of_server, of_client]));
        let syn_ack = (SERVER, SYN | ACK, 101, &b""[..]);
        assert!(!is_answered(&[syn, syn_ack]));
    }

    /// What segments bring: sender, flags, acknowledgement number and payload; and whether the connection is proven. A SYN+ACK has the
    /// sequence number 499.
    fn progress(segments: &[(Side, TcpFlags, u32, &[u8])]) -> (Vec<Progress>, bool) {
        let (steps, handshake) = advanced(segments);
        (steps, handshake.is_proven())
    }

    /// What segments bring, and the state after them.
    fn advanced(segments: &[(Side, TcpFlags, u32, &[u8])]) -> (Vec<Progress>, HandshakeProgress) {
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
        (steps.collect(), handshake)
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
        for guess in [501, 500 + MAX_ACKNOWLEDGED_BYTES, 500 + (1 << 31)] {
            assert!(!progress(&[first, second, (CLIENT, ACK, guess, b"")]).1, "{guess}");
        }
        for flags in [RST, RST | ACK] {
            assert_eq!(
                progress(&[first, second, (CLIENT, flags, 500, b"")]),
                (vec![Progress::Resets], false)
            );
        }
    }

    /// Servers wait for the right acknowledgement.
    #[test]
    fn acknowledgement_after_wrong_one_is_proof() {
        let [first, second] = [(CLIENT, SYN, 0, &b""[..]), (SERVER, SYN | ACK, 1, b"")];
        for payload in [&b""[..], b"data"] {
            let wrong = (CLIENT, ACK, 7, payload);
            let continues = Progress::Continues { has_data: !payload.is_empty() };
            let (steps, is_proven) = progress(&[first, second, wrong, wrong, (CLIENT, ACK, 500, b"")]);
            assert_eq!((steps[0], is_proven), (continues, true));
            assert!(!progress(&[first, second, wrong, (CLIENT, RST | ACK, 500, b"")]).1);
            let zero = (CLIENT, ACK, 0, &b""[..]);
            assert!(!progress(&[first, wrong, zero, (CLIENT, ACK, 500, b"")]).1, "no SYN+ACK was seen");
            assert!(!progress(&[first, wrong, second, (CLIENT, ACK, 501, b"")]).1);
        }
    }

    /// The capture lacks the segment that completes the handshake, or has it late.
    #[test]
    fn later_acknowledgement_is_proof_after_data_of_the_server() {
        let [first, second, third] =
            [(CLIENT, SYN, 0, &b""[..]), (SERVER, SYN | ACK, 1, b""), (SERVER, ACK, 1, b"SSH-2.0-x\r\n")];
        let is_proven = |ack| progress(&[first, second, third, (CLIENT, ACK, ack, b"")]).1;
        assert!(is_proven(500) && is_proven(511));
        assert!(!is_proven(499) && !is_proven(501 + MAX_ACKNOWLEDGED_BYTES));
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
