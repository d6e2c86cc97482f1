//! Protocols that are known by the first bytes of a side.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use super::{Probe, StreamData, StreamObserver, StreamParser, StreamStart};
use crate::Side;

/// An event that the first bytes of a side of a TCP connection make, as greetings and first requests do. [`PrefixObserver`] reports it.
///
/// ```
/// use std::ops::RangeInclusive;
///
/// use huginn_net_core::{Analyzer, PrefixObserver, PrefixParse, Side, StreamPrefix};
///
/// /// The identification string of an SSH client (RFC 4253, section 4.2).
/// struct Identification(String);
///
/// impl StreamPrefix for Identification {
///     const SENDER: Side = Side::Client;
///     const LEN: RangeInclusive<usize> = 4..=255;
///
///     fn parse(prefix: &[u8]) -> PrefixParse<Self> {
///         match prefix.iter().position(|byte| *byte == b'\n') {
///             _ if !prefix.starts_with(b"SSH-") => PrefixParse::NotForUs,
///             Some(end) => PrefixParse::Event(Self(String::from_utf8_lossy(&prefix[..end]).trim_end().to_owned())),
///             None => PrefixParse::NeedMore,
///         }
///     }
/// }
///
/// let analyzer = Analyzer::<PrefixObserver<Identification>>::builder().build();
/// # let _ = analyzer;
/// ```
pub trait StreamPrefix: Sized + Send {
    /// The side that sends the bytes.
    const SENDER: Side;

    /// Number of bytes that [`parse`](Self::parse) gets: from the first number on it can tell whether the connection is its own, and a
    /// connection that needs more than the last is another protocol's. As many are kept for each connection until the event is complete.
    const LEN: RangeInclusive<usize>;

    /// Parses the first bytes of the side: always all of them from the first one on, as far as they are known. Must be quick: it runs for
    /// each segment that belongs to no known connection, and for each segment until the event is complete.
    fn parse(prefix: &[u8]) -> PrefixParse<Self>;
}

/// What the first bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixParse<E> {
    /// The event is complete. Bytes after it do not matter.
    Event(E),
    /// The event needs more bytes.
    NeedMore,
    /// The connection uses another protocol.
    NotForUs,
}

/// Reports a [`StreamPrefix`] of each TCP connection that begins with one, as a protocol.
pub type PrefixObserver<E> = StreamObserver<PrefixParser<E>>;

/// The parser of a [`StreamPrefix`]. A gap before the end of the prefix ends it without an event. A connection whose start was not
/// captured, or whose contents compete, is read from the first bytes that are known.
#[derive(Debug)]
pub struct PrefixParser<E> {
    /// The bytes before the event is complete.
    bytes: Vec<u8>,
    is_done: bool,
    event: PhantomData<fn() -> E>,
}

/// Parses the bytes that an event may have, once there are enough.
fn parse<E: StreamPrefix>(bytes: &[u8]) -> PrefixParse<E> {
    let prefix = bytes.get(..*E::LEN.end()).unwrap_or(bytes);
    let parsed = if bytes.len() < *E::LEN.start() { PrefixParse::NeedMore } else { E::parse(prefix) };
    match parsed {
        PrefixParse::NeedMore if bytes.len() >= *E::LEN.end() => PrefixParse::NotForUs,
        parsed => parsed,
    }
}

impl<E: StreamPrefix> StreamParser for PrefixParser<E> {
    type Event = E;
    type Counters = ();
    type Settings = ();

    fn probe(sender: Side, first: &[u8]) -> Probe {
        if sender != E::SENDER {
            // The peer may be the one that begins.
            return Probe::Unsure;
        }
        match parse::<E>(first) {
            PrefixParse::Event(_) => Probe::Certain,
            PrefixParse::NeedMore => Probe::Unsure,
            PrefixParse::NotForUs => Probe::NotForUs,
        }
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self { bytes: Vec::new(), is_done: false, event: PhantomData }
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        (): &mut (),
        emit: &mut impl FnMut(Side, Self::Event),
    ) {
        if side != E::SENDER || self.is_done {
            return;
        }
        self.is_done = true;
        let StreamData::Bytes(bytes) = data else { return };
        let is_first = self.bytes.is_empty();
        let prefix = if is_first {
            bytes
        } else {
            let room = E::LEN.end().saturating_sub(self.bytes.len());
            self.bytes.extend(bytes.iter().take(room));
            &self.bytes
        };
        match parse(prefix) {
            PrefixParse::Event(event) => emit(side, event),
            PrefixParse::NeedMore => {
                if is_first {
                    self.bytes = prefix.to_vec();
                }
                self.is_done = false;
                return;
            }
            PrefixParse::NotForUs => {}
        }
        self.bytes = Vec::new();
    }

