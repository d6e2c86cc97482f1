//! What is done to every parser of a set.

use super::first_segment::bit;
use crate::stream::parser_slot::SlotState;
use crate::{ParserSlot, ParserVisitor, Side, StreamParser, StreamStart};

/// Restores parsers from their summaries.
pub(super) struct Resume {
    pub(super) start: StreamStart,
    pub(super) sender: Side,
    pub(super) len: usize,
}

impl ParserVisitor for Resume {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Summarized(summary) = slot.state {
            let parser = P::resume(self.start, slot.settings.clone(), self.sender, self.len, summary);
            slot.state = SlotState::Reading(parser, [true; 2]);
        }
    }
}

/// Skips payload in every parser.
pub(super) struct Skip {
    pub(super) side: Side,
    pub(super) len: u64,
}

impl ParserVisitor for Skip {
    #[inline]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, [client, server]) = &mut slot.state
            && self.side.choose(*client, *server)
        {
            parser.skip(self.side, self.len);
        }
    }
}

/// Collects which parsers of a new set are enabled.
pub(super) struct Enabled {
    pub(super) bits: u8,
    pub(super) index: usize,
}

impl ParserVisitor for Enabled {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if !matches!(slot.state, SlotState::Dropped) {
            self.bits |= bit(self.index);
        }
        self.index = self.index.saturating_add(1);
    }
}

/// Reports the end of a conflict of the client to every parser. One that was dropped may have read the wrong content, and
/// starts again.
pub(super) struct EndConflict {
    pub(super) enabled: u8,
    pub(super) index: usize,
}

impl ParserVisitor for EndConflict {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.state {
            SlotState::Reading(parser, _) => parser.on_conflict(Side::Client),
            SlotState::Dropped if self.enabled & bit(self.index) != 0 => {
                slot.state =
                    SlotState::Reading(P::new(StreamStart::Midstream, slot.settings.clone()), [true; 2]);
            }
            SlotState::Dropped | SlotState::Waiting | SlotState::Summarized(_) => {}
        }
        self.index = self.index.saturating_add(1);
    }
}

/// Reports a FIN or RST to every parser.
pub(super) struct Close;

impl ParserVisitor for Close {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, _) = &mut slot.state {
            parser.on_close();
        }
    }
}

/// Whether a parser has a part of a message.
pub(super) struct PartialMessage(pub(super) bool);

impl ParserVisitor for PartialMessage {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        let has_part =
            |parser: &P| [Side::Client, Side::Server].iter().any(|side| parser.is_mid_message(*side));
        self.0 |= slot.parser().is_some_and(|parser| parser.needs_state() || has_part(parser));
    }
}

/// Collects the state of all parsers after a segment, and drops the parsers that are done.
pub(super) struct ParserStatus {
    /// Whether a parser reads client and server.
    pub(super) reads: [bool; 2],
    /// Number of next bytes of client and server that no parser reads.
    pub(super) skippable: [u64; 2],
    /// Heap memory of the parsers, in bytes.
    pub(super) buffered: usize,
    /// Whether a parser has a part of a message of the client.
    pub(super) is_mid_message: bool,
    /// Whether no delivered bytes wait for their acknowledgement.
    pub(super) is_settled: bool,
    /// Whether there is a copy of delivered bytes of the client.
    pub(super) has_copy: bool,
}

impl ParserStatus {
    pub(super) fn is_done(&self) -> bool {
        self.reads == [false; 2] && self.is_settled
    }
}

impl ParserVisitor for ParserStatus {
    // Inlined, so that the state is kept in registers.
    #[inline(always)]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.state {
            SlotState::Reading(parser, reads) => {
                let (client, server) = (parser.reads(Side::Client), parser.reads(Side::Server));
                if !client && !server {
                    slot.state = SlotState::Dropped;
                    return;
                }
                *reads = [client, server];
                let ([any_client, any_server], [skip_client, skip_server]) =
                    (&mut self.reads, &mut self.skippable);
                if client {
                    self.is_mid_message |= self.has_copy && parser.is_mid_message(Side::Client);
                    *any_client = true;
                    *skip_client = parser.skippable(Side::Client).min(*skip_client);
                }
                if server {
                    *any_server = true;
                    *skip_server = parser.skippable(Side::Server).min(*skip_server);
                }
                self.buffered = self.buffered.saturating_add(parser.buffered_bytes());
            }
            SlotState::Waiting | SlotState::Summarized(_) => {
                (self.reads, self.skippable) = ([true; 2], [0; 2]);
            }
            SlotState::Dropped => {}
        }
    }
}
