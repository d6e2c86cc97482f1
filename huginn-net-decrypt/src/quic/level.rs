//! The keys of one level of encryption, which the first authentic packet decides.

use std::ops::Range;

use super::keys::{Open, PacketKeys, Version};
use crate::secrets::Secret;
use crate::tls::suite::{self, Suite};

/// End of the sample of header protection after the start of a packet number, in bytes.
const SAMPLE_END: usize = 4 + 16;

/// Keys of one level.
#[derive(Default)]
pub(super) enum Keys<T> {
    /// No packet has come with them.
    #[default]
    Unknown,
    /// The secret is not known.
    Missing,
    Known(T),
}

/// What came of a packet.
pub(super) enum Outcome {
    /// Its suite, and the place of its frames.
    Frames(Suite, Range<usize>),
    NotAuthentic,
    NoSecret,
}

impl<T: Open> Keys<T> {
    /// Decrypts a packet. Without keys, they derive from the secret: the suite is the one with which the packet is authentic, so that
    /// the ServerHello is not needed.
    #[expect(clippy::too_many_arguments, reason = "fields of the connection that are borrowed apart")]
    pub(super) fn open(
        &mut self,
        packet: &[u8],
        number_offset: usize,
        version: Version,
        suite: Option<Suite>,
        secret: impl FnOnce() -> Option<Secret>,
        begin: impl Fn(PacketKeys) -> T,
        out: &mut Vec<u8>,
    ) -> Outcome {
        match self {
            Self::Known(keys) => match keys.open(packet, number_offset, out) {
                Some(frames) => Outcome::Frames(keys.suite(), frames),
                None => Outcome::NotAuthentic,
            },
            Self::Missing => Outcome::NoSecret,
            // Too short for the sample of header protection (RFC 9001, section 5.4.2): no key opens it.
            Self::Unknown if packet.len() < number_offset.saturating_add(SAMPLE_END) => Outcome::NotAuthentic,
            Self::Unknown => {
                let Some(secret) = secret() else {
                    *self = Self::Missing;
                    return Outcome::NoSecret;
                };
                let suites = suite::TLS_1_3.into_iter().filter_map(Suite::from_number);
                let candidates = suites.filter(|candidate| suite.is_none_or(|suite| suite == *candidate));
                for candidate in candidates {
                    let Some(found) = PacketKeys::new(candidate, version, &secret) else { continue };
                    let mut found = begin(found);
                    if let Some(frames) = found.open(packet, number_offset, out) {
                        *self = Self::Known(found);
                        return Outcome::Frames(candidate, frames);
                    }
                }
                Outcome::NotAuthentic
            }
        }
    }
}