    fn reads(&self, side: Side) -> bool {
        side == E::SENDER && !self.is_done
    }

    fn buffered_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line of at most eight bytes that begins with two digits.
    #[derive(Debug, PartialEq, Eq)]
    struct Line(Vec<u8>);

    impl StreamPrefix for Line {
        const SENDER: Side = Side::Server;
        const LEN: RangeInclusive<usize> = 2..=8;

        fn parse(prefix: &[u8]) -> PrefixParse<Self> {
            assert!(Self::LEN.contains(&prefix.len()), "other than it asks for");
            match prefix.iter().position(|byte| *byte == b'\n') {
                _ if !prefix.first_chunk::<2>().unwrap().iter().all(u8::is_ascii_digit) => {
                    PrefixParse::NotForUs
                }
                Some(end) => PrefixParse::Event(Self(prefix.get(..end).unwrap_or_default().to_vec())),
                None => PrefixParse::NeedMore,
            }
        }
    }

    /// The events of data in pieces, and the bytes that were kept.
    fn parse(pieces: &[&[u8]]) -> (Vec<Line>, usize) {
        let (mut parser, mut events, mut kept) =
            (PrefixParser::<Line>::new(StreamStart::Handshake, ()), Vec::new(), 0);
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            if parser.reads(Side::Server) {
                parser.on_data(Side::Server, StreamData::Bytes(piece), &mut (), &mut |side, line| {
                    assert_eq!(side, Side::Server);
                    events.push(line);
                });
            }
            kept = kept.max(parser.bytes.len());
        }
        (events, kept)
    }

    proptest! {
        #[test]
        fn pieces_give_the_event_of_the_whole(data in "[0-9a\n]{1,12}", cut in 0_usize..12, next in 0_usize..12) {
            let data = data.as_bytes();
            let (first, rest) = data.split_at(cut.min(data.len()));
            let (second, third) = rest.split_at(next.min(rest.len()));
            let (events, kept) = parse(&[first, second, third]);
            prop_assert_eq!(&events, &parse(&[data]).0);
            prop_assert!(kept < *Line::LEN.end());
            let is_certain = PrefixParser::<Line>::probe(Side::Server, data) == Probe::Certain;
            prop_assert_eq!(is_certain, events.len() == 1);
        }
    }

    #[test]
    fn ends_at_its_limit_at_a_gap_and_at_another_protocol() {
        assert_eq!(parse(&[b"220 a\nb"]).0, [Line(b"220 a".to_vec())]);
        assert_eq!(parse(&[b"22", b"0 abcdefgh\n"]), (Vec::new(), 2));
        assert_eq!(parse(&[b"x20 a\n"]), (Vec::new(), 0));
        let mut parser = PrefixParser::<Line>::new(StreamStart::Handshake, ());
        parser.on_data(Side::Server, StreamData::Bytes(b"22"), &mut (), &mut |_, line| panic!("{line:?}"));
        assert!(parser.reads(Side::Server) && !parser.reads(Side::Client) && parser.buffered_bytes() > 0);
        parser.on_data(Side::Server, StreamData::Gap(1), &mut (), &mut |_, line| panic!("{line:?}"));
        assert!(!parser.reads(Side::Server));
        assert_eq!(PrefixParser::<Line>::probe(Side::Client, b"x"), Probe::Unsure);
        assert_eq!(PrefixParser::<Line>::probe(Side::Server, b"22"), Probe::Unsure);
        assert_eq!(PrefixParser::<Line>::probe(Side::Server, b"x"), Probe::Unsure);
        assert_eq!(PrefixParser::<Line>::probe(Side::Server, b"xy"), Probe::NotForUs);
    }
}
