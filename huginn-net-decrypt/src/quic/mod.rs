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
use self::keys::{Open, PacketKeys, PhasedKeys, Version};
use self::level::{Keys, Outcome};
use self::packet::{LongKind, LongPacket, MAX_ID_LEN, Packet, Packets};
use self::stream::StreamBuffer;
use self::streams::Streams;
use crate::limits::{MAX_CONNECTION_IDS, MAX_REFUSED_PACKETS, MAX_WAITING_BYTES};
use crate::tls::compressed::CompressedCertificates;
use crate::tls::hello::accepts_early_data;
use crate::tls::messages::MessageJoiner;
use crate::tls::suite::Suite;
use crate::{SecretLabel, Secrets, Stop};

const ENCRYPTED_EXTENSIONS: u8 = 8;

/// Receives the plaintext of a QUIC connection.
pub trait QuicReader {
    /// Receives an encrypted handshake message: its type and body.
    fn on_handshake(&mut self, _side: Side, _kind: u8, _body: &[u8]) {}

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
    /// The suite, once a packet has revealed it.
    suite: Option<Suite>,
    streams: Streams,
    scratch: Vec<u8>,
    packets: u64,
    /// Packets in a row that were not authentic.
    refused: u32,
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
            suite: None,
            streams: Streams::default(),
            scratch: Vec::new(),
            packets: 0,
            refused: 0,
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
        let mut belongs = false;
        for packet in Packets::new(datagram) {
            if self.stop.is_some() {
                return belongs || self.has_packet(role, &packet);
            }
            match packet {
                Packet::Long(packet) => {
                    if !self.has_long_packet(role, &packet) {
                        continue;
                    }
                    belongs = true;
                    self.on_long_packet(role, &packet, secrets, reader);
                }
                Packet::Short(packet) => belongs |= self.on_short_packet(role, packet, secrets, reader),
            }
        }
        belongs
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
        if role == Side::Server {
            self.sent_by_server.add_id(packet.source);
            // The server may choose another version (RFC 9368).
            self.version = packet.version;
        }
        let frames = match packet.kind {
            LongKind::Initial => return,
            LongKind::EarlyData if role == Side::Client => self.open_early(packet, secrets),
            LongKind::EarlyData => return,
            LongKind::Handshake => self.open_handshake(role, packet, secrets),
        };
        self.on_frames(role, Some(packet.kind), frames, true, reader);
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
            if self.refused >= MAX_REFUSED_PACKETS {
                self.end(Stop::NotAuthentic);
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
                is_rejected |=
                    role == Side::Server && kind == ENCRYPTED_EXTENSIONS && !accepts_early_data(body);
                certificates.pass(kind, body, |kind, body| reader.on_handshake(side, kind, body));
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
        let Self { early, version, random, scratch, .. } = self;
        let secret = || secrets.get(SecretLabel::ClientEarly, random);
        match early.open(packet.bytes, packet.number_offset, *version, None, secret, |keys| keys, scratch) {
            Outcome::Frames(_, frames) => Some(frames),
            Outcome::NotAuthentic => None,
            // The handshake may have a secret.
            Outcome::NoSecret => {
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
        let Self { random, scratch, suite, version, sent_by_client, sent_by_server, .. } = self;
        let keys = &mut role.choose(sent_by_client, sent_by_server).handshake;
        let secret = || secrets.get(label, random);
        let outcome =
            keys.open(packet.bytes, packet.number_offset, *version, *suite, secret, |keys| keys, scratch);
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
        let Self { random, scratch, suite, version, sent_by_client, sent_by_server, early, .. } = self;
        let keys = &mut role.choose(sent_by_client, sent_by_server).application;
        if let Keys::Known(keys) = keys {
            return keys.open(packet, number_offset, scratch);
        }
        let largest = match early {
            Keys::Known(early) if role == Side::Client => early.largest(),
            _ => None,
        };
        let secret = || secrets.get(label, random);
        let begin = |mut keys: PacketKeys| {
            keys.set_largest(largest);
            PhasedKeys::new(keys)
        };
        let outcome = keys.open(packet, number_offset, *version, *suite, secret, begin, scratch);
        // A packet of another connection says nothing about this one.
        if !is_known && !matches!(outcome, Outcome::Frames(..)) {
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
