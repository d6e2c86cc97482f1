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
    /// Keys of each suite that the secret fits, for the versions of packets that came: none was authentic yet.
    Candidates([Option<Vec<T>>; 2]),
    Known(T),
}

/// What came of a packet.
pub(super) enum Outcome {
    /// Its suite, and the place of its frames.
    Frames(Suite, Range<usize>),
    NotAuthentic,
    NoSecret,
}

/// Where keys come from that are not known yet.
pub(super) struct Origin<S> {
    pub(super) version: Version,
    /// The suite, if another level has revealed it.
    pub(super) suite: Option<Suite>,
    pub(super) secret: S,
    /// Whether a secret that is not known may still come.
    pub(super) may_wait: bool,
    /// The largest packet number of another level that counts on.
    pub(super) largest: Option<u64>,
}

impl<T: Open + From<PacketKeys>> Keys<T> {
    /// Decrypts a packet. Without keys, they derive from the secret, once: the suite is the one with which a packet is authentic, so that
    /// the ServerHello is not needed.
    pub(super) fn open(
        &mut self,
        packet: &[u8],
        number_offset: usize,
        origin: Origin<impl FnOnce() -> Option<Secret>>,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let Origin { version, suite, secret, may_wait, largest } = origin;
        match self {
            Self::Known(keys) => {
                return match keys.open(packet, number_offset, out) {
                    Some(frames) => Outcome::Frames(keys.suite(), frames),
                    None => Outcome::NotAuthentic,
                };
            }
            Self::Missing => return Outcome::NoSecret,
            // Too short for the sample of header protection (RFC 9001, section 5.4.2): no key opens it.
            _ if packet.len() < number_offset.saturating_add(SAMPLE_END) => return Outcome::NotAuthentic,
            Self::Unknown => *self = Self::Candidates([None, None]),
            Self::Candidates(_) => {}
        }
        let Self::Candidates([v1, v2]) = self else { return Outcome::NotAuthentic };
        let candidates = match version {
            Version::V1 => v1,
            Version::V2 => v2,
        };
        if candidates.is_none() {
            let Some(secret) = secret() else {
                *self = if may_wait { Self::Unknown } else { Self::Missing };
                return Outcome::NoSecret;
            };
            let suites = suite::TLS_1_3.into_iter().filter_map(Suite::from_number);
            let suites = suites.filter(|candidate| suite.is_none_or(|suite| suite == *candidate));
            let keys = suites.filter_map(|suite| PacketKeys::new(suite, version, &secret));
            *candidates = Some(keys.map(T::from).collect());
        }
        let candidates = candidates.get_or_insert_default();
        let opened = candidates.iter_mut().enumerate().find_map(|(index, keys)| {
            keys.set_largest(largest);
            Some((index, keys.open(packet, number_offset, out)?))
        });
        let Some((index, frames)) = opened else { return Outcome::NotAuthentic };
        let found = candidates.swap_remove(index);
        let suite = found.suite();
        *self = Self::Known(found);
        Outcome::Frames(suite, frames)
    }
}
