//! The slot of one parser in a set.

use super::{Probe, StreamData, StreamParser, StreamStart};
use crate::{Conflict, Event, FlowId, Origin, PacketRef, Side, Timestamp};

/// One parser of a connection, from its first data until it is done.
#[derive(Debug)]
pub struct ParserSlot<P: StreamParser> {
    pub(super) state: SlotState<P>,
    pub(super) settings: P::Settings,
}

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
    /// The packet that completed the data, if it is not the one that is being analysed.
    pub(super) packet: Option<PacketRef>,
    /// Why the data compete with others, if they do.
    pub(super) conflict: Option<Conflict>,
    /// The number of the packet with the data that they compete with, if it is known.
    pub(super) conflicting_packet: Option<u64>,
    /// Whether these are the first data of the connection, and all data of a segment from which the connection can be
    /// rebuilt.
    pub(super) is_first_segment: bool,
}

impl<'a> StreamInput<'a> {
    /// Data of the segment that is being analysed.
    #[inline]
    pub(super) fn new(side: Side, data: StreamData<'a>, start: StreamStart) -> Self {
        Self {
            side,
            data,
            start,
            packet: None,
            conflict: None,
            conflicting_packet: None,
            is_first_segment: false,
        }
    }
}

impl StreamInput<'_> {
    /// The origin of an observation about `subject` that these data completed.
    #[inline]
    pub fn origin(&self, subject: Side) -> Origin {
        Origin { packet: self.packet, conflict: self.conflict, ..subject.into() }
    }

    /// The side that sent the data.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Whether these data compete with others of the same place in the stream, and why.
    #[inline]
    pub fn conflict(&self) -> Option<Conflict> {
        self.conflict
    }

    /// Number of the packet with the data that these compete with, if it is known.
    #[inline]
    pub fn conflicting_packet(&self) -> Option<u64> {
        self.conflicting_packet
    }

    /// Creates the event of an observation that these data completed, at the [end](crate::StreamFlow::on_end) of a flow.
    pub fn event<K>(&self, flow: &FlowId, subject: Side, kind: K) -> Event<K> {
        let packet = self.packet.unwrap_or(PacketRef { ts: Timestamp::default(), number: 0 });
        Event::from_origin(packet, flow.clone(), self.origin(subject), kind)
    }
}

impl<P: StreamParser> ParserSlot<P> {
    /// Creates the slot of a new connection; it has no parser unless `is_enabled`.
    pub fn new(is_enabled: bool) -> Self {
        Self::with_settings(is_enabled, P::Settings::default())
    }

    /// Creates the slot of a new connection, as [`new`](Self::new) does, for a parser with these settings.
    pub fn with_settings(is_enabled: bool, settings: P::Settings) -> Self {
        let state = if is_enabled { SlotState::Waiting } else { SlotState::Dropped };
        Self { state, settings }
    }

    /// Returns the parser, if it reads data.
    pub fn parser_mut(&mut self) -> Option<&mut P> {
        match &mut self.state {
            SlotState::Reading(parser, _) => Some(parser),
            _ => None,
        }
    }

    /// Returns the parser while it reads.
    pub fn parser(&self) -> Option<&P> {
        match &self.state {
            SlotState::Reading(parser, _) => Some(parser),
            _ => None,
        }
    }

    /// Drops the parser.
    pub fn drop_parser(&mut self) {
        self.state = SlotState::Dropped;
    }

    /// Passes data to the parser.
    #[inline]
    pub fn on_data(
        &mut self,
        input: StreamInput<'_>,
        counters: &mut P::Counters,
        emit: &mut impl FnMut(Side, P::Event),
    ) {
        match &mut self.state {
            SlotState::Reading(parser, [client, server]) => {
                if input.side.choose(*client, *server) {
                    match input.data {
                        // Another parser needs these bytes.
                        StreamData::Bytes(bytes) if bytes.len() as u64 <= parser.skippable(input.side) => {
                            parser.skip(input.side, bytes.len() as u64);
                        }
                        data => parser.on_data(input.side, data, counters, emit),
                    }
                }
            }
            SlotState::Waiting => self.state = Self::start(input, &self.settings, counters, emit),
            SlotState::Summarized(_) | SlotState::Dropped => {}
        }
    }

    /// Passes the first data of the connection to the parser.
    fn start(
        StreamInput { side, data, start, is_first_segment, .. }: StreamInput<'_>,
        settings: &P::Settings,
        counters: &mut P::Counters,
        emit: &mut impl FnMut(Side, P::Event),
    ) -> SlotState<P> {
        if let StreamData::Bytes(bytes) = data {
            if is_first_segment
                && let Some(summary) = P::summarize(side, bytes, start, settings.clone(), counters, emit)
            {
                return SlotState::Summarized(summary);
            }
            if P::probe(side, bytes) == Probe::NotForUs {
                return SlotState::Dropped;
            }
        }
        let mut parser = P::new(start, settings.clone());
        parser.on_data(side, data, counters, emit);
        SlotState::Reading(parser, [true; 2])
    }
}
