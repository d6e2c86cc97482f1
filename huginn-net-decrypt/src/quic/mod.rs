//! QUIC: packets of both sides to the bytes of streams.

mod frames;
mod keys;
mod level;
mod packet;
mod stream;
mod streams;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use huginn_net_wire::Side;

use self::frames::{Frame, Frames};
use self::keys::{PacketKeys, PhasedKeys, Version};
use self::level::{Keys, Origin, Outcome};
use self::packet::{LongKind, LongPacket, MAX_ID_LEN, Packet, Packets};
use self::stream::StreamBuffer;
use self::streams::Streams;
use crate::limits::{MAX_CONNECTION_IDS, MAX_REFUSED_PACKETS, MAX_WAITING_BYTES};
use crate::secrets::Waiting;
use crate::tls::compressed::CompressedCertificates;
use crate::tls::hello::accepts_early_data;
use crate::tls::messages::MessageJoiner;
use crate::tls::suite::Suite;
use crate::{SecretLabel, Secrets, Stop};

const ENCRYPTED_EXTENSIONS: u8 = 8;

/// Overhead of a pending packet, in bytes.
const PENDING_OVERHEAD: usize = size_of::<(Side, Box<[u8]>)>();

/// Receives the plaintext of a QUIC connection.
pub trait QuicReader {
    /// Receives an encrypted handshake message: its type and body.
    fn on_handshake(&mut self, _side: Side, _kind: u8, _body: &[u8]) {}

    /// Handles that an encrypted handshake message, of this type, is longer than 64 KiB, also once decompressed: it is not read.
    fn on_long_handshake(&mut self, _side: Side, _kind: u8) {}

    /// Receives the next bytes that a side sent on a stream.
    fn on_stream(&mut self, side: Side, stream: u64, bytes: &[u8]);

    /// Handles the end of a stream: no more bytes of this side follow, because it has ended, was reset, or bytes are missing.
    fn on_stream_end(&mut self, _side: Side, _stream: u64) {}

    /// Whether bytes of a stream are still read. Once they are not, the stream [ends](Self::on_stream_end).
    fn reads_stream(&self, _side: Side, _stream: u64) -> bool {
        true
    }

    /// Handles that the server rejected the early data that were received: the client sends them again, or something else.
    fn on_early_data_rejected(&mut self) {}
}

/// Decrypts the packets of one QUIC connection, version 1 or 2, except Initial packets, which need no secret.
///
/// A ClientHello names the secrets; its sender reads the Initial packets (`huginn-net-tls` does).
pub struct QuicDecryptor {
    client: Side,
    random: [u8; 32],
    version: Version,
    sent_by_client: Direction,
    sent_by_server: Direction,
    /// The keys of early data, and the largest packet number with them.
    early: Keys<PacketKeys>,
    has_early_data: bool,
    /// Whether an authentic packet has shown the id of the server.
    has_server_id: bool,
    /// The suite, once a packet has revealed it.
    suite: Option<Suite>,
    streams: Streams,
    scratch: Vec<u8>,
    packets: u64,
    /// Packets in a row that were not authentic.
    refused: u32,
    /// Whether their number once reached the limit beyond which packets of the connection must be among them.
    has_lost_track: bool,
    /// Packets that wait for a secret that may still come, with their senders.
    pending: Vec<(Side, Box<[u8]>)>,
    waiting: Waiting,
    /// The version of the secrets with which pending packets were last read.
    tried_version: u64,
    /// Whether the last packet lacks a secret that may still come.
    lacks_secret: bool,
    /// Whether too many packets waited, or for too long, so that the connection no longer waits for secrets that may come.
    has_given_up: bool,
    /// Whether the connection has ended.
    has_ended: bool,
    stop: Option<Stop>,
}

/// What one side sends.
#[derive(Default)]
struct Direction {
    /// The connection ids by which the other side addresses this one.
    ids: Vec<Id>,
    handshake: Keys<PacketKeys>,
    application: Keys<PhasedKeys>,
    crypto: StreamBuffer,
    messages: MessageJoiner,
    certificates: CompressedCertificates,
}

type Id = ([u8; MAX_ID_LEN], u8);

