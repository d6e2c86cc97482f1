//! Sinks for events as text.

use std::ops::ControlFlow;

use crate::SinkResult;
use crate::Timestamp;

/// Receives the text of events in the thread that called [`Analyzer::analyze_text`](crate::Analyzer::analyze_text).
///
/// A closure that takes `&[u8]` is a text sink.
pub trait TextSink {
    /// Receives the text of one event, and the capture time of its packet. [`ControlFlow::Break`] stops the analysis.
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()>;

    /// Receives the text of an event that a limit leaves out, instead of [`event`](Self::event).
    fn suppressed(&mut self, _text: &[u8]) {}

    /// Called after all events of the frames so far: after each block, before the source waits, and every few hundred
    /// frames. [`ControlFlow::Break`] stops the analysis.
    ///
    /// With several workers, `taken_at` is [when the source took](crate::Block::taken_at) the block.
    fn batch_end(&mut self, _taken_at: Option<Timestamp>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called once after the last event, however the analysis ends. It should stop a waiting source: the analysis
    /// ends only when the source returns.
    fn end(&mut self) {}
}

impl<R: SinkResult, F: FnMut(&[u8]) -> R> TextSink for F {
    #[inline]
    fn event(&mut self, _: Timestamp, text: &[u8]) -> ControlFlow<()> {
        self(text).into_flow()
    }
}
