//! Both directions of a TCP connection.

use super::initial_seq::InitialSeqs;
use super::tcp_direction::TcpDirection;
use super::{StreamCounters, StreamData, side_mut};
use crate::{Side, TcpFlags, TcpHeader};

/// Reassembles both directions of a TCP connection.
#[derive(Debug)]
pub(crate) struct TcpConnection {
    /// Client and server; none for a side that no parser reads.
    directions: [Option<TcpDirection>; 2],
}

impl TcpConnection {
    /// Creates a connection whose directions begin at `initial`.
    pub(crate) fn new(initial: InitialSeqs) -> Self {
        Self { directions: initial.0.map(|initial| Some(TcpDirection::new(initial))) }
    }

    /// Processes a segment of either side, and delivers the data that is now in order with its sender. The
    /// out-of-order buffer of a direction takes at most `window` bytes.
    pub(crate) fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        window: usize,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(Side, StreamData<'_>),
    ) {
        let receiver = sender.peer();
        let acknowledges = tcp.flags.contains(TcpFlags::ACK) && !tcp.flags.contains(TcpFlags::RST);
        if let Some(direction) = side_mut(&mut self.directions, receiver).as_mut().filter(|_| acknowledges) {
            direction.start_at_ack(tcp.ack, window);
            direction.acknowledge(tcp.ack, counters, &mut |data| deliver(receiver, data));
        }
        if let Some(direction) = side_mut(&mut self.directions, sender) {
            if tcp.flags.contains(TcpFlags::SYN) {
                direction.set_initial_seq(tcp.first_byte_seq());
            }
            if !payload.is_empty() {
                direction.push(tcp, payload, window, counters, &mut |data| deliver(sender, data));
            }
        }
    }

