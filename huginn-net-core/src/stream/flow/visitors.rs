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

/// Collects the number of the last bytes of a side of which no parser needs a copy.
pub(super) struct Uncompared {
    pub(super) side: Side,
    pub(super) len: usize,
}

impl ParserVisitor for Uncompared {
    #[inline]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let Some(parser) = slot.parser() {
            self.len = parser.uncompared(self.side).min(self.len);
        }
    }
}

/// Finds whether other contents of the next bytes of a side may matter to a parser.
pub(super) struct IsCompared {
    pub(super) side: Side,
    pub(super) found: bool,
}

impl ParserVisitor for IsCompared {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        self.found |= match &slot.state {
            SlotState::Reading(parser, reads) => {
                let [client, server] = *reads;
                self.side.choose(client, server)
                    && match parser.uncompared(self.side) {
                        0 => true,
                        usize::MAX => false,
                        // The last bytes did not matter; the next ones do after the end of a body.
                        _ => parser.skippable(self.side) == 0,
                    }
            }
            SlotState::Waiting | SlotState::Summarized(_) => true,
            SlotState::Dropped => false,
        };
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

/// Reports the start of a conflict to every parser.
pub(super) struct BeginConflict {
    pub(super) side: Side,
}

impl ParserVisitor for BeginConflict {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, _) = &mut slot.state {
            parser.on_conflict(self.side);
        }
    }
}

/// Reports the end of a conflict to every parser. One that was dropped may have read the wrong content, and starts again.
pub(super) struct EndConflict {
    pub(super) side: Side,
    pub(super) enabled: u8,
    pub(super) index: usize,
}

impl ParserVisitor for EndConflict {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.state {
            SlotState::Reading(parser, _) => parser.on_conflict_end(self.side),
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

/// Reports to every parser that the last bytes of a side are missing.
pub(super) struct MissingEnd(pub(super) Side);

impl ParserVisitor for MissingEnd {
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        if let SlotState::Reading(parser, _) = &mut slot.state {
            parser.on_missing_end(self.0);
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
    /// Client and server.
    pub(super) sides: [SideStatus; 2],
    /// Heap memory of the parsers, in bytes.
    pub(super) buffered: usize,
    /// Whether no delivered bytes wait for their acknowledgement.
    pub(super) is_settled: bool,
}

/// What the parsers need of a side.
pub(super) struct SideStatus {
    pub(super) side: Side,
    /// Whether there is a copy of delivered bytes.
    has_copy: bool,
    /// Whether a parser reads the side.
    pub(super) is_read: bool,
    /// Number of next bytes that no parser reads.
    pub(super) skippable: u64,
    /// Whether a parser has a part of a message, of which there is a copy.
    pub(super) is_mid_message: bool,
}

impl ParserStatus {
    pub(super) fn new([client, server]: [bool; 2]) -> Self {
        let of_side = |side, has_copy| SideStatus {
            side,
            has_copy,
            is_read: false,
            skippable: u64::MAX,
            is_mid_message: false,
        };
        let sides = [of_side(Side::Client, client), of_side(Side::Server, server)];
        Self { sides, buffered: 0, is_settled: true }
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_settled && !self.sides.iter().any(|side| side.is_read)
    }
}

impl SideStatus {
    // Inlined, so that the state is kept in registers.
    #[inline(always)]
    fn add(&mut self, parser: &impl StreamParser) {
        self.is_read = true;
        self.skippable = parser.skippable(self.side).min(self.skippable);
        self.is_mid_message |= self.has_copy && parser.is_mid_message(self.side);
    }
}

impl ParserVisitor for ParserStatus {
    #[inline(always)]
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>) {
        match &mut slot.state {
            SlotState::Reading(parser, reads) => {
                *reads = [Side::Client, Side::Server].map(|side| parser.reads(side));
                if *reads == [false; 2] {
                    slot.state = SlotState::Dropped;
                    return;
                }
                for (status, _) in self.sides.iter_mut().zip(*reads).filter(|(_, is_read)| *is_read) {
                    status.add(parser);
                }
                self.buffered = self.buffered.saturating_add(parser.buffered_bytes());
            }
            SlotState::Waiting | SlotState::Summarized(_) => {
                for status in &mut self.sides {
                    (status.is_read, status.skippable) = (true, 0);
                }
            }
            SlotState::Dropped => {}
        }
    }
}
