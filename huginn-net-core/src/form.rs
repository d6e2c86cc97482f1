//! What becomes of an event between the flow that tells it and the sink.

use std::ops::{ControlFlow, Range};

use crate::{Sink, Timestamp};

/// Makes events what the sink takes, where they are told.
pub(crate) trait Form<E>: Sync {
    /// What becomes of one event.
    type Piece: Send;
    /// What is common to several pieces, such as the bytes that they refer to.
    type Shelf: Default + Send;

    fn form(&self, event: E, shelf: &mut Self::Shelf) -> Self::Piece;

    /// Makes room on a shelf whose pieces have been delivered.
    fn clear(shelf: &mut Self::Shelf);
}

/// Takes what a [`Form`] makes.
pub(crate) trait Delivery<P, S> {
    /// Takes a piece and what it refers to. A break stops the analysis.
    fn deliver(&mut self, piece: P, shelf: &S) -> ControlFlow<()>;

    /// Takes note that all pieces of a round have come, the first frame of which was taken at this time.
    fn round(&mut self, _taken_at: Option<Timestamp>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes note that nothing more comes.
    fn ended(&mut self) {}
}

/// Knows whether a panic was one of the sink, which is the caller's own affair.
pub(crate) struct Guarded<'a, D> {
    delivery: &'a mut D,
    /// Whether the sink has something that it has not yet taken.
    pub(crate) is_busy: bool,
}

impl<'a, D> Guarded<'a, D> {
    pub(crate) fn new(delivery: &'a mut D) -> Self {
        Self { delivery, is_busy: false }
    }
}

impl<P, S, D: Delivery<P, S>> Delivery<P, S> for Guarded<'_, D> {
    #[inline]
    fn deliver(&mut self, piece: P, shelf: &S) -> ControlFlow<()> {
        self.is_busy = true;
        let outcome = self.delivery.deliver(piece, shelf);
        self.is_busy = false;
        outcome
    }
}

/// Events as a function makes them.
pub(crate) struct Mapped<F>(pub(crate) F);

impl<E, T: Send, F: Fn(E) -> T + Sync> Form<E> for Mapped<F> {
    type Piece = T;
    type Shelf = ();

    #[inline]
    fn form(&self, event: E, (): &mut ()) -> T {
        self.0(event)
    }

    fn clear((): &mut ()) {}
}

/// Leads pieces to a sink.
pub(crate) struct ToSink<'a, K: ?Sized>(pub(crate) &'a mut K);

impl<T, K: Sink<T> + ?Sized> Delivery<T, ()> for ToSink<'_, K> {
    #[inline(always)]
    fn deliver(&mut self, piece: T, (): &()) -> ControlFlow<()> {
        self.0.event(piece)
    }
}

/// Events as text that a function appends.
pub(crate) struct Written<F>(pub(crate) F);

impl<E, F: Fn(&E, &mut Vec<u8>) + Sync> Form<E> for Written<F> {
    type Piece = Range<usize>;
    type Shelf = Vec<u8>;

    #[inline]
    fn form(&self, event: E, text: &mut Vec<u8>) -> Range<usize> {
        let start = text.len();
        self.0(&event, text);
        start..text.len()
    }

    fn clear(text: &mut Vec<u8>) {
        text.clear();
    }
}

/// Leads texts to a function.
pub(crate) struct ToWriter<'a, W: ?Sized>(pub(crate) &'a mut W);

impl<W: FnMut(&[u8]) -> ControlFlow<()> + ?Sized> Delivery<Range<usize>, Vec<u8>> for ToWriter<'_, W> {
    #[inline]
    fn deliver(&mut self, piece: Range<usize>, text: &Vec<u8>) -> ControlFlow<()> {
        (self.0)(text.get(piece).unwrap_or_default())
    }
}
