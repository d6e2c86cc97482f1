//! Packets of OpenVPN's control channel.

use huginn_net_wire::{Cursor, Side};

use crate::record::{self, Probe};

/// Opcodes: the upper five bits of a packet's first byte.
const HARD_RESET_CLIENT_V1: u8 = 1;
const HARD_RESET_SERVER_V1: u8 = 2;
const CONTROL_V1: u8 = 4;
const DATA_V1: u8 = 6;
const HARD_RESET_CLIENT_V2: u8 = 7;
const HARD_RESET_SERVER_V2: u8 = 8;
const DATA_V2: u8 = 9;

pub(super) type SessionId = [u8; 8];

/// Length of opcode and session id, which precede the authentication data, in bytes.
const AUTH_OFFSET: usize = 9;
/// Possible lengths of the authentication data: nothing, or, with `tls-auth`, an HMAC of a usual length, a packet id
/// and a time.
const AUTH_LENS: [usize; 7] = [0, 16 + 8, 20 + 8, 28 + 8, 32 + 8, 48 + 8, 64 + 8];
/// Maximum acknowledgements in a packet.
const MAX_ACKS: u8 = 8;

/// The kind of a packet, from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first packet of a session.
    HardReset(Side),
    /// A packet with TLS data.
    Control,
    /// Tunnel data, after the handshake.
    Data,
    /// A packet without a hello: an acknowledgement, a soft reset, an encrypted control channel.
    Other,
}

impl Kind {
    pub(super) fn from_packet(packet: &[u8]) -> Self {
        let Some(&first) = packet.first() else { return Self::Other };
        match (first >> 3, first & 7) {
            (HARD_RESET_CLIENT_V1 | HARD_RESET_CLIENT_V2, 0) => Self::HardReset(Side::Client),
            (HARD_RESET_SERVER_V1 | HARD_RESET_SERVER_V2, 0) => Self::HardReset(Side::Server),
            (CONTROL_V1, 0) => Self::Control,
            (DATA_V1 | DATA_V2, _) => Self::Data,
            _ => Self::Other,
        }
    }
}

/// A hard reset, or a packet with TLS data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub(super) session: SessionId,
    /// The packet number that defines the order.
    pub(super) id: u32,
    pub(super) tls: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Parses a packet with `auth_len` bytes of authentication data.
    pub(super) fn parse(bytes: &'a [u8], auth_len: usize) -> Option<Self> {
        if !matches!(Kind::from_packet(bytes), Kind::HardReset(_) | Kind::Control) {
            return None;
        }
        let mut cursor = Cursor::new(bytes);
        cursor.skip(1).ok()?;
        let session = cursor.array().ok()?;
        cursor.skip(auth_len).ok()?;
        let acks = cursor.u8().ok().filter(|acks| *acks <= MAX_ACKS)?;
        if acks > 0 {
            cursor.skip(usize::from(acks).saturating_mul(4)).ok()?;
            cursor.skip(size_of::<SessionId>()).ok()?;
        }
        let id = cursor.u32_be().ok()?;
        Some(Self { session, id, tls: cursor.rest() })
    }
}

/// The start of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionStart {
    pub(super) sender: Side,
    pub(super) session: SessionId,
    pub(super) id: u32,
    pub(super) auth_len: usize,
}

impl SessionStart {
    /// Parses the first packet of a session: a hard reset, or a packet in which a record with a hello starts. The
    /// length of the authentication data is the first one that yields a valid packet.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let kind = Kind::from_packet(bytes);
        AUTH_LENS.into_iter().find_map(|auth_len| {
            let Packet { session, id, tls } = Packet::parse(bytes, auth_len)?;
            let sender = match kind {
                Kind::HardReset(sender) => (id == 0 && tls.is_empty()).then_some(sender)?,
                Kind::Control => record::hello_sender(tls)?,
                Kind::Data | Kind::Other => return None,
            };
            (session != [0; 8]).then_some(Self { sender, session, id, auth_len })
        })
    }
}

impl SessionStart {
    /// Whether a packet of `len` bytes with these first bytes may start a session.
    pub(super) fn may_start(bytes: &[u8], len: usize) -> bool {
        let session = bytes.get(1..AUTH_OFFSET);
        session.is_none_or(|session| session != [0; 8])
            && AUTH_LENS.into_iter().any(|auth_len| Self::may_start_with(bytes, len, auth_len))
    }

    fn may_start_with(bytes: &[u8], len: usize, auth_len: usize) -> bool {
        let before_acks = auth_len.saturating_add(AUTH_OFFSET);
        let start_of_tls = |acks: u8| {
            let acks_len = if acks == 0 { 0 } else { usize::from(acks).saturating_mul(4).saturating_add(8) };
            before_acks.saturating_add(1).saturating_add(acks_len).saturating_add(4)
        };
        let is_reset = matches!(Kind::from_packet(bytes), Kind::HardReset(_));
        let fits = |acks| if is_reset { len == start_of_tls(acks) } else { len > start_of_tls(acks) };
        let Some(&acks) = bytes.get(before_acks) else { return (0..=MAX_ACKS).any(fits) };
        let start = start_of_tls(acks);
        let id_and_tls = bytes.get(start.saturating_sub(4)..).unwrap_or_default();
        acks <= MAX_ACKS
            && fits(acks)
            && if is_reset {
                id_and_tls.iter().all(|byte| *byte == 0)
            } else {
                record::probe(id_and_tls.get(4..).unwrap_or_default()) != Probe::No
            }
    }
}

/// The sender of this datagram, if it starts a session.
pub(crate) fn session_initiator(datagram: &[u8]) -> Option<Side> {
    SessionStart::parse(datagram).map(|start| start.sender)
}
