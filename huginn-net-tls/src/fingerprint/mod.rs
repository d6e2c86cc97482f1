//! Fingerprints of hellos: JA4, JA3, JA3S, that of QUIC, and the family of the client.

mod cache;
mod client_family;
mod decimal;
mod ja3;
mod ja4;
mod quic;
mod sorted;

pub(crate) use self::cache::CachedFingerprints;
pub use self::client_family::ClientFamily;
pub use self::ja3::{Ja3, Ja3Hash, Ja3HashParseError, Ja3s};
pub use self::ja4::{Ja4, Ja4Field, Ja4Form, Ja4Hash, Ja4Head, Ja4ParseError, Ja4Raw};
pub use self::quic::QuicFingerprint;
