//! One direction of a TCP connection.

use crate::{Reassembler, TcpFlags, TcpHeader, tally};

/// One direction of a TCP connection: its bytes in order, from the SYN, or else from the first segment seen.
///
/// Sequence numbers wrap (RFC 9293, section 3.4): a segment is taken to lie within 2 GiB of what was delivered last.
/// What the capture lacks is given up once the receiver has acknowledged it, or once too much is held behind it.
#[derive(Debug, Default)]
pub struct TcpStream {
    start: Option<Start>,
    bytes: Reassembler,
    /// The offset up to which the receiver has told that it has the bytes.
    acknowledged: u64,
}

/// Where a direction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The sequence number of the first byte.
    pub(crate) seq: u32,
    /// Whether its sender said so in a SYN. Otherwise bytes before it may come yet.
    pub(crate) told: bool,
}

impl Start {
    /// Whether the direction may as well begin there: up to `window` bytes before what its sender did not tell.
    pub(crate) fn may_be(self, seq: u32, window: usize) -> bool {
        let back = self.seq.wrapping_sub(seq).cast_signed();
        !self.told && back > 0 && usize::try_from(back).is_ok_and(|back| back <= window)
    }
}

/// The next of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes in order.
    Bytes(&'a [u8]),
    /// So many bytes are missing here, and will not come.
    Gap(u64),
}

/// What TCP streams could not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments that came too far ahead of what was missing to be held.
    pub segments_refused: u64,
    /// Gaps given up: the receiver had what the capture lacks, or too much was held behind them.
    pub gaps: u64,
}

tally!(StreamCounters { segments_refused, gaps });

impl TcpStream {
    /// A direction that begins at this sequence number, or with the first segment pushed.
    pub const fn new(start: Option<u32>) -> Self {
        Self::beginning(match start {
            Some(seq) => Some(Start { seq, told: true }),
            None => None,
        })
    }

    pub(crate) const fn beginning(start: Option<Start>) -> Self {
        Self { start, bytes: Reassembler::new(), acknowledged: 0 }
    }

    /// Takes the sequence number of the first byte, which a SYN tells.
    ///
    /// That of another SYN counts as long as no byte has come: a server that keeps no state answers a SYN that comes
    /// again with another sequence number (RFC 4987, section 3.6).
    pub fn begin_at(&mut self, seq: u32) {
        if self.is_fresh() {
            (self.start, self.acknowledged) = (Some(Start { seq, told: true }), 0);
        }
    }

    /// Takes the sequence number that the receiver waits for. It is that of the first byte where nothing else was
    /// told, and where no byte has come and what was told is more than `window` bytes away.
    pub fn begin_where_awaited(&mut self, ack: u32, window: usize) {
        let far = usize::try_from(self.ahead(ack)).map_or(true, |ahead| ahead > window);
        if self.start.is_none() || far && self.is_fresh() {
            (self.start, self.acknowledged) = (Some(Start { seq: ack, told: false }), 0);
        }
    }

    /// Whether no byte has come.
    fn is_fresh(&self) -> bool {
        self.bytes.position() == 0 && self.bytes.held() == 0
    }

    /// The memory that segments held back take up, in bytes.
    pub const fn held(&self) -> usize {
        self.bytes.held()
    }