impl QuicDecryptor {
    /// Creates the state of a connection from a datagram with an Initial packet of its client, and the random of its ClientHello.
    /// `client` is the side that sent it. `None` for other versions than 1 and 2, and without such a packet.
    pub fn new(client: Side, datagram: &[u8], random: &[u8; 32]) -> Option<Self> {
        let initial = Packets::new(datagram).find_map(|packet| match packet {
            Packet::Long(packet) => Some(packet),
            Packet::Short(_) => None,
        })?;
        let mut sent_by_client = Direction::default();
        sent_by_client.add_id(initial.source);
        Some(Self {
            client,
            random: *random,
            version: initial.version,
            sent_by_client,
            sent_by_server: Direction::default(),
            early: Keys::Unknown,
            has_early_data: false,
            has_server_id: false,
            suite: None,
            streams: Streams::default(),
            scratch: Vec::new(),
            packets: 0,
            refused: 0,
            has_lost_track: false,
            pending: Vec::new(),
            waiting: Waiting::default(),
            tried_version: 0,
            lacks_secret: false,
            has_given_up: false,
            has_ended: false,
            stop: None,
        })
    }

    /// Reads a datagram. Returns whether it belongs to this connection: by its ids, or because a packet is authentic.
    pub fn push(
        &mut self,
        side: Side,
        datagram: &[u8],
        secrets: &Secrets,
        reader: &mut impl QuicReader,
    ) -> bool {
        let role = if side == self.client { Side::Client } else { Side::Server };
        if self.may_read_pending(secrets) {
            self.read_pending(secrets, reader);
        }
        let mut belongs = false;
        for packet in Packets::new(datagram) {
            if self.stop.is_some() {
                return belongs || self.has_packet(role, &packet);
            }
            belongs |= self.on_packet(role, &packet, secrets, reader);
            if std::mem::take(&mut self.lacks_secret) {
                let bytes = match packet {
                    Packet::Long(packet) => packet.bytes,
                    Packet::Short(packet) => packet,
                };
                self.add_pending(role, bytes, secrets, reader);
            }
        }
        belongs
    }

    /// Whether the first packet of a datagram has the ids of this connection.
    pub fn owns(&self, side: Side, datagram: &[u8]) -> bool {
        let role = if side == self.client { Side::Client } else { Side::Server };
        Packets::new(datagram).next().is_some_and(|packet| self.has_packet(role, &packet))
    }

    /// Reads a packet. Returns whether it belongs to this connection.
    fn on_packet(
        &mut self,
        role: Side,
        packet: &Packet<'_>,
        secrets: &Secrets,
        reader: &mut impl QuicReader,
    ) -> bool {
        match packet {
            Packet::Long(packet) => {
                let belongs = self.has_long_packet(role, packet);
                if belongs {
                    self.on_long_packet(role, packet, secrets, reader);
                }
                belongs
            }
            Packet::Short(packet) => self.on_short_packet(role, packet, secrets, reader),
        }
    }

    /// Keeps a packet until its secret comes.
    fn add_pending(&mut self, role: Side, packet: &[u8], secrets: &Secrets, reader: &mut impl QuicReader) {
        let bytes = self.waiting.bytes().saturating_add(packet.len()).saturating_add(PENDING_OVERHEAD);
        if self.pending.is_empty() {
            self.tried_version = secrets.version();
        }
        self.pending.push((role, packet.into()));
        if bytes > MAX_WAITING_BYTES || !self.waiting.set(bytes, secrets) {
            self.has_given_up = true;
            self.read_pending(secrets, reader);
        }
    }

