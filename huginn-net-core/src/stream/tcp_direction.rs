//! One direction of a TCP connection.

use super::initial_seq::InitialSeq;
use super::{StreamCounters, StreamData};
use crate::{Reassembler, TcpHeader};

/// Reassembles one direction of a TCP connection: its bytes in order, from the SYN or else from the first segment
/// captured.
///
/// Sequence numbers wrap (RFC 9293, section 3.4): a segment lies within 2 GiB of the byte delivered last. A gap is given
/// up once the receiver has acknowledged it, or once the out-of-order buffer behind it is full.
#[derive(Debug, Default)]
pub(crate) struct TcpDirection {
    initial: Option<InitialSeq>,
    bytes: Reassembler,
    /// The offset up to which the receiver has acknowledged bytes.
    acknowledged: u64,
}

impl TcpDirection {
    /// Creates a direction that begins at `initial`, or with the first segment pushed.
    pub(crate) const fn new(initial: Option<InitialSeq>) -> Self {
        Self { initial, bytes: Reassembler::new(), acknowledged: 0 }
    }

    /// Takes the sequence number of the first byte from a SYN.
    ///
    /// The last SYN before the first byte counts: a server that keeps no state answers a retransmitted SYN with another
    /// sequence number (RFC 4987, section 3.6).
    pub(crate) fn set_initial_seq(&mut self, seq: u32) {
        if self.is_empty() {
            (self.initial, self.acknowledged) = (Some(InitialSeq { seq, from_syn: true }), 0);
        }
    }

    /// Processes the receiver's acknowledgement number. The direction starts there if its start is unknown, or if no
    /// byte was captured and the known start is more than `window` bytes away.
    pub(crate) fn start_at_ack(&mut self, ack: u32, window: usize) {
        let is_far = usize::try_from(self.ahead(ack)).map_or(true, |ahead| ahead > window);
        if self.initial.is_none() || is_far && self.is_empty() {
            (self.initial, self.acknowledged) = (Some(InitialSeq { seq: ack, from_syn: false }), 0);
        }
    }

    /// Whether no byte was received.
    fn is_empty(&self) -> bool {
        self.bytes.position() == 0 && self.bytes.buffered_bytes() == 0
    }

    /// Returns the memory used by out-of-order segments, in bytes.
    pub(crate) const fn buffered_bytes(&self) -> usize {
        self.bytes.buffered_bytes()
    }

