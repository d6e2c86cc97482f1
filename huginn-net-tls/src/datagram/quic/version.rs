//! QUIC versions with a TLS handshake, and the protection of their Initial packets.

/// The version-specific protection of Initial packets.
#[derive(Debug)]
pub(super) struct Protection {
    /// The salt of the key derivation (RFC 9001, section 5.2).
    pub(super) salt: [u8; 20],
    pub(super) labels: &'static Labels,
    /// The type code of Initial packets; the codes of 0-RTT, Handshake and Retry follow it, modulo 4.
    initial_code: u8,
    pub(super) frames: FrameSet,
}

/// The encoding of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameSet {
    /// RFC 9000, section 19.
    Ietf,
    /// The encoding of Google QUIC before the IETF version.
    Google,
}

/// The labels of the derived keys, with the prefix of TLS 1.3 (RFC 8446, section 7.1).
#[derive(Debug)]
pub(super) struct Labels {
    pub(super) key: &'static [u8],
    pub(super) iv: &'static [u8],
    pub(super) header: &'static [u8],
}

/// A long-header packet type (RFC 9000, section 17.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LongType {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

const LABELS_V1: Labels = Labels { key: b"tls13 quic key", iv: b"tls13 quic iv", header: b"tls13 quic hp" };
const LABELS_V2: Labels =
    Labels { key: b"tls13 quicv2 key", iv: b"tls13 quicv2 iv", header: b"tls13 quicv2 hp" };

const SALT_V2_DRAFTS: [u8; 20] = [
    0xa7, 0x07, 0xc2, 0x03, 0xa5, 0x9b, 0x47, 0x18, 0x4a, 0x1d, 0x62, 0xca, 0x57, 0x04, 0x06, 0xea, 0x7a,
    0xe3, 0xe5, 0xd3,
];

/// Drafts 21 and 22 of draft-ietf-quic-tls.
static DRAFT_22: Protection = v1([
    0x7f, 0xbc, 0xdb, 0x0e, 0x7c, 0x66, 0xbb, 0xe9, 0x19, 0x3a, 0x96, 0xcd, 0x21, 0x51, 0x9e, 0xbd, 0x7a,
    0x02, 0x64, 0x4a,
]);
/// Drafts 23 to 28.
static DRAFT_23: Protection = v1([
    0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a, 0x11, 0xa7, 0xd2, 0x43, 0x2b, 0xb4, 0x63, 0x65, 0xbe,
    0xf9, 0xf5, 0x02,
]);
/// Drafts 29 to 32.
static DRAFT_29: Protection = v1([
    0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61, 0x11, 0xe0, 0x43,
    0x90, 0xa8, 0x99,
]);
/// RFC 9001, section 5.2, and its drafts 33 and 34.
static V1: Protection = v1([
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
    0xbb, 0x7f, 0x0a,
]);
/// draft-ietf-quic-v2-00, which still used the type codes of version 1.
static V2_DRAFT_00: Protection =
    Protection { salt: SALT_V2_DRAFTS, labels: &LABELS_V2, initial_code: 0, frames: FrameSet::Ietf };
/// draft-ietf-quic-v2-01 and some later drafts.
static V2_DRAFT_01: Protection =
    Protection { salt: SALT_V2_DRAFTS, labels: &LABELS_V2, initial_code: 1, frames: FrameSet::Ietf };
/// RFC 9369, sections 3.2 and 3.3.
static V2: Protection = Protection {
    salt: [
        0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9,
        0xbd, 0x2e, 0xd9,
    ],
    labels: &LABELS_V2,
    initial_code: 1,
    frames: FrameSet::Ietf,
};
/// Google QUIC with TLS.
static T050: Protection = google([
    0x7f, 0xf5, 0x79, 0xe5, 0xac, 0xd0, 0x72, 0x91, 0x55, 0x80, 0x30, 0x4c, 0x43, 0xa2, 0x36, 0x7c, 0x60,
    0x48, 0x83, 0x10,
]);
static T051: Protection = google([
    0x7a, 0x4e, 0xde, 0xf4, 0xe7, 0xcc, 0xee, 0x5f, 0xa4, 0x50, 0x6c, 0x19, 0x12, 0x4f, 0xc8, 0xcc, 0xda,
    0x6e, 0x03, 0x3d,
]);

