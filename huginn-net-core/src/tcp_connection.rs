//! Both directions of a TCP connection.

use crate::tcp_stream::{Start, first_byte};
use crate::{Piece, Side, StreamCounters, TcpFlags, TcpHeader, TcpStream};

/// Both directions of a TCP connection, for a protocol that reads what is said in it.
#[derive(Debug)]
pub struct TcpConnection {
    /// Client and server; absent where nobody listens.
    streams: [Option<TcpStream>; 2],
}

/// Where the directions of a TCP connection begin, as far as is known before data come.
///
/// It costs little for the many connections in which none come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStarts([Option<Start>; 2]);

impl TcpStarts {
    /// Learns from a segment: a SYN tells where its sender begins, the last one if several do; an acknowledgement what
    /// the other side goes on with.
    pub fn learn(&mut self, tcp: &TcpHeader<'_>, sender: Side) {
        if tcp.flags.contains(TcpFlags::SYN) {
            *pick(&mut self.0, sender) = Some(Start { seq: first_byte(tcp), told: true });
        }
        if tcp.flags.contains(TcpFlags::ACK) {
            pick(&mut self.0, sender.peer()).get_or_insert(Start { seq: tcp.ack, told: false });
        }
    }

    /// Whether, of a connection that begins there, the payload of this segment would be delivered at once and whole as
    /// the first of its sender: nothing is missing before it, and nothing of it is old. `window` is that of
    /// [`TcpConnection::on_segment`].
    pub fn are_followed_by(mut self, tcp: &TcpHeader<'_>, sender: Side, window: usize) -> bool {
        let seq = first_byte(tcp);
        tcp.flags.contains(TcpFlags::SYN)
            || pick(&mut self.0, sender).is_none_or(|start| start.seq == seq || start.may_be(seq, window))
    }
}

impl TcpConnection {
    /// A connection that begins there.
    pub fn new(starts: TcpStarts) -> Self {
        Self { streams: starts.0.map(|start| Some(TcpStream::beginning(start))) }
    }

    /// Takes a segment of either side, and delivers what is now in order, with who sent it. At most `window` bytes of a
    /// direction are held back.
    pub fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        window: usize,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(Side, Piece<'_>),
    ) {
        let receiver = sender.peer();
        let acknowledges = tcp.flags.contains(TcpFlags::ACK) && !tcp.flags.contains(TcpFlags::RST);
        if let Some(stream) = pick(&mut self.streams, receiver).as_mut().filter(|_| acknowledges) {
            stream.begin_where_awaited(tcp.ack, window);
            stream.acknowledge(tcp.ack, counters, &mut |piece| deliver(receiver, piece));
        }
        if let Some(stream) = pick(&mut self.streams, sender) {
            if tcp.flags.contains(TcpFlags::SYN) {
                stream.begin_at(first_byte(tcp));
            }
            if !payload.is_empty() {
                stream.push(tcp, payload, window, counters, &mut |piece| deliver(sender, piece));
            }
        }
    }

    /// Takes a segment as [`on_segment`](Self::on_segment) does, but for its payload, of which only the length is
    /// asked: if that is what its sender says next, and nothing is held back of either side. Otherwise it takes
    /// nothing, and tells so.
    ///
    /// For payload that nobody wants: it then need not be fetched from memory.
    #[inline]
    pub fn pass_over(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        const PART: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::RST);
        let [client, server] = &mut self.streams;
        let (from, to) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let continues = |from: &TcpStream| payload_len == 0 || from.continues_with(tcp.seq);
        let passes = tcp.flags & PART == TcpFlags::ACK
            && from.as_ref().is_some_and(continues)
            && to.as_mut().is_none_or(|to| to.is_only_acknowledged(tcp.ack));
        if let Some(from) = from.as_mut().filter(|_| passes) {
            from.pass_over(payload_len);
        }
        passes
    }

    /// Stops listening to a side, and forgets what was held of it.
    pub fn ignore(&mut self, side: Side) {
        *pick(&mut self.streams, side) = None;
    }

    /// The memory that segments held back take up, in bytes.
    pub fn held(&self) -> usize {
        self.streams.iter().flatten().fold(0, |sum, stream| sum.saturating_add(stream.held()))
    }
}

