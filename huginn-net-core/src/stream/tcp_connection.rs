//! Both directions of a TCP connection.

use super::alternative::Alternatives;
use super::initial_seq::InitialSeqs;
use super::tcp_direction::{Expected, Payload, TcpDirection};
use super::{StreamCounters, StreamData, side_mut};
use crate::{PacketRef, Segment, Side, TcpFlags, TcpHeader};

/// Reassembles both directions of a TCP connection.
#[derive(Debug)]
pub(crate) struct TcpConnection {
    /// Client and server; none for a side that no parser reads.
    directions: [Option<TcpDirection>; 2],
    /// Those of sides that were read before, until they are added to the counters.
    counted: Expected,
    /// Whether client and server sent a segment.
    pub(super) has_seen: [bool; 2],
}

impl TcpConnection {
    /// Creates a connection whose directions begin at `initial`.
    ///
    /// What counts is what the receiver read, so bytes are compared with their retransmissions.
    pub(crate) fn new(initial: InitialSeqs) -> Self {
        let InitialSeqs { first_bytes: [client, server], has_seen, .. } = initial;
        let directions = [client, server].map(|initial| Some(TcpDirection::new(initial)));
        Self { directions, counted: Expected::default(), has_seen }
    }

    /// Processes a segment of either side, and delivers the data that is now in order with its sender and the packet that
    /// completed it. The out-of-order buffer of a direction takes at most `window` bytes.
    pub(crate) fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        payload: &[u8],
        sender: Side,
        window: usize,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(Side, StreamData<'_>, PacketRef),
    ) {
        let Some(tcp) = segment.tcp() else { return };
        *side_mut(&mut self.has_seen, sender) = true;
        let receiver = sender.peer();
        let acknowledges = tcp.flags.contains(TcpFlags::ACK) && !tcp.flags.contains(TcpFlags::RST);
        let mut ack_is_wrong = false;
        if let Some(direction) = side_mut(&mut self.directions, receiver).as_mut().filter(|_| acknowledges) {
            direction.start_at_ack(tcp.ack, window);
            ack_is_wrong = !direction.may_acknowledge(tcp.ack);
            direction.acknowledge(tcp.ack, counters, &mut |data, packet| deliver(receiver, data, packet));
        }
        if let Some(direction) = side_mut(&mut self.directions, sender) {
            if tcp.flags.contains(TcpFlags::SYN) {
                direction.set_initial_seq(tcp.first_byte_seq());
            }
            if !payload.is_empty() {
                let payload = Payload { segment, tcp, bytes: payload };
                let deliver = &mut |data: StreamData<'_>, packet| deliver(sender, data, packet);
                direction.push(payload, window, ack_is_wrong, counters, deliver);
            }
        }
    }