    /// Accepts a segment without reading its payload, if [`on_segment`](Self::on_segment) would deliver exactly that
    /// payload: it is next in order and neither side has buffered data. Otherwise changes nothing and returns false.
    ///
    /// The caller delivers or skips the payload, so a skipped body is never loaded from memory.
    #[inline]
    pub(crate) fn accept_in_order(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        const PART: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::RST);
        let [client, server] = &mut self.directions;
        let (from, to) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let continues = |from: &TcpDirection| payload_len == 0 || from.is_next(tcp.seq);
        let skips = tcp.flags & PART == TcpFlags::ACK
            && from.as_ref().is_none_or(continues)
            && to.as_mut().is_none_or(|to| to.accept_pure_ack(tcp.ack));
        if let Some(from) = from.as_mut().filter(|_| skips) {
            from.skip(payload_len);
        }
        skips
    }

    /// Stops reading a side, and frees its buffer.
    pub(crate) fn stop_reading(&mut self, side: Side) {
        *side_mut(&mut self.directions, side) = None;
    }

    /// Returns the memory used by out-of-order segments, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.directions
            .iter()
            .flatten()
            .fold(0, |sum, direction| sum.saturating_add(direction.buffered_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment(flags: TcpFlags, seq: u32, ack: u32) -> TcpHeader<'static> {
        TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] }
    }

    #[test]
    fn unseen_side_begins_at_acknowledgement() {
        let mut initial = InitialSeqs::default();
        initial.update(&segment(TcpFlags::SYN, 99, 0), Side::Client);
        let mut connection = TcpConnection::new(initial);
        let (mut output, mut counters) = (Vec::new(), StreamCounters::default());
        let mut push = |connection: &mut TcpConnection, sender, seq, ack, payload: &[u8]| {
            let tcp = segment(TcpFlags::ACK, seq, ack);
            connection.on_segment(&tcp, payload, sender, 1000, &mut counters, &mut |side, data| match data {
                StreamData::Bytes(bytes) => output.push((side, bytes.to_vec())),
                StreamData::Gap(_) => output.push((side, b"|".to_vec())),
            });
        };
        push(&mut connection, Side::Client, 100, 500, b"a");
        push(&mut connection, Side::Server, 502, 101, b"z");
        assert_eq!(connection.buffered_bytes(), 65, "two bytes of the server are missing");
        push(&mut connection, Side::Server, 500, 101, b"xy");
        connection.stop_reading(Side::Client);
        push(&mut connection, Side::Client, 101, 503, b"b");
        let [client, server] = [Side::Client, Side::Server];
        assert_eq!(output, [(client, b"a".to_vec()), (server, b"xy".to_vec()), (server, b"z".to_vec())]);
    }

    /// Returns the data delivered from segments: sender, flags, sequence number, acknowledgement, payload.
    fn delivered(segments: &[(Side, TcpFlags, u32, u32, &[u8])]) -> Vec<(Side, Vec<u8>)> {
        let (mut initial, mut connection) = (InitialSeqs::default(), None);
        let (mut output, mut counters) = (Vec::new(), StreamCounters::default());
        for (sender, flags, seq, ack, payload) in segments {
            let tcp = segment(*flags, *seq, *ack);
            if connection.is_none() {
                initial.update(&tcp, *sender);
                connection = (!payload.is_empty()).then(|| TcpConnection::new(initial));
            }
            if let Some(connection) = &mut connection {
                connection.on_segment(&tcp, payload, *sender, 1000, &mut counters, &mut |side, data| {
                    let StreamData::Bytes(bytes) = data else { panic!("nothing is missing") };
                    output.push((side, bytes.to_vec()));
                });
            }
        }
        output
    }

    const SYN_ACK: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK);

    proptest! {
        #[test]
        fn are_in_order_predicts_delivery(
            handshake in prop::collection::vec((any::<bool>(), 0_u16..0x20, 95_u32..105, 95_u32..105), 0..4),
            flags in 0_u16..0x20, seq in 85_u32..115, window in 0..20_usize,
        ) {
            let mut initial = InitialSeqs::default();
            let flags_of = TcpFlags::from_bits_truncate;
            for (is_client, flags, seq, ack) in handshake {
                let side = if is_client { Side::Client } else { Side::Server };
                initial.update(&segment(flags_of(flags), seq, ack), side);
            }
            let tcp = segment(flags_of(flags), seq, 100);
            initial.update(&tcp, Side::Client);
            let mut output = Vec::new();
            TcpConnection::new(initial).on_segment(
                &tcp, b"abc", Side::Client, window, &mut StreamCounters::default(),
                &mut |side, data| output.push((side, data == StreamData::Bytes(b"abc"))),
            );
            let follow = initial.are_in_order(&tcp, Side::Client, window);
            prop_assert_eq!(follow, output == [(Side::Client, true)]);
        }
    }

    proptest! {
        #[test]
        fn accept_in_order_equals_delivery(
            handshake in prop::collection::vec((any::<bool>(), 0_u16..0x20, 95_u32..105, 95_u32..105), 0..3),
            segments in prop::collection::vec(
                (any::<bool>(), any::<bool>(), 0_u16..0x40, -3_i32..4, -3_i32..4, 0_u8..5), 0..40),
            window in prop::sample::select(vec![0_usize, 3, 150, 1000]),
        ) {
            let flags_of = TcpFlags::from_bits_truncate;
            let mut initial = InitialSeqs::default();
            for (is_client, flags, seq, ack) in handshake {
                let side = if is_client { Side::Client } else { Side::Server };
                initial.update(&segment(flags_of(flags), seq, ack), side);
            }
            let [mut passing, mut taking] = [TcpConnection::new(initial), TcpConnection::new(initial)];
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
                    let (mut output, mut counters) = (Vec::new(), StreamCounters::default());
                    connection.on_segment(&tcp, payload, sender, window, &mut counters, &mut |side, data| {
                        output.push((side, data == StreamData::Bytes(payload)));
                    });
                    (output, counters)
                };
                let before = format!("{passing:?}");
                if passing.accept_in_order(&tcp, payload.len(), sender) {
                    let (output, counters) = take(&mut taking);
                    prop_assert_eq!(counters, StreamCounters::default());
                    prop_assert_eq!(output, if len == 0 { vec![] } else { vec![(sender, true)] });
                } else {
                    prop_assert_eq!(&before, &format!("{passing:?}"), "no byte is accepted");
                    prop_assert_eq!(take(&mut passing), take(&mut taking));
                }
                prop_assert_eq!(format!("{passing:?}"), format!("{taking:?}"));
            }
        }
    }

    #[test]
    fn last_syn_sets_initial_sequence_number() {
        let [client, server] = [Side::Client, Side::Server];
        let output = [(client, b"a".to_vec()), (server, b"z".to_vec())];
        let before_data = [
            (client, TcpFlags::SYN, 99, 0, &b""[..]),
            (server, SYN_ACK, 4_000_000_000, 100, b""),
            (client, TcpFlags::SYN, 99, 0, b""),
            (server, SYN_ACK, 500, 100, b""),
            (client, TcpFlags::ACK, 100, 501, b"a"),
            (server, TcpFlags::ACK, 501, 101, b"z"),
        ];
        assert_eq!(delivered(&before_data), output);
        let syn_with_data = [
            (client, TcpFlags::SYN, 99, 0, &b"a"[..]),
            (server, SYN_ACK, 4_000_000_000, 101, b""),
            (server, SYN_ACK, 500, 101, b""),
            (server, TcpFlags::ACK, 501, 101, b"z"),
        ];
        assert_eq!(delivered(&syn_with_data), output);
        let answer_lost = [
            (client, TcpFlags::SYN, 99, 0, &b"a"[..]),
            (server, SYN_ACK, 4_000_000_000, 101, b""),
            (client, TcpFlags::RST | TcpFlags::ACK, 101, 0, b""),
            (client, TcpFlags::ACK, 101, 501, b""),
            (server, TcpFlags::ACK, 501, 101, b"z"),
        ];
        assert_eq!(delivered(&answer_lost), output);
    }

    #[test]
    fn delivers_data_captured_after_its_acknowledgement() {
        let [client, server] = [Side::Client, Side::Server];
        let swapped =
            [(server, TcpFlags::ACK, 500, 105, &b"z"[..]), (client, TcpFlags::ACK, 100, 500, b"abcde")];
        let output = [(server, b"z".to_vec()), (client, b"abcde".to_vec())];
        assert_eq!(delivered(&swapped), output);
        let after_syn = [&[(client, TcpFlags::SYN, 104, 0, &b""[..])], &swapped[..]].concat();
        assert_eq!(delivered(&after_syn), output[..1]);
    }
}