    /// Whether packets wait, and a secret of the connection may have come since they were last read, or none comes any more.
    fn may_read_pending(&mut self, secrets: &Secrets) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let version = secrets.version();
        let has_changed = std::mem::replace(&mut self.tried_version, version) != version;
        has_changed && secrets.has_client(&self.random) || !self.may_wait(secrets)
    }

    /// Reads the packets that wait for a secret.
    fn read_pending(&mut self, secrets: &Secrets, reader: &mut impl QuicReader) {
        self.tried_version = secrets.version();
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|(role, bytes)| {
            if let Some(packet) = Packets::new(bytes).next().filter(|_| self.stop.is_none()) {
                self.on_packet(*role, &packet, secrets, reader);
            }
            std::mem::take(&mut self.lacks_secret)
        });
        let bytes = pending.iter().map(|(_, packet)| packet.len().saturating_add(PENDING_OVERHEAD)).sum();
        self.pending = pending;
        // It had room before; if its time is over, the next packet that waits ends that.
        self.waiting.set(bytes, secrets);
    }

    /// Ends the connection: reads packets that waited for a secret that has come since.
    pub fn finish(&mut self, secrets: &Secrets, reader: &mut impl QuicReader) {
        self.read_pending(secrets, reader);
        if !self.pending.is_empty() {
            self.has_ended = true;
            self.read_pending(secrets, reader);
        }
    }

    /// Whether packets wait for a secret that may still come.
    pub fn waits_for_secret(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether packets that waited for a secret were too many, or waited for too long, so that the connection does not wait any longer.
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Whether packets of the connection must be among those that were not authentic: after authentic ones, too many came in a row.
    pub fn has_lost_track(&self) -> bool {
        self.has_lost_track
    }

    /// Whether a secret that is not known may still come.
    fn may_wait(&self, secrets: &Secrets) -> bool {
        secrets.is_growing() && !self.has_given_up && !self.has_ended
    }

    /// Whether the secrets are those of the ClientHello with this random.
    pub fn has_random(&self, random: &[u8; 32]) -> bool {
        self.random == *random
    }

    /// Why decryption stopped; `None` while it goes on.
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }

    /// Returns the number of packets that were decrypted.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Whether a side has sent data whose secret is not known, while a packet was decrypted.
    pub fn lacks_side(&self) -> bool {
        let lacks = |direction: &Direction| matches!(direction.application, Keys::Missing);
        self.packets > 0 && (lacks(&self.sent_by_client) || lacks(&self.sent_by_server))
    }

    /// Returns the heap memory, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.sent_by_client
            .buffered_bytes()
            .saturating_add(self.sent_by_server.buffered_bytes())
            .saturating_add(self.streams.buffered_bytes())
            .saturating_add(self.scratch.capacity())
            .saturating_add(self.waiting.bytes())
    }

    /// Whether a packet of a side has the ids of this connection.
    fn has_packet(&self, role: Side, packet: &Packet<'_>) -> bool {
        match packet {
            Packet::Long(packet) => self.has_long_packet(role, packet),
            Packet::Short(packet) => self.direction(role.peer()).id_len_of(packet).is_some(),
        }
    }

    /// Both sides use the id that the client chose, which it may change only after the handshake.
    fn has_long_packet(&self, role: Side, packet: &LongPacket<'_>) -> bool {
        let id = role.choose(packet.source, packet.destination);
        self.sent_by_client.has_id(id)
    }

    fn on_long_packet(
        &mut self,
        role: Side,
        packet: &LongPacket<'_>,
        secrets: &Secrets,
        reader: &mut impl QuicReader,
    ) {
        // Headers can be forged: until a packet is authentic, the last one counts, and then only authentic ones.
        if role == Side::Server && !self.has_server_id {
            self.note_server(packet);
        }
        let frames = match packet.kind {
            LongKind::Initial => return,
            LongKind::EarlyData if role == Side::Client => self.open_early(packet, secrets),
            LongKind::EarlyData => return,
            LongKind::Handshake => self.open_handshake(role, packet, secrets),
        };
        if role == Side::Server && frames.is_some() && !self.has_server_id {
            self.has_server_id = true;
            self.sent_by_server.ids.clear();
            self.note_server(packet);
        }
        self.on_frames(role, Some(packet.kind), frames, true, reader);
    }

    /// Notes the id and the version of the server, which may choose another one than the client (RFC 9368).
    fn note_server(&mut self, packet: &LongPacket<'_>) {
        self.sent_by_server.add_id(packet.source);
        self.version = packet.version;
    }

    /// Reads a packet of 1-RTT. Returns whether it belongs to this connection.
    fn on_short_packet(
        &mut self,
        role: Side,
        packet: &[u8],
        secrets: &Secrets,
        reader: &mut impl QuicReader,
    ) -> bool {
        let receiver = self.direction(role.peer());
        let known = receiver.id_len_of(packet);
        // An id may be new; those of an endpoint have one length.
        let Some(id_len) = known.or_else(|| receiver.id_len()) else { return false };
        let frames = self.open_application(role, packet, id_len, known.is_some(), secrets);
        let is_authentic = frames.is_some();
        self.on_frames(role, None, frames, known.is_some(), reader);
        is_authentic || known.is_some()
    }

    /// Processes the frames of a packet, or counts that it is not authentic.
    fn on_frames(
        &mut self,
        role: Side,
        kind: Option<LongKind>,
        frames: Option<Range<usize>>,
        counts: bool,
        reader: &mut impl QuicReader,
    ) {
        if self.stop.is_some() {
            return;
        }
        let Some(frames) = frames else {
            if counts {
                self.refused = self.refused.saturating_add(1);
            }
            // Anyone may send packets that are not authentic: those after an authentic one end nothing.
            if self.refused >= MAX_REFUSED_PACKETS {
                self.has_lost_track |= self.packets > 0;
                if self.packets == 0 {
                    self.end(Stop::NotAuthentic);
                }
            }
            return;
        };
        (self.refused, self.packets) = (0, self.packets.saturating_add(1));
        let payload = std::mem::take(&mut self.scratch);
        let frames = Frames::new(payload.get(frames).unwrap_or_default());
        let mut has_both_ways = false;
        for frame in frames {
            match frame {
                Frame::Crypto { offset, data } if kind == Some(LongKind::Handshake) => {
                    self.on_crypto(role, offset, data, reader);
                }
                Frame::NewConnectionId(id) => self.direction_mut(role).add_id(id),
                frame if is_both_ways(&frame) => has_both_ways = true,
                frame => self.on_stream_frame(role, kind, frame, reader),
            }
        }
        // The frames of a packet have no order: settings, which have a stream of one way, come before the requests that they are for.
        if has_both_ways {
            for frame in frames.filter(is_both_ways) {
                self.on_stream_frame(role, kind, frame, reader);
            }
        }
        self.scratch = payload;
    }

    fn on_stream_frame(
        &mut self,
        role: Side,
        kind: Option<LongKind>,
        frame: Frame<'_>,
        reader: &mut impl QuicReader,
    ) {
        let side = self.side(role);
        match frame {
            Frame::Stream { id, offset, data, is_last } if kind != Some(LongKind::Handshake) => {
                self.has_early_data |= kind == Some(LongKind::EarlyData);
                self.streams.on_frame((side, id), offset, data, is_last, reader);
            }
            Frame::ResetStream { id } => self.streams.reset((side, id), reader),
            _ => {}
        }
    }

    fn on_crypto(&mut self, role: Side, offset: u64, data: &[u8], reader: &mut impl QuicReader) {
        let side = self.side(role);
        let mut is_rejected = false;
        let Direction { crypto, messages, certificates, .. } = self.direction_mut(role);
        crypto.push(offset, data, false, &mut |bytes| {
            messages.push(bytes, |kind, body| {
                let Some(body) = body else { return reader.on_long_handshake(side, kind) };
                is_rejected |=
                    role == Side::Server && kind == ENCRYPTED_EXTENSIONS && !accepts_early_data(body);
                certificates.pass(kind, body, |kind, body| match body {
                    Some(body) => reader.on_handshake(side, kind, body),
                    None => reader.on_long_handshake(side, kind),
                });
            });
        });
        if crypto.buffered_bytes() > MAX_WAITING_BYTES {
            crypto.end();
        }
        // Early data that come later are not read either.
        if is_rejected {
            self.early = Keys::Missing;
        }
        if is_rejected && std::mem::take(&mut self.has_early_data) {
            self.streams = Streams::default();
            reader.on_early_data_rejected();
        }
    }

    fn open_early(&mut self, packet: &LongPacket<'_>, secrets: &Secrets) -> Option<Range<usize>> {
        let may_wait = self.may_wait(secrets);
        let Self { early, random, scratch, .. } = self;
        let origin = Origin {
            version: packet.version,
            suite: None,
            secret: || secrets.get(SecretLabel::ClientEarly, random),
            may_wait,
            largest: None,
        };
        match early.open(packet.bytes, packet.number_offset, origin, scratch) {
            Outcome::Frames(_, frames) => Some(frames),
            Outcome::NotAuthentic => None,
            // The handshake may have a secret.
            Outcome::NoSecret => {
                self.lacks_secret = may_wait && matches!(self.early, Keys::Unknown);
                self.refused = self.refused.saturating_sub(1);
                None
            }
        }
    }

    fn open_handshake(
        &mut self,
        role: Side,
        packet: &LongPacket<'_>,
        secrets: &Secrets,
    ) -> Option<Range<usize>> {
        let label = role.choose(SecretLabel::ClientHandshake, SecretLabel::ServerHandshake);
        let may_wait = self.may_wait(secrets);
        let Self { random, scratch, suite, sent_by_client, sent_by_server, .. } = self;
        let keys = &mut role.choose(sent_by_client, sent_by_server).handshake;
        let origin = Origin {
            version: packet.version,
            suite: *suite,
            secret: || secrets.get(label, random),
            may_wait,
            largest: None,
        };
        let outcome = keys.open(packet.bytes, packet.number_offset, origin, scratch);
        self.on_outcome(outcome, secrets)
    }

    fn open_application(
        &mut self,
        role: Side,
        packet: &[u8],
        id_len: usize,
        is_known: bool,
        secrets: &Secrets,
    ) -> Option<Range<usize>> {
        let number_offset = id_len.checked_add(1)?;
        let label = role.choose(SecretLabel::ClientApplication, SecretLabel::ServerApplication);
        let may_wait = self.may_wait(secrets);
        let Self { random, scratch, suite, version, sent_by_client, sent_by_server, early, .. } = self;
        let keys = &mut role.choose(sent_by_client, sent_by_server).application;
        let largest = match early {
            Keys::Known(early) if role == Side::Client => early.largest(),
            _ => None,
        };
        let origin = Origin {
            version: *version,
            suite: *suite,
            secret: || secrets.get(label, random),
            may_wait,
            largest,
        };
        let outcome = keys.open(packet, number_offset, origin, scratch);
        // A packet of another connection says nothing about this one.
        if !is_known && !matches!(outcome, Outcome::Frames(..)) {
            // The packet that announces the id may wait, too.
            self.lacks_secret = may_wait && matches!(outcome, Outcome::NoSecret);
            return None;
        }
        self.on_outcome(outcome, secrets)
    }

    fn on_outcome(&mut self, outcome: Outcome, secrets: &Secrets) -> Option<Range<usize>> {
        match outcome {
            Outcome::Frames(suite, frames) => {
                self.suite = Some(suite);
                return Some(frames);
            }
            Outcome::NotAuthentic => {}
            Outcome::NoSecret if self.may_wait(secrets) => {
                self.lacks_secret = true;
                self.refused = self.refused.saturating_sub(1);
            }
            Outcome::NoSecret if !secrets.has_client(&self.random) => self.end(Stop::NoSecret),
            // The other side or level may have one.
            Outcome::NoSecret => self.refused = self.refused.saturating_sub(1),
        }
        None
    }

    /// Stops, and drops what is buffered.
    fn end(&mut self, stop: Stop) {
        self.stop = Some(stop);
        self.streams = Streams::default();
        (self.early, self.scratch) = (Keys::Unknown, Vec::new());
        (self.pending, self.waiting) = (Vec::new(), Waiting::default());
        for direction in [&mut self.sent_by_client, &mut self.sent_by_server] {
            *direction = Direction { ids: std::mem::take(&mut direction.ids), ..Direction::default() };
        }
    }

    /// The side of a flow with this role.
    fn side(&self, role: Side) -> Side {
        if role == Side::Client { self.client } else { self.client.peer() }
    }

    fn direction(&self, role: Side) -> &Direction {
        role.choose(&self.sent_by_client, &self.sent_by_server)
    }

    fn direction_mut(&mut self, role: Side) -> &mut Direction {
        role.choose(&mut self.sent_by_client, &mut self.sent_by_server)
    }
}

