//! TLS over packets that another protocol numbers.

use huginn_net_core::{Interest, Side};

use crate::hello::Hello;
use crate::packet_order::PacketOrder;
use crate::record::RecordReader;

/// Reads the hellos of one side from numbered packets, in the first of which a record begins.
#[derive(Debug)]
pub(crate) struct PacketStream {
    order: PacketOrder,
    /// None once nothing further can be found.
    reader: Option<RecordReader>,
    hellos: u8,
    /// Whether the hello that this side has to say was found; a HelloRetryRequest is not it.
    said_hello: bool,
}

impl PacketStream {
    /// A stream that begins with the packet of this number.
    pub(crate) fn starting_at(number: u32) -> Self {
        let (order, reader) = (PacketOrder::starting_at(number), Some(RecordReader::default()));
        Self { order, reader, hellos: 0, said_hello: false }
    }

    /// Takes a packet and hands on the hellos that are now whole, and whether each is this side's second one.
    ///
    /// Returns false where the packet comes too early to be held.
    pub(crate) fn push(
        &mut self,
        number: u32,
        payload: &[u8],
        found: &mut (impl FnMut(Hello<'_>, bool) + ?Sized),
    ) -> bool {
        let Self { order, reader, hellos, said_hello } = self;
        if reader.is_none() {
            return true;
        }
        let mut report = |hello: Hello<'_>| {
            *hellos = hellos.saturating_add(1);
            *said_hello |= !matches!(&hello, Hello::Server(hello) if hello.is_retry_request());
            found(hello, *hellos > 1);
        };
        let kept = order.push(number, payload, &mut |payload| {
            if reader.as_mut().is_some_and(|reader| reader.push(payload, &mut report).is_err()) {
                *reader = None;
            }
        });
        if reader.is_none() {
            *order = PacketOrder::default();
        }
        kept
    }

    /// Whether nothing further can be found.
    pub(crate) fn has_ended(&self) -> bool {
        self.reader.is_none()
    }

    /// Whether the hello that this side has to say was found, or cannot be.
    fn is_over(&self) -> bool {
        self.said_hello || self.has_ended()
    }

    /// The memory that packets and messages not yet whole take up, in bytes.
    pub(crate) fn held(&self) -> usize {
        let message = self.reader.as_ref().map_or(0, RecordReader::held);
        self.order.held().saturating_add(message)
    }
}

/// The streams of both sides, once each has begun.
#[derive(Debug, Default)]
pub(crate) struct PacketStreams {
    client: Option<PacketStream>,
    server: Option<PacketStream>,
}

impl PacketStreams {
    /// The stream of this side.
    pub(crate) fn of(&mut self, side: Side) -> &mut Option<PacketStream> {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Whether the hello that this side has to say was found, or cannot be.
    pub(crate) fn is_over(&self, side: Side) -> bool {
        let stream = match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        };
        stream.as_ref().is_some_and(PacketStream::is_over)
    }

    /// There is none once that is so of both sides.
    pub(crate) fn interest(&self) -> Interest {
        match self.is_over(Side::Client) && self.is_over(Side::Server) {
            true => Interest::Done,
            false => Interest::More,
        }
    }

    /// The memory that packets and messages not yet whole take up, in bytes.
    pub(crate) fn held(&self) -> usize {
        let held = |stream: &Option<PacketStream>| stream.as_ref().map_or(0, PacketStream::held);
        held(&self.client).saturating_add(held(&self.server))
    }
}
