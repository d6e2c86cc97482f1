//! TLS in the numbered packets of another protocol.

use huginn_net_wire::Side;

use super::found::Found;
use super::reorder_buffer::ReorderBuffer;
use crate::counters::DatagramCounters;
use crate::follower::{Follow, Follower};
use crate::hello::Hello;
use crate::limits::{MAX_HELLOS_PER_HANDSHAKE, MAX_READ_BYTES};
use crate::record::hello_search::PeerHello;
use crate::record::{Item, RecordReader};

/// Reads the records of one side from numbered packets; a record starts in the first one.
#[derive(Debug)]
pub(crate) struct PacketStream {
    reorder_buffer: ReorderBuffer,
    /// `None` once nothing further can be found.
    reader: Option<RecordReader>,
    hellos: u8,
    /// Whether the handshake is followed after the hellos.
    follows: bool,
    /// Bytes of records read.
    taken: u32,
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
    /// Creates a stream that starts with the packet of this number. It follows the handshake after the hellos, if `follows`.
    pub(crate) fn starting_at(number: u32, follows: bool) -> Self {
        let mut reader = RecordReader::default();
        if follows {
            reader.follow();
        }
        let reorder_buffer = ReorderBuffer::starting_at(number);
        Self { reorder_buffer, reader: Some(reader), hellos: 0, follows, taken: 0 }
    }

    /// Handles a packet and emits complete hellos, and what follows them if the handshake is followed, each with the number of
    /// hellos until then.
    pub(crate) fn push(
        &mut self,
        number: u32,
        payload: &[u8],
        found: &mut (impl FnMut(Item<'_>, u8) + ?Sized),
    ) -> Result<(), PacketError> {
        let Self { reorder_buffer, reader, hellos, follows, taken } = self;
        if reader.is_none() {
            return Ok(());
        }
        let is_accepted = reorder_buffer.push(number, payload, &mut |payload| {
            let outcome = reader.as_mut().map(|reader| {
                reader.push(payload, &mut |item| {
                    if matches!(item, Item::Hello(_)) {
                        if *hellos >= MAX_HELLOS_PER_HANDSHAKE {
                            return;
                        }
                        *hellos = hellos.saturating_add(1);
                    }
                    found(item, *hellos);
                })
            });
            *taken = taken.saturating_add(u32::try_from(payload.len()).unwrap_or(u32::MAX));
            let has_all_hellos = !*follows && *hellos >= MAX_HELLOS_PER_HANDSHAKE;
            if matches!(outcome, Some(Err(_))) || has_all_hellos || *taken > MAX_READ_BYTES {
                *reader = None;
            }
        });
        if reader.is_some() {
            return if is_accepted { Ok(()) } else { Err(PacketError::TooEarly) };
        }
        *reorder_buffer = ReorderBuffer::default();
        if *hellos > 0 { Ok(()) } else { Err(PacketError::NoHello) }
    }

    /// Whether nothing further can be found.
    pub(crate) fn has_ended(&self) -> bool {
        self.reader.is_none()
    }

    /// Processes a hello of the other side.
    pub(crate) fn on_peer_hello(&mut self, hello: PeerHello) {
        if let (Some(reader), PeerHello::Server(hello)) = (&mut self.reader, hello) {
            reader.on_server_hello(hello);
        }
    }

    /// Reads nothing further.
    fn end(&mut self) {
        (self.reader, self.reorder_buffer) = (None, ReorderBuffer::default());
    }

    /// Returns the memory used by buffered packets and incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let message = self.reader.as_ref().map_or(0, RecordReader::buffered_bytes);
        self.reorder_buffer.buffered.saturating_add(message)
    }
}

/// The streams of both sides, after each has started.
#[derive(Debug, Default)]
pub(crate) struct PacketStreams {
    client: Option<PacketStream>,
    server: Option<PacketStream>,
    retry_requested: bool,
    /// The handshake after the hellos, if it is followed.
    follower: Option<Box<Follower>>,
}

impl PacketStreams {
    /// Creates streams that follow the handshake after the hellos, if `follows`.
    pub(crate) fn new(follows: Follow) -> Self {
        Self { follower: follows.follower(), ..Self::default() }
    }

    /// Starts, or restarts, the stream of a side at this packet number.
    pub(crate) fn start(&mut self, side: Side, number: u32) {
        if self.has_started(side) {
            // Messages of the other side may answer either stream.
            self.follower = None;
        }
        let follows = self.follower.is_some();
        *self.stream_mut(side) = Some(PacketStream::starting_at(number, follows));
    }

    /// Whether the stream of a side has started.
    pub(crate) fn has_started(&self, side: Side) -> bool {
        side.choose(&self.client, &self.server).is_some()
    }

    /// Whether nothing further can be found in the stream of a side.
    pub(crate) fn has_ended(&self, side: Side) -> bool {
        side.choose(&self.client, &self.server).as_ref().is_some_and(PacketStream::has_ended)
    }

    /// Handles a packet. Emits complete hellos, and what follows them if the handshake is followed.
    ///
    /// A second ClientHello counts if the server requested it, or if no packet of the server was captured.
    pub(crate) fn push(
        &mut self,
        sender: Side,
        number: u32,
        payload: &[u8],
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Side, Found<'_>),
    ) {
        let is_second_allowed = self.retry_requested || self.server.is_none();
        let client_hellos = self.client.as_ref().map_or(0, |stream| stream.hellos);
        let Self { client, server, retry_requested, follower } = self;
        let (stream, peer) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let Some(stream) = stream else { return };
        let outcome = stream.push(number, payload, &mut |item, nth| {
            if let Some(follower) = &mut *follower {
                follower.on_item(sender, &item, &mut |side, event| found(side, Found::Followed(event)));
            }
            let Item::Hello(hello) = item else { return };
            let mut retry = false;
            match &hello {
                Hello::Client(_) => retry = nth > 1 && is_second_allowed,
                Hello::Server(hello) => *retry_requested |= hello.is_retry_request(),
            }
            if follower.is_some()
                && let Some(peer) = peer
            {
                let awaits_hello = *retry_requested && client_hellos < MAX_HELLOS_PER_HANDSHAKE;
                peer.on_peer_hello(PeerHello::new(&hello, awaits_hello));
            }
            found(sender, Found::Hello { hello, retry });
        });
        if self.follower.as_ref().is_some_and(|follower| follower.is_over) {
            [&mut self.client, &mut self.server].into_iter().flatten().for_each(PacketStream::end);
        }
        match outcome {
            Ok(()) => {}
            Err(PacketError::TooEarly) => counters.refused = counters.refused.saturating_add(1),
            Err(PacketError::NoHello) => counters.malformed = counters.malformed.saturating_add(1),
        }
    }

    /// Returns the memory used by buffered packets, incomplete messages and the followed handshake, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let bytes = |stream: &Option<PacketStream>| stream.as_ref().map_or(0, PacketStream::buffered_bytes);
        let follower = self.follower.as_ref().map_or(0, |follower| follower.buffered_bytes());
        bytes(&self.client).saturating_add(bytes(&self.server)).saturating_add(follower)
    }

    fn stream_mut(&mut self, side: Side) -> &mut Option<PacketStream> {
        side.choose(&mut self.client, &mut self.server)
    }
}
