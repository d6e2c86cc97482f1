//! Several parsers of one connection.

use super::{ParserSlot, StreamParser};

/// The parsers of one connection: one slot, a pair of sets, or a struct of slots.
///
/// A struct passes each of its slots to the visitor, always in the same order.
pub trait ParserSet: Send {
    /// Passes each slot to `visitor`.
    fn visit(&mut self, visitor: &mut impl ParserVisitor);
}

/// An operation of the stream layer on every parser of a set.
pub trait ParserVisitor {
    /// Takes the next slot.
    fn slot<P: StreamParser>(&mut self, slot: &mut ParserSlot<P>);
}

impl<P: StreamParser> ParserSet for ParserSlot<P> {
    #[inline]
    fn visit(&mut self, visitor: &mut impl ParserVisitor) {
        visitor.slot(self);
    }
}

impl<A: ParserSet, B: ParserSet> ParserSet for (A, B) {
    #[inline]
    fn visit(&mut self, visitor: &mut impl ParserVisitor) {
        self.0.visit(visitor);
        self.1.visit(visitor);
    }
}
