//! The slot of one parser in a set.

use super::{Probe, StreamData, StreamParser, StreamStart};
use crate::Side;

/// One parser of a connection, from its first data until it is done.
#[derive(Debug)]
pub struct ParserSlot<P>(pub(super) SlotState<P>);

#[derive(Debug)]
pub(super) enum SlotState<P> {
    /// No data was received.
    Waiting,
    /// The parser summarized its state in this byte.
    Summarized(u8),
    /// The parser, and whether it needs data of client and server after the last segment.
    Reading(P, [bool; 2]),
    /// The parser is done, or the connection uses another protocol.
    Dropped,
}

/// Data for the parsers of a connection.
#[derive(Clone, Copy, Debug)]
pub struct StreamInput<'a> {
    pub(super) side: Side,
    pub(super) data: StreamData<'a>,
    pub(super) start: StreamStart,
    /// Whether these are the first data of the connection, and all data of a segment from which the connection can be
    /// rebuilt.
    pub(super) is_first_segment: bool,
}

impl<P: StreamParser> ParserSlot<P> {
    /// Creates the slot of a new connection; it has no parser unless `is_enabled`.
    pub fn new(is_enabled: bool) -> Self {
        Self(if is_enabled { SlotState::Waiting } else { SlotState::Dropped })
    }

    /// Drops the parser.
    pub fn drop_parser(&mut self) {
        self.0 = SlotState::Dropped;
    }

    /// Passes data to the parser.
    #[inline]
    pub fn on_data(
        &mut self,
        input: StreamInput<'_>,
        counters: &mut P::Counters,
        emit: &mut impl FnMut(Side, P::Event),
    ) {
        match &mut self.0 {
            SlotState::Reading(parser, [client, server]) => {
                if input.side.choose(*client, *server) {
                    parser.on_data(input.side, input.data, counters, emit);
                }
            }
            SlotState::Waiting => self.0 = Self::start(input, counters, emit),
            SlotState::Summarized(_) | SlotState::Dropped => {}
        }
    }

    /// Passes the first data of the connection to the parser.
    fn start(
        StreamInput { side, data, start, is_first_segment }: StreamInput<'_>,
        counters: &mut P::Counters,
        emit: &mut impl FnMut(Side, P::Event),
    ) -> SlotState<P> {
        if let StreamData::Bytes(bytes) = data {
            let summary =
                if is_first_segment { P::summarize(side, bytes, start, counters, emit) } else { None };
            if let Some(summary) = summary {
                return SlotState::Summarized(summary);
            }
            if P::probe(side, bytes) == Probe::NotForUs {
                return SlotState::Dropped;
            }
        }
        let mut parser = P::new(start);
        parser.on_data(side, data, counters, emit);
        SlotState::Reading(parser, [true; 2])
    }
}
