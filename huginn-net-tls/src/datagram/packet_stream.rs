//! TLS in the numbered packets of another protocol.

use huginn_net_wire::Side;

use super::reorder_buffer::ReorderBuffer;
use crate::counters::DatagramCounters;
use crate::hello::Hello;
use crate::limits::MAX_HELLOS_PER_HANDSHAKE;
use crate::record::{Item, RecordReader};

/// Reads the hellos of one side from numbered packets; a record starts in the first one.
#[derive(Debug)]
pub(crate) struct PacketStream {
    reorder_buffer: ReorderBuffer,
    /// `None` once no further hello can be found.
    reader: Option<RecordReader>,
    hellos: u8,
}

/// The reason for discarding a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketError {
    /// The packet is too early to be buffered.
    TooEarly,
    /// The first message is not a hello, or a hello cannot be parsed.
    NoHello,
}

impl PacketStream {
    /// Creates a stream that starts with the packet of this number.
    pub(crate) fn starting_at(number: u32) -> Self {
        let (reorder_buffer, reader) = (ReorderBuffer::starting_at(number), Some(RecordReader::default()));
        Self { reorder_buffer, reader, hellos: 0 }
    }

    /// Handles a packet and emits complete hellos, each with its number in the handshake.
    pub(crate) fn push(
        &mut self,
        number: u32,
        payload: &[u8],
        found: &mut (impl FnMut(Hello<'_>, u8) + ?Sized),
    ) -> Result<(), PacketError> {
        let Self { reorder_buffer, reader, hellos } = self;
        if reader.is_none() {
            return Ok(());
        }
        let is_accepted = reorder_buffer.push(number, payload, &mut |payload| {
            let outcome = reader.as_mut().map(|reader| {
                reader.push(payload, &mut |item| {
                    if let Item::Hello(hello) = item
                        && *hellos < MAX_HELLOS_PER_HANDSHAKE
                    {
                        *hellos = hellos.saturating_add(1);
                        found(hello, *hellos);
                    }
                })
            });
            if matches!(outcome, Some(Err(_))) || *hellos >= MAX_HELLOS_PER_HANDSHAKE {
                *reader = None;
            }
        });
        if reader.is_some() {
            return if is_accepted { Ok(()) } else { Err(PacketError::TooEarly) };
        }
        *reorder_buffer = ReorderBuffer::default();
        if *hellos > 0 { Ok(()) } else { Err(PacketError::NoHello) }
    }

    /// Whether no further hello can be found.
    pub(crate) fn has_ended(&self) -> bool {
        self.reader.is_none()
    }

    /// Returns the memory used by buffered packets and incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let message = self.reader.as_ref().map_or(0, RecordReader::buffered_bytes);
        self.reorder_buffer.buffered_bytes().saturating_add(message)
    }
}

/// The streams of both sides, after each has started.
#[derive(Debug, Default)]
pub(crate) struct PacketStreams {
    client: Option<PacketStream>,
    server: Option<PacketStream>,
    retry_requested: bool,
}

impl PacketStreams {
    /// Starts, or restarts, the stream of a side at this packet number.
    pub(crate) fn start(&mut self, side: Side, number: u32) {
        *self.stream_mut(side) = Some(PacketStream::starting_at(number));
    }

    /// Whether the stream of a side has started.
    pub(crate) fn has_started(&self, side: Side) -> bool {
        side.choose(&self.client, &self.server).is_some()
    }

    /// Whether no further hello can be found in the stream of a side.
    pub(crate) fn has_ended(&self, side: Side) -> bool {
        side.choose(&self.client, &self.server).as_ref().is_some_and(PacketStream::has_ended)
    }

    /// Handles a packet and emits complete hellos, with whether each is a client's second one.
    ///
    /// A second ClientHello counts if the server requested it, or if no packet of the server was captured.
    pub(crate) fn push(
        &mut self,
        sender: Side,
        number: u32,
        payload: &[u8],
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) {
        let is_second_allowed = self.retry_requested || self.server.is_none();
        let mut retry_requested = self.retry_requested;
        let Some(stream) = self.stream_mut(sender) else { return };
        let outcome = stream.push(number, payload, &mut |hello, nth| {
            let retry = match &hello {
                Hello::Client(_) => nth > 1 && is_second_allowed,
                Hello::Server(hello) => {
                    retry_requested |= hello.is_retry_request();
                    false
                }
            };
            found(sender, hello, retry);
        });
        self.retry_requested = retry_requested;
        match outcome {
            Ok(()) => {}
            Err(PacketError::TooEarly) => counters.refused = counters.refused.saturating_add(1),
            Err(PacketError::NoHello) => counters.malformed = counters.malformed.saturating_add(1),
        }
    }

    /// Returns the memory used by buffered packets and incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let bytes = |stream: &Option<PacketStream>| stream.as_ref().map_or(0, PacketStream::buffered_bytes);
        bytes(&self.client).saturating_add(bytes(&self.server))
    }

    fn stream_mut(&mut self, side: Side) -> &mut Option<PacketStream> {
        side.choose(&mut self.client, &mut self.server)
    }
}
