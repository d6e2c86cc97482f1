//! The end of a TCP connection.

use super::idle_map::Phase;
use crate::{NextSeq, Side, TcpFlags, TcpHeader};

/// What the segments of a connection say about its end.
///
/// Anyone can send a FIN or RST that the receiver ignores. So a FIN counts once the receiver acknowledges it, or if it has the
/// sequence number that the receiver expects; a RST counts only with that number (RFC 5961, section 3.2). What goes past such an end
/// shows that the receiver ignored it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// The sequence numbers after the last byte and the FIN of client and server.
    ends: [u32; 2],
    /// For client and server, what there is of the end.
    closes: [Close; 2],
    /// Whether the server refused the SYN.
    is_refused: bool,
}

/// How far a side has closed its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Close {
    #[default]
    No,
    /// A FIN, or a RST, whose number is not known to be the expected one.
    Sent,
    /// A FIN that the receiver expects, or a RST that it probably does.
    Expected,
    /// A FIN that the receiver has acknowledged.
    Acknowledged,
    /// A RST that the receiver expects.
    Reset,
}

impl Ending {
    /// Takes a segment of a connection that has had a FIN or RST, or has one. `len`: length of the payload, with what the capture
    /// lacks. `is_alone`: whether the other side has sent nothing. `refuses`: whether it is the RST
    /// that answers the SYN.
    pub(super) fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        len: u32,
        sender: Side,
        next: NextSeq,
        is_alone: bool,
        refuses: bool,
    ) {
        let is_reset = tcp.flags.contains(TcpFlags::RST);
        if self.is_refused && !is_reset && !tcp.flags.is_initial_syn() {
            // The connection goes on: the RST was not the server's.
            *self = Self::default();
        }
        self.is_refused |= refuses;
        if self.is_refused {
            return;
        }
        let is_past = |end: u32, number: u32| number.wrapping_sub(end).cast_signed() > 0;
        let (end, close) = self.side(sender.peer());
        if *close > Close::No && tcp.flags.contains(TcpFlags::ACK) && !is_reset {
            if is_past(*end, tcp.ack) {
                *close = Close::No;
            } else if *end == tcp.ack && *close < Close::Reset {
                *close = Close::Acknowledged;
            }
        }
        let (end, close) = self.side(sender);
        if *close > Close::No && len > 0 && is_past(*end, tcp.seq.wrapping_add(len)) {
            *close = Close::No;
        }
        if is_reset {
            let follows_fin = *close >= Close::Expected && *end == tcp.seq;
            let found = match next {
                _ if follows_fin => Close::Reset,
                NextSeq::Known(next) if next == tcp.seq => Close::Reset,
                NextSeq::Unread => Close::Expected,
                NextSeq::Known(_) | NextSeq::Unknown => return,
            };
            if found > *close {
                (*end, *close) = (tcp.seq, found);
            }
        } else if tcp.flags.contains(TcpFlags::FIN) && *close < Close::Acknowledged {
            let is_expected = match next {
                NextSeq::Known(next) => next == tcp.seq,
                NextSeq::Unread => true,
                NextSeq::Unknown => is_alone,
            };
            let found = if is_expected { Close::Expected } else { Close::Sent };
            if found >= *close {
                (*end, *close) = (tcp.seq.wrapping_add(len).wrapping_add(1), found);
            }
        }
    }

    fn side(&mut self, side: Side) -> (&mut u32, &mut Close) {
        let ([client_end, server_end], [client, server]) = (&mut self.ends, &mut self.closes);
        side.choose((client_end, client), (server_end, server))
    }

    /// Whether a FIN or RST was sent, and nothing went past it.
    pub(super) fn has_begun(&self) -> bool {
        self.is_refused || self.closes != [Close::No; 2]
    }

    /// Whether both sides agree on the end: each has acknowledged the FIN of the other, or the server has refused the SYN. A RST may
    /// be one that the receiver never got.
    pub(super) fn is_agreed(&self) -> bool {
        self.is_refused || self.closes == [Close::Acknowledged; 2]
    }

    /// The phase of the connection.
    pub(super) fn phase(&self) -> Phase {
        let [client, server] = self.closes;
        if self.is_refused || client.max(server) == Close::Reset || client.min(server) == Close::Acknowledged
        {
            Phase::Ended
        } else if client.max(server) >= Close::Expected {
            Phase::Closing
        } else {
            Phase::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIN: TcpFlags = TcpFlags::FIN.union(TcpFlags::ACK);
    const ACK: TcpFlags = TcpFlags::ACK;
    const RST: TcpFlags = TcpFlags::RST;

    fn header(flags: TcpFlags, seq: u32, ack: u32) -> TcpHeader<'static> {
        TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] }
    }

    /// The phase after segments of a connection whose next bytes are 100 of the client and 500 of the server.
    fn phase(segments: &[(Side, TcpFlags, u32, u32, u32)]) -> Phase {
        phase_with(segments, |side| NextSeq::Known(side.choose(100, 500)))
    }

    fn phase_with(segments: &[(Side, TcpFlags, u32, u32, u32)], next: impl Fn(Side) -> NextSeq) -> Phase {
        let mut ending = Ending::default();
        for (sender, flags, seq, ack, len) in segments.iter().copied() {
            ending.on_segment(&header(flags, seq, ack), len, sender, next(sender), false, false);
        }
        ending.phase()
    }

    #[test]
    fn connection_ends_when_both_fins_are_acknowledged() {
        let (client, server) = (Side::Client, Side::Server);
        let close = [(client, FIN, 100, 500, 0), (server, FIN, 500, 101, 0), (client, ACK, 101, 501, 0)];
        assert_eq!(phase(&close), Phase::Ended);
        assert_eq!(phase(&close[..2]), Phase::Closing);
        assert_eq!(phase(&close[..1]), Phase::Closing);
        assert_eq!(phase_with(&close, |_| NextSeq::Unknown), Phase::Ended);
        assert_eq!(phase_with(&close[..1], |_| NextSeq::Unknown), Phase::Open);
    }

    #[test]
    fn only_the_expected_number_resets() {
        assert_eq!(phase(&[(Side::Client, RST, 100, 0, 0)]), Phase::Ended);
        assert_eq!(phase(&[(Side::Client, RST, 101, 0, 0)]), Phase::Open);
        assert_eq!(phase(&[(Side::Server, RST, 100, 0, 0)]), Phase::Open);
        let unread = |_| NextSeq::Unread;
        assert_eq!(phase_with(&[(Side::Client, RST, 101, 0, 0)], unread), Phase::Closing);
        assert_eq!(phase_with(&[(Side::Client, RST, 101, 0, 0)], |_| NextSeq::Unknown), Phase::Open);
        let after_fin = [(Side::Client, FIN, 100, 500, 0), (Side::Client, RST, 101, 0, 0)];
        assert_eq!(phase(&after_fin), Phase::Ended);
    }

    /// The initial numbers are those of two sides whose halves of the number space differ or not.
    #[test]
    fn refused_connection_that_goes_on_is_open() {
        for (client, server) in [(5, 9), (5, 1 << 31), (1 << 31, 9), (1 << 31, 1 << 31)] {
            let mut ending = Ending::default();
            let mut add = |sender, flags, seq, ack, refuses| {
                ending.on_segment(&header(flags, seq, ack), 0, sender, NextSeq::Unknown, false, refuses);
                (ending.phase(), ending.is_agreed())
            };
            let refusal = add(Side::Server, TcpFlags::RST | ACK, 0, client + 1, true);
            assert_eq!(refusal, (Phase::Ended, true));
            let syn_ack = TcpFlags::SYN | ACK;
            assert_eq!(add(Side::Server, syn_ack, server, client + 1, false), (Phase::Open, false));
        }
    }

    #[test]
    fn second_fin_with_another_number_changes_nothing() {
        let (client, server) = (Side::Client, Side::Server);
        let forged = (client, FIN, 300, 500, 0);
        let close =
            [(client, FIN, 100, 500, 0), forged, (server, FIN, 500, 101, 0), (client, ACK, 101, 501, 0)];
        assert_eq!(phase(&close), Phase::Ended);
    }

    #[test]
    fn segments_past_the_end_cancel_it() {
        let (client, server) = (Side::Client, Side::Server);
        for end in [FIN, RST] {
            for (past, flags, seq, ack, len) in [(client, ACK, 100, 500, 20), (server, ACK, 500, 120, 0)] {
                assert_eq!(phase(&[(client, end, 100, 500, 0), (past, flags, seq, ack, len)]), Phase::Open);
            }
            for (not_past, flags, seq, ack, len) in [(client, ACK, 90, 500, 10), (server, ACK, 500, 100, 30)]
            {
                let expected = if end == FIN { Phase::Closing } else { Phase::Ended };
                assert_eq!(phase(&[(client, end, 100, 500, 0), (not_past, flags, seq, ack, len)]), expected);
            }
        }
    }
}
