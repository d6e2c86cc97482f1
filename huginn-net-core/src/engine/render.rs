//! Rendering: converts events to the values or texts that a sink receives.

use std::mem::needs_drop;
use std::ops::{ControlFlow, Range};

use super::TextSink;
use super::division::PerEvent;
use crate::{Event, SinkResult, Timestamp};

/// Renders events in the thread that found them.
pub(super) trait Render<E>: Sync {
    /// A rendered event.
    type Rendered: Send;
    /// Memory that several rendered events share, such as their text.
    type Arena: Default + Send;

    /// What an event adds to the work that workers divide.
    const PER_EVENT: PerEvent;

    fn render(&self, event: E, arena: &mut Self::Arena) -> Self::Rendered;

    /// Whether nothing of an event is left for the sink.
    #[inline(always)]
    fn is_empty(_rendered: &Self::Rendered) -> bool {
        false
    }

    /// Empties the arena after its events were delivered.
    fn clear(arena: &mut Self::Arena);
}

/// Receives rendered events in the caller's thread.
pub(super) trait Output<R, A> {
    /// Receives an event with its arena. A break stops the analysis.
    fn event(&mut self, rendered: R, arena: &A) -> ControlFlow<()>;

    /// See [`TextSink::suppressed`].
    fn suppressed(&mut self, _rendered: R, _arena: &A) {}

    /// See [`TextSink::batch_end`].
    fn batch_end(&mut self, _taken_at: Option<Timestamp>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// See [`TextSink::end`].
    fn end(&mut self) {}
}

/// Renders events with a function from event to value.
pub(super) struct Map<F>(pub(super) F);

impl<E, T: Send, F: Fn(E) -> T + Sync> Render<E> for Map<F> {
    type Rendered = T;
    type Arena = ();

    const PER_EVENT: PerEvent = if needs_drop::<T>() { PerEvent::Loss } else { PerEvent::Nothing };

    #[inline]
    fn render(&self, event: E, (): &mut ()) -> T {
        self.0(event)
    }

    fn clear((): &mut ()) {}
}

/// Passes events on by value.
pub(super) struct ByValue;

impl<K: Send> Render<Event<K>> for ByValue {
    type Rendered = Event<K>;
    type Arena = ();

    // An event owns memory for its tunnel, too, but few have one.
    const PER_EVENT: PerEvent = if needs_drop::<K>() { PerEvent::Loss } else { PerEvent::Nothing };

    #[inline]
    fn render(&self, event: Event<K>, (): &mut ()) -> Event<K> {
        event
    }

    fn clear((): &mut ()) {}
}

/// Passes values to a function.
pub(super) struct ToFunction<F>(pub(super) F);

impl<T, R: SinkResult, F: FnMut(T) -> R> Output<T, ()> for ToFunction<F> {
    // Inlined, so that the event is not copied on its way into the function.
    #[inline(always)]
    fn event(&mut self, rendered: T, (): &()) -> ControlFlow<()> {
        (self.0)(rendered).into_flow()
    }
}

/// Keeps events in the arena, so that the worker that made them frees them.
pub(super) struct Keep;

impl<K: Send> Render<Event<K>> for Keep {
    /// Index of the event in the arena.
    type Rendered = usize;
    type Arena = Vec<Event<K>>;

    const PER_EVENT: PerEvent = PerEvent::Nothing;

    #[inline]
    fn render(&self, event: Event<K>, events: &mut Self::Arena) -> usize {
        events.push(event);
        events.len().saturating_sub(1)
    }

    fn clear(events: &mut Self::Arena) {
        events.clear();
    }
}

/// Passes references to events to a function.
pub(super) struct ToReference<F>(pub(super) F);

impl<K, R: SinkResult, F: FnMut(&Event<K>) -> R> Output<usize, Vec<Event<K>>> for ToReference<F> {
    #[inline]
    fn event(&mut self, index: usize, events: &Vec<Event<K>>) -> ControlFlow<()> {
        events.get(index).map_or(ControlFlow::Continue(()), |event| (self.0)(event).into_flow())
    }
}

/// Renders events with a function that appends text.
pub(super) struct Text<F>(pub(super) F);

impl<K: Send, F: Fn(&Event<K>, &mut Vec<u8>) + Sync> Render<Event<K>> for Text<F> {
    type Rendered = (Timestamp, Range<usize>);
    type Arena = Vec<u8>;

    const PER_EVENT: PerEvent = PerEvent::Gain;

    #[inline]
    fn render(&self, event: Event<K>, text: &mut Vec<u8>) -> Self::Rendered {
        let start = text.len();
        self.0(&event, text);
        (event.ts, start..text.len())
    }

    #[inline(always)]
    fn is_empty((_, text): &Self::Rendered) -> bool {
        text.is_empty()
    }

    fn clear(text: &mut Vec<u8>) {
        text.clear();
    }
}

/// Passes texts to a text sink.
pub(super) struct ToTextSink<'a, K: ?Sized>(pub(super) &'a mut K);

impl<K: TextSink + ?Sized> Output<(Timestamp, Range<usize>), Vec<u8>> for ToTextSink<'_, K> {
    #[inline]
    fn event(&mut self, (ts, range): (Timestamp, Range<usize>), text: &Vec<u8>) -> ControlFlow<()> {
        self.0.event(ts, text.get(range).unwrap_or_default())
    }

    fn suppressed(&mut self, (_, range): (Timestamp, Range<usize>), text: &Vec<u8>) {
        self.0.suppressed(text.get(range).unwrap_or_default());
    }

    fn batch_end(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        self.0.batch_end(taken_at)
    }

    fn end(&mut self) {
        self.0.end();
    }
}

/// Records whether the sink is running, so that a panic can be attributed to it.
pub(super) struct Guarded<'a, R, A> {
    output: &'a mut dyn Output<R, A>,
    /// Whether the sink is running.
    pub(super) in_sink: bool,
}

impl<'a, R, A> Guarded<'a, R, A> {
    pub(super) fn new(output: &'a mut dyn Output<R, A>) -> Self {
        Self { output, in_sink: false }
    }
}

impl<R, A> Output<R, A> for Guarded<'_, R, A> {
    #[inline]
    fn event(&mut self, rendered: R, arena: &A) -> ControlFlow<()> {
        self.in_sink = true;
        let outcome = self.output.event(rendered, arena);
        self.in_sink = false;
        outcome
    }

    fn suppressed(&mut self, rendered: R, arena: &A) {
        self.in_sink = true;
        self.output.suppressed(rendered, arena);
        self.in_sink = false;
    }
}