/// Version 2 with the type codes of version 1; used only in [`RESERVED`].
static V2_IN_CODES_OF_V1: Protection =
    Protection { salt: V2.salt, labels: &LABELS_V2, initial_code: 0, frames: FrameSet::Ietf };
/// Google's quiche, `kReservedForNegotiationSalt`.
static QUICHE_RESERVED: Protection = v1([
    0xf9, 0x64, 0xbf, 0x45, 0x3a, 0x1f, 0x1b, 0x80, 0xa5, 0xf8, 0x82, 0x03, 0x77, 0xd4, 0xaf, 0xca, 0x58,
    0x0e, 0xe7, 0x43,
]);

/// Possible protections of a reserved version, most likely first. No two share both salt and type codes.
///
/// No server accepts a reserved version, so no specification defines its protection: aioquic uses the salt of version
/// 1, ngtcp2 that of draft 29, and quiche its own.
pub(super) static RESERVED: [&Protection; 7] =
    [&V1, &DRAFT_29, &QUICHE_RESERVED, &V2, &V2_IN_CODES_OF_V1, &DRAFT_23, &DRAFT_22];

const fn v1(salt: [u8; 20]) -> Protection {
    Protection { salt, labels: &LABELS_V1, initial_code: 0, frames: FrameSet::Ietf }
}

const fn google(salt: [u8; 20]) -> Protection {
    Protection { frames: FrameSet::Google, ..v1(salt) }
}

/// Whether clients use this version to force version negotiation (RFC 9000, sections 6.3 and 15).
pub(super) const fn is_reserved(version: u32) -> bool {
    version & 0x0f0f_0f0f == 0x0a0a_0a0a
}

impl Protection {
    /// The protection of a version; for a reserved version, the most likely one. `None` if the version is unknown or
    /// does not use TLS.
    pub(super) fn from_version(version: u32) -> Option<&'static Self> {
        Some(match version {
            1 | 0xff00_0021 | 0xff00_0022 => &V1,
            0x6b33_43cf => &V2,
            0xff00_0016 => &DRAFT_22,
            0xff00_0017..=0xff00_001c => &DRAFT_23,
            0xff00_001d..=0xff00_0020 => &DRAFT_29,
            0xff02_0000 => &V2_DRAFT_00,
            0x709a_50c4 => &V2_DRAFT_01,
            // Facebook's mvfst: identified by draft and version, except the alias of version 1.
            0xface_b000 | 0xface_b001 => &DRAFT_22,
            0xface_b003 => &V1,
            0xface_b002..=0xface_b01f => &DRAFT_23,
            // Microsoft's MsQuic.
            0xabcd_0000 => &DRAFT_29,
            // "T050" and "T051".
            0x5430_3530 => &T050,
            0x5430_3531 => &T051,
            version if is_reserved(version) => &V1,
            _ => return None,
        })
    }

    /// The possible protections of an Initial packet of a reserved version with this first byte: at most one per salt.
    pub(super) fn candidates_for_reserved(first: u8) -> impl Iterator<Item = &'static Self> {
        RESERVED.into_iter().filter(move |protection| protection.long_type(first) == LongType::Initial)
    }

    /// The packet type in the first byte of a long header.
    pub(super) fn long_type(&self, first: u8) -> LongType {
        match (first >> 4).wrapping_sub(self.initial_code) & 3 {
            0 => LongType::Initial,
            1 => LongType::ZeroRtt,
            2 => LongType::Handshake,
            _ => LongType::Retry,
        }
    }
}