fn pick<T>([client, server]: &mut [T; 2], side: Side) -> &mut T {
    side.choose(client, server)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(flags: TcpFlags, seq: u32, ack: u32) -> TcpHeader<'static> {
        TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] }
    }

    #[test]
    fn a_side_that_was_not_heard_begins_where_the_other_has_come_to() {
        let mut starts = TcpStarts::default();
        starts.learn(&segment(TcpFlags::SYN, 99, 0), Side::Client);
        let mut connection = TcpConnection::new(starts);
        let (mut said, mut counters) = (Vec::new(), StreamCounters::default());
        let mut push =
            |connection: &mut TcpConnection, sender, seq, ack, payload: &[u8]| {
                let tcp = segment(TcpFlags::ACK, seq, ack);
                connection.on_segment(&tcp, payload, sender, 1000, &mut counters, &mut |side, piece| {
                    match piece {
                        Piece::Bytes(bytes) => said.push((side, bytes.to_vec())),
                        Piece::Gap(_) => said.push((side, b"|".to_vec())),
                    }
                });
            };
        push(&mut connection, Side::Client, 100, 500, b"a");
        push(&mut connection, Side::Server, 502, 101, b"z");
        assert_eq!(connection.held(), 65, "two bytes of the server are to come");
        push(&mut connection, Side::Server, 500, 101, b"xy");
        connection.ignore(Side::Client);
        push(&mut connection, Side::Client, 101, 503, b"b");
        let [client, server] = [Side::Client, Side::Server];
        assert_eq!(said, [(client, b"a".to_vec()), (server, b"xy".to_vec()), (server, b"z".to_vec())]);
    }

    /// What is delivered of segments: by whom, flags, sequence number, acknowledgement, payload.
    fn delivered(segments: &[(Side, TcpFlags, u32, u32, &[u8])]) -> Vec<(Side, Vec<u8>)> {
        let (mut starts, mut connection) = (TcpStarts::default(), None);
        let (mut said, mut counters) = (Vec::new(), StreamCounters::default());
        for (sender, flags, seq, ack, payload) in segments {
            let tcp = segment(*flags, *seq, *ack);
            if connection.is_none() {
                starts.learn(&tcp, *sender);
                connection = (!payload.is_empty()).then(|| TcpConnection::new(starts));
            }
            if let Some(connection) = &mut connection {
                connection.on_segment(&tcp, payload, *sender, 1000, &mut counters, &mut |side, piece| {
                    let Piece::Bytes(bytes) = piece else { panic!("nothing is missing") };
                    said.push((side, bytes.to_vec()));
                });
            }
        }
        said
    }

    const SYN_ACK: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK);

    proptest! {
        #[test]
        fn what_follows_the_starts_is_what_is_delivered_at_once(
            learnt in prop::collection::vec((any::<bool>(), 0_u16..0x20, 95_u32..105, 95_u32..105), 0..4),
            flags in 0_u16..0x20, seq in 85_u32..115, window in 0..20_usize,
        ) {
            let mut starts = TcpStarts::default();
            let flags_of = TcpFlags::from_bits_truncate;
            for (is_client, flags, seq, ack) in learnt {
                let side = if is_client { Side::Client } else { Side::Server };
                starts.learn(&segment(flags_of(flags), seq, ack), side);
            }
            let tcp = segment(flags_of(flags), seq, 100);
            starts.learn(&tcp, Side::Client);
            let mut said = Vec::new();
            TcpConnection::new(starts).on_segment(
                &tcp, b"abc", Side::Client, window, &mut StreamCounters::default(),
                &mut |side, piece| said.push((side, piece == Piece::Bytes(b"abc"))),
            );
            let follow = starts.are_followed_by(&tcp, Side::Client, window);
            prop_assert_eq!(follow, said == [(Side::Client, true)]);
        }
    }

    proptest! {
        #[test]
        fn to_pass_over_is_to_take_a_segment_that_is_delivered_at_once_and_changes_no_more(
            learnt in prop::collection::vec((any::<bool>(), 0_u16..0x20, 95_u32..105, 95_u32..105), 0..3),
            segments in prop::collection::vec(
                (any::<bool>(), any::<bool>(), 0_u16..0x40, -3_i32..4, -3_i32..4, 0_u8..5), 0..40),
            window in prop::sample::select(vec![0_usize, 3, 150, 1000]),
        ) {
            let flags_of = TcpFlags::from_bits_truncate;
            let mut starts = TcpStarts::default();
            for (is_client, flags, seq, ack) in learnt {
                let side = if is_client { Side::Client } else { Side::Server };
                starts.learn(&segment(flags_of(flags), seq, ack), side);
            }
            let [mut passing, mut taking] = [TcpConnection::new(starts), TcpConnection::new(starts)];
            let mut next = [100_u32; 2];
            for (is_client, is_usual, flags, skips, acks, len) in segments {
                let (sender, [ours, theirs]) =
                    if is_client { (Side::Client, [0, 1]) } else { (Side::Server, [1, 0]) };
                let flags = if is_usual { TcpFlags::ACK } else { flags_of(flags) };
                let skips = if is_usual { 0 } else { skips };
                let seq = next[ours].wrapping_add_signed(skips);
                let tcp = segment(flags, seq, next[theirs].wrapping_add_signed(acks));
                next[ours] = seq.wrapping_add(len.into());
                let payload = &b"abcde"[..len.into()];
                let take = |connection: &mut TcpConnection| {
                    let (mut said, mut counters) = (Vec::new(), StreamCounters::default());
                    connection.on_segment(&tcp, payload, sender, window, &mut counters, &mut |side, piece| {
                        said.push((side, piece == Piece::Bytes(payload)));
                    });
                    (said, counters)
                };
                let before = format!("{passing:?}");
                if passing.pass_over(&tcp, payload.len(), sender) {
                    let (said, counters) = take(&mut taking);
                    prop_assert_eq!(counters, StreamCounters::default());
                    prop_assert_eq!(said, if len == 0 { vec![] } else { vec![(sender, true)] });
                } else {
                    prop_assert_eq!(&before, &format!("{passing:?}"), "nothing is taken");
                    prop_assert_eq!(take(&mut passing), take(&mut taking));
                }
                prop_assert_eq!(format!("{passing:?}"), format!("{taking:?}"));
            }
        }
    }

    #[test]
    fn the_last_syn_tells_where_a_side_begins() {
        let [client, server] = [Side::Client, Side::Server];
        let said = [(client, b"a".to_vec()), (server, b"z".to_vec())];
        let before_data = [
            (client, TcpFlags::SYN, 99, 0, &b""[..]),
            (server, SYN_ACK, 4_000_000_000, 100, b""),
            (client, TcpFlags::SYN, 99, 0, b""),
            (server, SYN_ACK, 500, 100, b""),
            (client, TcpFlags::ACK, 100, 501, b"a"),
            (server, TcpFlags::ACK, 501, 101, b"z"),
        ];
        assert_eq!(delivered(&before_data), said);
        let syn_with_data = [
            (client, TcpFlags::SYN, 99, 0, &b"a"[..]),
            (server, SYN_ACK, 4_000_000_000, 101, b""),
            (server, SYN_ACK, 500, 101, b""),
            (server, TcpFlags::ACK, 501, 101, b"z"),
        ];
        assert_eq!(delivered(&syn_with_data), said);
        let answer_lost = [
            (client, TcpFlags::SYN, 99, 0, &b"a"[..]),
            (server, SYN_ACK, 4_000_000_000, 101, b""),
            (client, TcpFlags::RST | TcpFlags::ACK, 101, 0, b""),
            (client, TcpFlags::ACK, 101, 501, b""),
            (server, TcpFlags::ACK, 501, 101, b"z"),
        ];
        assert_eq!(delivered(&answer_lost), said);
    }

    #[test]
    fn what_was_acknowledged_before_it_was_captured_is_delivered_unless_a_syn_tells_that_it_is_old() {
        let [client, server] = [Side::Client, Side::Server];
        let swapped =
            [(server, TcpFlags::ACK, 500, 105, &b"z"[..]), (client, TcpFlags::ACK, 100, 500, b"abcde")];
        let said = [(server, b"z".to_vec()), (client, b"abcde".to_vec())];
        assert_eq!(delivered(&swapped), said);
        let after_syn = [&[(client, TcpFlags::SYN, 104, 0, &b""[..])], &swapped[..]].concat();
        assert_eq!(delivered(&after_syn), said[..1]);
    }
}
