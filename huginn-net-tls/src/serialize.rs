//! `Serialize` for fingerprints, hellos and events. Bytes that are not UTF-8 are escaped as [`Escaped`] does.

#[cfg(feature = "packets")]
mod events;

use huginn_net_wire::{Escaped, serialize_as_text};
use serde::{Serialize, Serializer};

use crate::{
    ClientFamily, ClientHello, Ja3, Ja3Hash, Ja3s, Ja4, Ja4Form, Ja4Hash, Ja4Head, Ja4Raw, ServerHello,
    Transport, Version,
};

serialize_as_text!(Ja4, Ja4Hash, Ja4Head, Ja4Raw, Ja3, Ja3s, Ja3Hash);
serialize_as_text!(ClientFamily, Transport, Version);

/// Serializes a cloneable iterator as a list.
struct List<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for List<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// Serializes `transport` (`tcp`, `quic`, `dtls`), `version` (as in JA4), `sni`, `alpn` (list), `ech`, `ja4`, `ja4_r`,
/// `ja4_o`, `ja4_ro`, `ja4_s1`, `ja4_s1r`, `ja3` and `ja3_hash`.
impl Serialize for ClientHello<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a, A: Serialize> {
            transport: Transport,
            version: Version,
            sni: Option<Escaped<'a>>,
            alpn: A,
            ech: bool,
            ja4: Ja4,
            ja4_r: Ja4Raw,
            ja4_o: Ja4,
            ja4_ro: Ja4Raw,
            ja4_s1: Ja4,
            ja4_s1r: Ja4Raw,
            ja3_hash: Ja3Hash,
            ja3: Ja3,
        }
        let [sorted, original, stable] =
            [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable].map(|form| self.ja4_raw(form));
        let ja3 = self.ja3();
        Shape {
            transport: self.transport(),
            version: self.version(),
            sni: self.server_name().map(Escaped),
            alpn: List(self.alpn().map(Escaped)),
            ech: self.has_ech(),
            ja4: sorted.ja4(),
            ja4_r: sorted,
            ja4_o: original.ja4(),
            ja4_ro: original,
            ja4_s1: stable.ja4(),
            ja4_s1r: stable,
            ja3_hash: ja3.hash(),
            ja3,
        }
        .serialize(serializer)
    }
}

/// Serializes `transport`, `version`, `cipher` (four hexadecimal digits), `alpn`, `retry` (whether it is a
/// HelloRetryRequest), `ja3s` and `ja3s_hash`.
impl Serialize for ServerHello<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            transport: Transport,
            version: Version,
            cipher: String,
            alpn: Option<Escaped<'a>>,
            retry: bool,
            ja3s_hash: Ja3Hash,
            ja3s: Ja3s,
        }
        let ja3s = self.ja3s();
        Shape {
            transport: self.transport(),
            version: self.version(),
            cipher: format!("{:04x}", self.cipher_suite()),
            alpn: self.alpn().map(Escaped),
            retry: self.is_retry_request(),
            ja3s_hash: ja3s.hash(),
            ja3s,
        }
        .serialize(serializer)
    }
}