    /// Takes a segment's payload, and delivers what is now in order. At most `window` bytes are held back: see
    /// [`Reassembler::push`].
    pub fn push(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        window: usize,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(Piece<'_>),
    ) {
        if !self.insert(tcp, payload, window, deliver) {
            counters.segments_refused = counters.segments_refused.saturating_add(1);
            self.skip_gap(counters, deliver);
            let _ = self.insert(tcp, payload, window, deliver);
        }
        self.skip_lost(counters, deliver);
    }

    /// Takes what the receiver says: it has the bytes before this sequence number.
    pub fn acknowledge(
        &mut self,
        ack: u32,
        counters: &mut StreamCounters,
        deliver: &mut impl FnMut(Piece<'_>),
    ) {
        if self.start.is_some() {
            self.note_acknowledged(ack);
            self.skip_lost(counters, deliver);
        }
    }

    /// Whether the next byte to be delivered has this sequence number, and nothing is held back.
    #[inline]
    pub(crate) fn continues_with(&self, seq: u32) -> bool {
        self.start.is_some() && self.bytes.held() == 0 && self.ahead(seq) == 0
    }

    /// Passes over payload that [continues](Self::continues_with) it.
    #[inline]
    pub(crate) fn pass_over(&mut self, len: usize) {
        self.bytes.advance(len);
    }

    /// Takes what the receiver says, as [`acknowledge`](Self::acknowledge) does, if nothing follows from it now; tells
    /// whether that is so.
    #[inline]
    pub(crate) fn is_only_acknowledged(&mut self, ack: u32) -> bool {
        if self.start.is_none() || self.bytes.position() == 0 || self.bytes.held() != 0 {
            return false;
        }
        self.note_acknowledged(ack);
        true
    }

    #[inline]
    fn note_acknowledged(&mut self, ack: u32) {
        let ahead = u64::try_from(self.ahead(ack)).unwrap_or(0);
        self.acknowledged = self.acknowledged.max(self.bytes.position().saturating_add(ahead));
    }

    fn insert(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        window: usize,
        deliver: &mut impl FnMut(Piece<'_>),
    ) -> bool {
        let seq = first_byte(tcp);
        self.begin_before(seq, window);
        let position = self.bytes.position();
        let (offset, payload) = match self.ahead(seq) {
            ahead @ 0.. => (position.saturating_add(u64::from(ahead.unsigned_abs())), payload),
            behind => {
                let old = usize::try_from(behind.unsigned_abs()).unwrap_or(usize::MAX);
                (position, payload.get(old..).unwrap_or_default())
            }
        };
        self.bytes.push(offset, payload, window, &mut |bytes| deliver(Piece::Bytes(bytes)))
    }

    /// Begins with this segment if there is no beginning yet, or only what the receiver acknowledged tells of one: then
    /// a segment of before that may be captured after it.
    fn begin_before(&mut self, seq: u32, window: usize) {
        match self.start {
            None => self.start = Some(Start { seq, told: false }),
            Some(start) if self.is_fresh() && start.may_be(seq, window) => {
                self.acknowledged =
                    self.acknowledged.saturating_add(u64::from(self.ahead(seq).unsigned_abs()));
                self.start = Some(Start { seq, told: false });
            }
            Some(_) => {}
        }
    }

    /// Gives up what the receiver has and the capture lacks: it does not come again.
    fn skip_lost(&mut self, counters: &mut StreamCounters, deliver: &mut impl FnMut(Piece<'_>)) {
        while self.bytes.first_held().is_some_and(|first| first <= self.acknowledged) {
            self.skip_gap(counters, deliver);
        }
    }

    /// Gives up what is missing before the first segment held.
    fn skip_gap(&mut self, counters: &mut StreamCounters, deliver: &mut impl FnMut(Piece<'_>)) {
        if let Some(first) = self.bytes.first_held() {
            counters.gaps = counters.gaps.saturating_add(1);
            deliver(Piece::Gap(first.saturating_sub(self.bytes.position())));
            self.bytes.skip_gap(&mut |bytes| deliver(Piece::Bytes(bytes)));
        }
    }

    /// How far a sequence number is after the next byte to be delivered.
    #[inline]
    fn ahead(&self, seq: u32) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what the wire counts")]
        let next = self.start.map_or(0, |start| start.seq).wrapping_add(self.bytes.position() as u32);
        seq.wrapping_sub(next).cast_signed()
    }
}

/// The sequence number of the first byte of payload: a SYN counts as one byte before it.
pub(crate) fn first_byte(tcp: &TcpHeader<'_>) -> u32 {
    tcp.seq.wrapping_add(u32::from(tcp.flags.contains(TcpFlags::SYN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream and what it delivered, `|` for a gap.
    #[derive(Default)]
    struct Shown {
        stream: TcpStream,
        text: String,
        counters: StreamCounters,
    }

    impl Shown {
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
            stream.push(&tcp, payload, 1000, counters, &mut |piece| show(text, piece));
        }

        fn acknowledge(&mut self, ack: u32) {
            let Self { stream, text, counters } = self;
            stream.acknowledge(ack, counters, &mut |piece| show(text, piece));
        }
    }

    fn show(text: &mut String, piece: Piece<'_>) {
        match piece {
            Piece::Bytes(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
            Piece::Gap(missing) => text.push_str(&format!("|{missing}|")),
        }
    }

    #[test]
    fn sequence_numbers_wrap_and_a_syn_may_carry_data() {
        let mut shown = Shown::default();
        shown.segment(u32::MAX - 4, TcpFlags::SYN, b"abc");
        shown.segment(1, TcpFlags::ACK, b"fg");
        shown.segment(u32::MAX - 2, TcpFlags::ACK, b"?cde");
        shown.segment(u32::MAX - 3, TcpFlags::ACK, b"?");
        assert_eq!(shown.text, "abcdefg");
    }

    #[test]
    fn what_the_receiver_has_and_the_capture_lacks_is_given_up() {
        let mut shown = Shown::default();
        shown.stream.begin_at(u32::MAX);
        shown.acknowledge(9);
        shown.segment(10, TcpFlags::ACK, b"abc");
        assert_eq!(shown.text, "", "the byte at 9 may be on its way");
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
    fn a_gap_is_given_up_when_too_much_is_held_behind_it() {
        let mut shown = Shown::default();
        shown.stream.begin_at(0);
        for n in 0..40_u32 {
            shown.segment(10 + n * 20, TcpFlags::ACK, b"0123456789");
        }
        assert!(shown.text.starts_with("|10|0123456789"), "{}", shown.text);
        assert!(shown.counters.segments_refused > 0 && shown.stream.held() <= 1000);
        shown.segment(3_000_000, TcpFlags::ACK, b"far");
        shown.segment(3_000_000, TcpFlags::ACK, b"far");
        assert!(!shown.text.contains("far"), "out of the window");
    }
}
