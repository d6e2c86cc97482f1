//! A function over datagrams as a protocol of its own.

use std::fmt;
use std::marker::PhantomData;

use crate::{Interest, Origin, Protocol, Segment, Side};

/// A [`Protocol`] that passes each UDP datagram to a function, which returns what it found. Its first result starts a flow; the side with
/// the lower port is the server.
///
/// ```
/// use huginn_net_core::{Analyzer, DatagramObserver, Segment};
///
/// /// The identifier of a DNS message.
/// fn dns_id(segment: &Segment<'_>) -> Option<u16> {
///     let is_dns = [segment.source().port(), segment.destination().port()].contains(&53);
///     is_dns.then(|| segment.payload.first_chunk().copied().map(u16::from_be_bytes)).flatten()
/// }
///
/// let analyzer = Analyzer::builder_with(DatagramObserver::new(dns_id)).build();
/// # let _ = analyzer;
/// ```
pub struct DatagramObserver<F, E> {
    parse: F,
    event: PhantomData<fn() -> E>,
}

impl<E, F: Fn(&Segment<'_>) -> Option<E>> DatagramObserver<F, E> {
    /// Creates a protocol of this function.
    pub fn new(parse: F) -> Self {
        Self { parse, event: PhantomData }
    }
}

impl<E, F> fmt::Debug for DatagramObserver<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatagramObserver").finish_non_exhaustive()
    }
}

impl<E: Send, F: Fn(&Segment<'_>) -> Option<E> + Clone + Send> Protocol for DatagramObserver<F, E> {
    type Flow = ();
    type Event = E;
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self::new(self.parse.clone())
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        let is_datagram = segment.tcp().is_none() && (self.parse)(segment).is_some();
        let (source, destination) = segment.transport.ports();
        is_datagram.then_some(if source < destination { Side::Server } else { Side::Client })
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        (): &mut (),
        emit: &mut impl FnMut(Origin, E),
    ) -> Interest {
        if let Some(event) = (self.parse)(segment) {
            emit(sender.into(), event);
        }
        Interest::More
    }
}