    /// Takes a segment's payload, and delivers the bytes that are now in order. The out-of-order buffer takes at most
    /// `window` bytes: see [`Reassembler::push`].
    pub(crate) fn push(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        window: usize,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>),
    ) {
        if !self.insert(tcp, payload, window, deliver) {
            counters.segments_refused = counters.segments_refused.saturating_add(1);
            self.skip_gap(counters, deliver);
            let _ = self.insert(tcp, payload, window, deliver);
        }
        self.skip_acknowledged_gaps(counters, deliver);
    }

    /// Processes an acknowledgement: the receiver has all bytes before `ack`.
    pub(crate) fn acknowledge(
        &mut self,
        ack: u32,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>),
    ) {
        if self.initial.is_some() {
            self.record_ack(ack);
            self.skip_acknowledged_gaps(counters, deliver);
        }
    }

    /// Whether the next byte to be delivered has this sequence number, and nothing is buffered.
    #[inline]
    pub(crate) fn is_next(&self, seq: u32) -> bool {
        self.initial.is_some() && self.bytes.buffered_bytes() == 0 && self.ahead(seq) == 0
    }

    /// Skips payload that [continues](Self::is_next) the direction.
    #[inline]
    pub(crate) fn skip(&mut self, len: usize) {
        self.bytes.skip(len);
    }

    /// Processes an acknowledgement as [`acknowledge`](Self::acknowledge) does, if it delivers nothing. Returns whether it
    /// did.
    #[inline]
    pub(crate) fn accept_pure_ack(&mut self, ack: u32) -> bool {
        if self.initial.is_none() || self.bytes.position() == 0 || self.bytes.buffered_bytes() != 0 {
            return false;
        }
        self.record_ack(ack);
        true
    }

    #[inline]
    fn record_ack(&mut self, ack: u32) {
        let ahead = u64::try_from(self.ahead(ack)).unwrap_or(0);
        self.acknowledged = self.acknowledged.max(self.bytes.position().saturating_add(ahead));
    }

    fn insert(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        window: usize,
        deliver: &mut impl FnMut(StreamData<'_>),
    ) -> bool {
        let seq = tcp.first_byte_seq();
        self.start_at_segment(seq, window);
        let position = self.bytes.position();
        let (offset, payload) = match self.ahead(seq) {
            ahead @ 0.. => (position.saturating_add(u64::from(ahead.unsigned_abs())), payload),
            behind => {
                let old = usize::try_from(behind.unsigned_abs()).unwrap_or(usize::MAX);
                (position, payload.get(old..).unwrap_or_default())
            }
        };
        self.bytes.push(offset, payload, window, &mut |bytes| deliver(StreamData::Bytes(bytes)))
    }

    /// Starts at this segment if the start is unknown or known only from an acknowledgement: an earlier segment may
    /// be captured after its acknowledgement.
    fn start_at_segment(&mut self, seq: u32, window: usize) {
        match self.initial {
            None => self.initial = Some(InitialSeq { seq, from_syn: false }),
            Some(initial) if self.is_empty() && initial.may_start_at(seq, window) => {
                self.acknowledged =
                    self.acknowledged.saturating_add(u64::from(self.ahead(seq).unsigned_abs()));
                self.initial = Some(InitialSeq { seq, from_syn: false });
            }
            Some(_) => {}
        }
    }

    /// Skips gaps that the receiver has acknowledged: their bytes will not be retransmitted.
    fn skip_acknowledged_gaps(
        &mut self,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(StreamData<'_>),
    ) {
        while self.bytes.first_buffered().is_some_and(|first| first <= self.acknowledged) {
            self.skip_gap(counters, deliver);
        }
    }

    /// Gives up the bytes missing before the first buffered segment.
    fn skip_gap(&mut self, counters: &mut StreamCounters, deliver: &mut impl FnMut(StreamData<'_>)) {
        if let Some(first) = self.bytes.first_buffered() {
            counters.gaps = counters.gaps.saturating_add(1);
            deliver(StreamData::Gap(first.saturating_sub(self.bytes.position())));
            self.bytes.skip_gap(&mut |bytes| deliver(StreamData::Bytes(bytes)));
        }
    }

    /// Returns the distance of a sequence number from the next byte to be delivered.
    #[inline]
    fn ahead(&self, seq: u32) -> i32 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a sequence number is the low 32 bits of an offset"
        )]
        let next = self.initial.map_or(0, |initial| initial.seq).wrapping_add(self.bytes.position() as u32);
        seq.wrapping_sub(next).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpFlags;

    /// A stream and its delivered bytes, with `|` for a gap.
    #[derive(Default)]
    struct Harness {
        stream: TcpDirection,
        text: String,
        counters: StreamCounters,
    }

    impl Harness {
        fn segment(&mut self, seq: u32, flags: TcpFlags, payload: &[u8]) {
            let tcp = TcpHeader {
                src_port: 1,
                dst_port: 2,
                seq,
                ack: 0,
                flags,
                window: 0,
                urgent: 0,
                options: &[],
            };
            let Self { stream, text, counters } = self;
            stream.push(&tcp, payload, 1000, counters, &mut |data| show(text, data));
        }

        fn acknowledge(&mut self, ack: u32) {
            let Self { stream, text, counters } = self;
            stream.acknowledge(ack, counters, &mut |data| show(text, data));
        }
    }

    fn show(text: &mut String, data: StreamData<'_>) {
        match data {
            StreamData::Bytes(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
            StreamData::Gap(missing) => text.push_str(&format!("|{missing}|")),
        }
    }

    #[test]
    fn accepts_wrapped_sequence_numbers_and_data_on_syn() {
        let mut shown = Harness::default();
        shown.segment(u32::MAX - 4, TcpFlags::SYN, b"abc");
        shown.segment(1, TcpFlags::ACK, b"fg");
        shown.segment(u32::MAX - 2, TcpFlags::ACK, b"?cde");
        shown.segment(u32::MAX - 3, TcpFlags::ACK, b"?");
        assert_eq!(shown.text, "abcdefg");
    }

    #[test]
    fn gives_up_acknowledged_gaps() {
        let mut shown = Harness::default();
        shown.stream.set_initial_seq(u32::MAX);
        shown.acknowledge(9);
        shown.segment(10, TcpFlags::ACK, b"abc");
        assert_eq!(shown.text, "", "the byte at 9 may still arrive");
        shown.acknowledge(5);
        shown.segment(20, TcpFlags::ACK, b"xyz");
        shown.acknowledge(10);
        assert_eq!(shown.text, "|11|abc");
        shown.acknowledge(30);
        assert_eq!((shown.text.as_str(), shown.counters.gaps), ("|11|abc|7|xyz", 2));
        shown.segment(13, TcpFlags::ACK, b"late");
        assert_eq!(shown.text, "|11|abc|7|xyz");
    }

    #[test]
    fn gives_up_gap_when_buffer_is_full() {
        let mut shown = Harness::default();
        shown.stream.set_initial_seq(0);
        for n in 0..40_u32 {
            shown.segment(10 + n * 20, TcpFlags::ACK, b"0123456789");
        }
        assert!(shown.text.starts_with("|10|0123456789"), "{}", shown.text);
        assert!(shown.counters.segments_refused > 0 && shown.stream.buffered_bytes() <= 1000);
        shown.segment(3_000_000, TcpFlags::ACK, b"far");
        shown.segment(3_000_000, TcpFlags::ACK, b"far");
        assert!(!shown.text.contains("far"), "beyond the window");
    }
}