/// Whether a frame is of a stream on which both sides send (RFC 9000, section 2.1).
fn is_both_ways(frame: &Frame<'_>) -> bool {
    matches!(frame, Frame::Stream { id, .. } | Frame::ResetStream { id } if id & 2 == 0)
}

impl Direction {
    fn add_id(&mut self, id: &[u8]) {
        if id.len() > MAX_ID_LEN || self.has_id(id) {
            return;
        }
        let mut bytes = [0; MAX_ID_LEN];
        let len = bytes.iter_mut().zip(id).fold(0_u8, |len, (byte, id)| {
            *byte = *id;
            len.saturating_add(1)
        });
        // The first one identifies the connection in long headers.
        if self.ids.len() >= MAX_CONNECTION_IDS {
            self.ids.remove(1);
        }
        self.ids.push((bytes, len));
    }

    fn has_id(&self, id: &[u8]) -> bool {
        self.ids.iter().any(|known| bytes_of(known) == id)
    }

    /// Returns the length of the id to which a packet with a short header goes, if it is known.
    fn id_len_of(&self, packet: &[u8]) -> Option<usize> {
        let (_, rest) = packet.split_first()?;
        self.ids.iter().map(bytes_of).find(|id| rest.starts_with(id)).map(<[u8]>::len)
    }

    /// Returns the length of the ids.
    fn id_len(&self) -> Option<usize> {
        self.ids.first().map(|id| bytes_of(id).len())
    }

    fn buffered_bytes(&self) -> usize {
        self.ids
            .capacity()
            .saturating_mul(size_of::<Id>())
            .saturating_add(self.crypto.buffered_bytes())
            .saturating_add(self.messages.buffered_bytes())
    }
}

fn bytes_of((bytes, len): &Id) -> &[u8] {
    bytes.get(..usize::from(*len)).unwrap_or(bytes)
}

/// Omits keys and content.
impl fmt::Debug for QuicDecryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicDecryptor")
            .field("version", &self.version)
            .field("suite", &self.suite)
            .field("packets", &self.packets)
            .finish_non_exhaustive()
    }
}
