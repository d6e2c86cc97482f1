//! What the protocols could not use, by kind: their part of the blind spots.

use super::ProtocolCounters;

/// Number of kinds that the protocols count.
pub(crate) const PROTOCOL_KINDS: usize = 16;

/// Returns the sum of the counters that [`of_protocols`] reads: counters only grow, so that it changes with each of them. It
/// takes less time than to compare the counts.
#[inline(always)]
pub(crate) fn sum_of_protocols(counters: &ProtocolCounters) -> u64 {
    let ProtocolCounters { streams, http, tls, decryption, events_suppressed, .. } = counters;
    let (http1, search, quic) = (&http.http1, &tls.search, &tls.quic);
    [
        streams.gaps,
        streams.segments_refused,
        streams.not_compared,
        http.http2_given_up,
        http.http3_undecodable,
        http.http2_heads_cut,
        http.http3_heads_cut,
        http1.times_lost,
        http1.requests_unreadable,
        http1.responses_unreadable,
        http1.heads_too_long,
        http1.heads_with_too_many_headers,
        search.too_long,
        search.malformed,
        search.given_up,
        tls.udp.malformed,
        tls.hellos.ech,
        tls.handshakes.messages_too_long,
        quic.sealed,
        quic.unknown_version,
        quic.connections,
        quic.complete,
        quic.cut,
        quic.crypto_refused,
        quic.not_hello,
        quic.malformed,
        decryption.without_secret,
        decryption.not_authentic,
        decryption.unsupported,
        decryption.incomplete,
        decryption.one_side,
        events_suppressed.connection,
        events_suppressed.host,
        events_suppressed.rate,
    ]
    .into_iter()
    .fold(0, u64::wrapping_add)
}

/// Name, number and meaning of the kinds that the protocols count.
pub(crate) fn of_protocols(counters: &ProtocolCounters) -> [Count; PROTOCOL_KINDS] {
    let ProtocolCounters { streams, http, tls, decryption, events_suppressed, .. } = counters;
    [
        ("gaps", streams.gaps, "gap(s) of missing TCP segments"),
        ("segments_refused", streams.segments_refused, "TCP segment(s) too far ahead of a gap"),
        (
            "not_compared",
            streams.not_compared,
            "time(s) that bytes of a client could no longer be compared with their retransmissions",
        ),
        (
            "http_given_up",
            sum(&[http.http2_given_up, http.http3_undecodable, http.http1.times_lost]),
            "time(s) that HTTP could not be followed",
        ),
        (
            "http_unreadable",
            sum(&[http.http1.requests_unreadable, http.http1.responses_unreadable]),
            "HTTP message(s) whose first line could not be read",
        ),
        (
            "http_heads_cut",
            sum(&[
                http.http1.heads_too_long,
                http.http1.heads_with_too_many_headers,
                http.http2_heads_cut,
                http.http3_heads_cut,
            ]),
            "HTTP head(s) read in part",
        ),
        (
            "hellos_given_up",
            sum(&[tls.search.too_long, tls.search.malformed, tls.udp.malformed]),
            "TLS hello(s) given up: too long, or not valid",
        ),
        (
            "tls_messages_too_long",
            tls.handshakes.messages_too_long,
            "TLS message(s) after the hellos, such as certificates, that are too long to be read",
        ),
        (
            "tls_not_searched",
            tls.search.given_up.saturating_sub(tls.search.too_long),
            "direction(s) of TCP connections searched for a TLS hello in the first 64 KiB only",
        ),
        (
            "tls_without_secret",
            decryption.without_secret,
            "TLS connection(s) whose secret is not in the key log",
        ),
        (
            "tls_not_decrypted",
            sum(&[
                decryption.not_authentic,
                decryption.unsupported,
                decryption.incomplete,
                decryption.one_side,
            ]),
            "TLS connection(s) with a secret that could not be decrypted to their end",
        ),
        ("quic_sealed", tls.quic.sealed, "QUIC Initial packet(s) that no known key decrypts"),
        ("quic_unknown_version", tls.quic.unknown_version, "QUIC packet(s) of an unknown version"),
        (
            "quic_given_up",
            sum(&[
                tls.quic.connections.saturating_sub(tls.quic.complete),
                tls.quic.cut,
                tls.quic.crypto_refused,
                tls.quic.not_hello,
                tls.quic.malformed,
            ]),
            "QUIC packet(s) or connection(s) without a readable ClientHello",
        ),
        ("ech", tls.hellos.ech, "ClientHello(s) whose server name may be encrypted (ECH, or GREASE)"),
        (
            "events_suppressed",
            events_suppressed.total(),
            "event(s) beyond the limits of a connection, host or kind",
        ),
    ]
}

/// Kinds of blind spots that one connection caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpotSet(u32);

impl SpotSet {
    /// The connection began before the capture, or after it was idle too long.
    pub(super) const MIDSTREAM: Self = Self(1 << PROTOCOL_KINDS);

    /// Adds a kind by its index in [`of_protocols`] and its name, unless it counts what is open, too: most of it is complete later.
    pub(super) fn add(&mut self, kind: usize, name: &str) {
        if matches!(name, "quic_given_up" | "tls_not_searched") {
            return;
        }
        debug_assert!(kind < PROTOCOL_KINDS, "{kind}");
        self.0 |= 1_u32.checked_shl(u32::try_from(kind).unwrap_or(u32::MAX)).unwrap_or(0);
    }

    pub(super) fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether a message of the connection may be missing: the rest is normal.
    pub(super) fn hides_messages(self) -> bool {
        self.names().any(|name| !matches!(name, "midstream" | "ech"))
    }

    /// The names of the kinds, in the order of the blind spots of an analysis.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        let protocols = of_protocols(&ProtocolCounters::default()).map(|(name, ..)| name);
        let names = ["midstream"].into_iter().chain(protocols);
        let bits = std::iter::once(PROTOCOL_KINDS).chain(0..PROTOCOL_KINDS);
        names.zip(bits).filter(move |(_, bit)| self.0 >> bit & 1 != 0).map(|(name, _)| name)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Name, number and meaning. `(s)` ends a noun in the plural.
pub(crate) type Count = (&'static str, u64, &'static str);

pub(crate) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}