    /// Accepts a segment without reading its payload, if [`on_segment`](Self::on_segment) would deliver exactly that
    /// payload: it is next in order and neither side has buffered data that it releases. Otherwise changes nothing and
    /// returns false.
    ///
    /// The caller delivers or skips the payload, so a skipped body is never loaded from memory.
    #[inline(always)]
    pub(crate) fn accept_in_order(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        const PART: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK).union(TcpFlags::RST).union(TcpFlags::URG);
        let [client, server] = &mut self.directions;
        let (from, to) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let continues = |from: &TcpDirection| payload_len == 0 || from.is_next(tcp.seq, payload_len);
        let skips = tcp.flags & PART == TcpFlags::ACK
            && from.as_ref().is_none_or(continues)
            && to.as_mut().is_none_or(|to| to.accept_pure_ack(tcp.ack));
        if let Some(from) = from.as_mut().filter(|_| skips) {
            from.skip(payload_len);
        }
        if skips {
            *side_mut(&mut self.has_seen, sender) = true;
        }
        skips
    }

    /// Whether no parser reads the next `len` bytes of a side.
    #[inline]
    pub(crate) fn may_skip(&self, len: usize, sender: Side) -> bool {
        let [client, server] = &self.directions;
        let direction = match sender {
            Side::Client => client,
            Side::Server => server,
        };
        direction.as_ref().is_none_or(|direction| direction.may_skip(len))
    }

    /// Counts skipped bytes of a side.
    #[inline]
    pub(crate) fn pass_skippable(&mut self, len: usize, sender: Side) {
        if let Some(direction) = side_mut(&mut self.directions, sender) {
            direction.skippable = direction.skippable.saturating_sub(len as u64);
        }
    }

    /// Whether the client has sent less than a window, or no parser reads it.
    pub(crate) fn is_near_start(&self) -> bool {
        let [client, _] = &self.directions;
        client.as_ref().is_none_or(TcpDirection::is_near_start)
    }

    /// Whether there are copies of delivered bytes of client and server.
    #[inline]
    pub(crate) fn has_copies(&self) -> [bool; 2] {
        let [client, server] = &self.directions;
        [client, server].map(|direction| direction.as_ref().is_some_and(TcpDirection::has_copy))
    }

    /// Whether no bytes wait for their acknowledgement.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.directions.iter().flatten().all(TcpDirection::is_settled)
    }

    /// Keeps a copy of payload that was [accepted](Self::accept_in_order) and delivered, but for its last `uncompared` bytes.
    #[inline]
    pub(crate) fn keep_unsettled(
        &mut self,
        segment: &Segment<'_>,
        payload: &[u8],
        uncompared: usize,
        sender: Side,
    ) {
        if let Some(direction) = self.direction_mut(sender) {
            direction.keep_unsettled(payload, uncompared, segment);
        }
    }

    pub(super) fn direction(&self, side: Side) -> Option<&TcpDirection> {
        let [client, server] = &self.directions;
        side.choose(client, server).as_ref()
    }

    pub(super) fn direction_mut(&mut self, side: Side) -> Option<&mut TcpDirection> {
        side_mut(&mut self.directions, side).as_mut()
    }

    /// Adds the bytes that the capture should have, and those that it lacks, to the counters: of sides that parsers still read, and of
    /// those that they read before.
    pub(crate) fn count_expected(&mut self, counters: &mut StreamCounters) {
        let mut counted = std::mem::take(&mut self.counted);
        let [has_client, has_server] = self.has_seen;
        for (direction, has_receiver) in self.directions.iter().zip([has_server, has_client]) {
            if let Some(direction) = direction.as_ref().filter(|_| has_receiver) {
                counted.add(direction.expected());
            }
        }
        counters.expected_bytes = counters.expected_bytes.saturating_add(counted.bytes);
        counters.missing_bytes = counters.missing_bytes.saturating_add(counted.missing);
    }

    /// Stops reading a side, and frees its buffer once no bytes wait for their acknowledgement. Returns whether it did.
    pub(crate) fn stop_reading(&mut self, side: Side) -> bool {
        let has_receiver = *side_mut(&mut self.has_seen, side.peer());
        let direction = side_mut(&mut self.directions, side);
        if let Some(direction) = direction.as_ref().filter(|_| has_receiver) {
            self.counted.add(direction.expected());
        }
        let is_free = direction.as_mut().is_none_or(TcpDirection::stop_reading);
        if is_free {
            *direction = None;
        }
        is_free
    }

    /// Reads a side again that no parser read.
    pub(crate) fn read_again(&mut self, side: Side) {
        if let Some(direction) = self.direction_mut(side) {
            direction.is_read = true;
        }
    }

    /// Takes the contents of a side that its receiver may have read instead of the delivered one; see
    /// [`TcpDirection::take_alternatives`].
    pub(crate) fn take_alternatives(
        &mut self,
        side: Side,
        at_end: bool,
    ) -> Option<(Box<Alternatives>, bool)> {
        self.direction_mut(side)?.take_alternatives(at_end)
    }

    /// Whether contents of a side compete with the delivered one.
    pub(crate) fn has_alternatives(&self, side: Side) -> bool {
        self.direction(side).is_some_and(TcpDirection::has_alternatives)
    }

    /// Whether these contents are more than can be kept.
    pub(crate) fn has_full_alternatives(&self, side: Side) -> bool {
        self.direction(side).is_some_and(TcpDirection::has_full_alternatives)
    }

    /// Whether the sender of a segment sent bytes before it that the capture lacks, while bytes of its receiver are missing too.
    pub(crate) fn lacks_end(&self, tcp: &TcpHeader<'_>, sender: Side) -> bool {
        self.direction(sender.peer()).is_some_and(TcpDirection::has_buffered)
            && self.direction(sender).is_some_and(|direction| direction.lacks_bytes_before(tcp.seq))
    }

    /// Whether a direction has segments after a gap, or contents that were not reported.
    pub(crate) fn has_pending(&self) -> bool {
        self.directions
            .iter()
            .flatten()
            .any(|direction| direction.has_buffered() || direction.has_alternatives())
    }

    /// Returns the memory used by out-of-order segments and by copies of delivered bytes, in bytes.
    #[inline]
    pub(crate) fn buffered_bytes(&self) -> usize {
        let [client, server] = &self.directions;
        let bytes =
            |direction: &Option<TcpDirection>| direction.as_ref().map_or(0, TcpDirection::buffered_bytes);
        bytes(client).saturating_add(bytes(server))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stream::unsettled::Unsettled;

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
            connection.on_segment(
                &Segment::from_tcp(tcp, payload),
                payload,
                sender,
                1000,
                &mut counters,
                &mut |side, data, _| match data {
                    StreamData::Bytes(bytes) => output.push((side, bytes.to_vec())),
                    StreamData::Gap(_) => output.push((side, b"|".to_vec())),
                },
            );
        };
        push(&mut connection, Side::Client, 100, 500, b"a");
        push(&mut connection, Side::Server, 502, 101, b"z");
        let copy = size_of::<Unsettled>();
        assert_eq!(connection.buffered_bytes(), 65 + copy, "two bytes of the server are missing");
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
                connection.on_segment(
                    &Segment::from_tcp(tcp, payload),
                    payload,
                    *sender,
                    1000,
                    &mut counters,
                    &mut |side, data, _| {
                        let StreamData::Bytes(bytes) = data else { panic!("nothing is missing") };
                        output.push((side, bytes.to_vec()));
                    },
                );
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
                &Segment::from_tcp(tcp, b"abc"), b"abc", Side::Client, window, &mut StreamCounters::default(),
                &mut |side, data, _| output.push((side, data == StreamData::Bytes(b"abc"))),
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
                    connection.on_segment(&Segment::from_tcp(tcp, payload), payload, sender, window, &mut counters, &mut |side, data, _| {
                        output.push((side, data == StreamData::Bytes(payload)));
                    });
                    (output, counters)
                };
                let before = format!("{passing:?}");
                if passing.accept_in_order(&tcp, payload.len(), sender) {
                    if !payload.is_empty() {
                        passing.keep_unsettled(&Segment::from_tcp(tcp, payload), payload, 0, sender);
                    }
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
