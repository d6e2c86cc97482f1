//! `--once`: leaves out events that repeat a fingerprint of their host.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hasher};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;
use huginn_net::core::Side;
use huginn_net::record::EventKind;
use huginn_net::ssh::Negotiation;
use huginn_net::tls::{TlsCertificates, TlsHandshake};
use huginn_net::{Event, Observation};

use crate::control::counters::RepeatCounters;
use crate::views::store::Repeatable;

/// Maximum number of fingerprints of hosts that `--once` remembers, in some 40 megabytes. Beyond it, the oldest half is forgotten.
const MAX_REMEMBERED_EVENTS: usize = 1 << 20;

/// Remembers the fingerprints that hosts showed, and when, from any thread. Times are those of packets.
pub(super) struct Once {
    every: u64,
    hasher: RandomState,
    remembered: Mutex<Remembered>,
}

/// Hashes of what was written, with the times. A collision of 64 bits leaves out an event that is new.
#[derive(Default)]
struct Remembered {
    /// At most half of [`MAX_REMEMBERED_EVENTS`].
    recent: HashMap<u64, u64, RandomState>,
    /// Those from before `recent` was full.
    older: HashMap<u64, u64, RandomState>,
    counters: RepeatCounters,
}

impl Once {
    pub(super) fn new(every: Duration) -> Self {
        let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        Self { every, hasher: RandomState::default(), remembered: Mutex::default() }
    }

    /// The time in which a fingerprint of a host is written once.
    pub(super) fn every(&self) -> Duration {
        Duration::from_nanos(self.every)
    }

    /// Remembers an event, unless it has a fingerprint that its host showed in an event less than the time ago: `None` for such a
    /// repeat. Otherwise returns what is remembered, for [`forget`](Self::forget); 0 for events that are written each time.
    pub(super) fn admit(&self, event: &Event) -> Option<u64> {
        let Some(key) = self.key(event) else { return Some(0) };
        let is_repeat =
            self.remembered().is_repeat(key, event.ts.as_nanos(), self.every, MAX_REMEMBERED_EVENTS / 2);
        (!is_repeat).then_some(key)
    }

    /// Forgets an event that was lost: the next one with its fingerprint is written.
    pub(super) fn forget(&self, key: u64) {
        self.remembered().forget(key);
    }

    pub(super) fn counters(&self) -> RepeatCounters {
        self.remembered().counters
    }

    /// What repeats: the host, the kind of the event, and what it shows of the software. `None` for events that are written each time.
    fn key(&self, event: &Event) -> Option<u64> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(EventKind::of(&event.kind).name().as_bytes());
        let side = event.subject.choose(event.flow.client, event.flow.server);
        std::hash::Hash::hash(&side.ip(), &mut hasher);
        let mut text = HashedText(hasher);
        // Hashing does not fail.
        let _ = text.write_fingerprint(event)?;
        Some(text.0.finish().max(1))
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        // A panic leaves no entry half written.
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("every", &self.every).finish_non_exhaustive()
    }
}

impl Remembered {
    fn is_repeat(&mut self, key: u64, now: u64, every: u64, room: usize) -> bool {
        let last = self.recent.get(&key).or_else(|| self.older.get(&key));
        // A clock that is set back by more than this time makes an event new.
        if last.is_some_and(|last| now.abs_diff(*last) < every) {
            self.counters.left_out = self.counters.left_out.saturating_add(1);
            return true;
        }
        if self.recent.len() >= room {
            let forgotten = mem::replace(&mut self.older, mem::take(&mut self.recent));
            let early = forgotten.values().filter(|last| now.abs_diff(**last) < every).count();
            self.counters.forgotten = self.counters.forgotten.saturating_add(early as u64);
        }
        self.recent.insert(key, now);
        false
    }

    fn forget(&mut self, key: u64) {
        self.recent.remove(&key);
        self.older.remove(&key);
    }
}

/// Takes text into a hash.
struct HashedText<H>(H);

impl<H: Hasher> Write for HashedText<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl<H: Hasher> HashedText<H> {
    /// Writes fingerprints, what both sides agreed on, and the names that the host gave or asked for; `None` for events that are written
    /// each time.
    fn write_fingerprint(&mut self, event: &Event) -> Option<fmt::Result> {
        let written = match &event.kind {
            Observation::Tcp(found) => write!(self, "{}", found.signature),
            Observation::HttpRequest(found) => {
                self.write_bytes(found.request.host());
                self.write_bytes(found.request.user_agent());
                write!(self, "{}", Repeatable(found.verdict.raw_sig()))
            }
            Observation::HttpResponse(found) => {
                self.write_bytes(found.response.server());
                write!(self, "{}", Repeatable(found.verdict.raw_sig()))
            }
            Observation::TlsClient(found) => {
                let hello = &found.client.hello;
                self.write_bytes(hello.server_name());
                write!(self, "{} {}", hello.ja4(), hello.ja3().hash())
            }
            Observation::TlsServer(found) => write!(self, "{}", found.server.hello.ja3s_hash()),
            Observation::SshClient(found) => {
                self.write_bytes(Some(found.peer.identification.software_version()));
                write!(self, "{:?}", found.peer.hassh())
            }
            Observation::SshServer(found) => {
                self.write_bytes(Some(found.peer.identification.software_version()));
                write!(self, "{:?}", found.peer.hassh())
            }
            Observation::TlsHandshake(found) => {
                // Why it failed depends on the client.
                if !found.handshake.completed {
                    std::hash::Hash::hash(&event.flow.client.ip(), &mut self.0);
                }
                self.write_handshake(&found.handshake)
            }
            Observation::TlsCertificates(found) => {
                let TlsCertificates { certificates, has_more, server_name, .. } = &found.certificates;
                self.write_bytes(server_name.as_deref());
                certificates.iter().for_each(|certificate| self.write_bytes(Some(certificate.sha256())));
                write!(self, "{has_more} {:?}", found.is_valid_at(event.ts))
            }
            Observation::SshHandshake(found) => self.write_negotiation(&found.negotiation),
            _ => return None,
        };
        Some(written)
    }

    fn write_handshake(&mut self, handshake: &TlsHandshake) -> fmt::Result {
        let TlsHandshake {
            completed,
            version,
            cipher_suite,
            resumption,
            retry,
            key_exchange,
            alpn,
            decrypted,
            certificate_request,
            server_is_done,
            alerts,
            quic_error,
            ..
        } = handshake;
        self.write_bytes(alpn.as_deref());
        self.write_bytes(certificate_request.as_deref());
        write!(
            self,
            "{completed} {version:?} {cipher_suite:?} {resumption:?} {retry} {key_exchange:?} {decrypted} {server_is_done} {alerts:?} {quic_error:?}"
        )
    }

    fn write_negotiation(&mut self, negotiation: &Negotiation<'_>) -> fmt::Result {
        self.write_bytes(negotiation.kex());
        self.write_bytes(negotiation.host_key());
        for side in [Side::Client, Side::Server] {
            self.write_bytes(negotiation.cipher(side));
            self.write_bytes(negotiation.mac(side));
            self.write_bytes(negotiation.compression(side));
        }
        write!(self, "{} {:?}", negotiation.is_strict_kex(), negotiation.guess())
    }

    fn write_bytes(&mut self, bytes: Option<&[u8]>) {
        self.0.write(bytes.unwrap_or_default());
        self.0.write_u8(u8::from(bytes.is_some()));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use huginn_net::{CaptureReader, Configure, HuginnNet};

    use super::*;

    /// The names of the events of a capture that are written.
    fn admitted(once: &Once, capture: &str) -> Vec<&'static str> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures").join(capture);
        let mut names = Vec::new();
        let mut on_event =
            |event: Event| names.extend(once.admit(&event).map(|_| EventKind::of(&event.kind).name()));
        let analyzer = HuginnNet::builder().handshakes(true);
        analyzer.build().analyze(CaptureReader::open(path).unwrap(), &mut on_event).unwrap();
        names
    }

    #[test]
    fn handshakes_and_certificates_that_repeat_are_left_out() {
        for (capture, kind, different) in [
            ("tls/tls-alerts/tls-alerts.pcap", "tls_handshake", 9),
            ("tls/tls-certificates/tls-certificates.pcap", "tls_certificates", 7),
            ("ssh/ssh-negotiation/ssh-negotiation.pcap", "ssh_handshake", 8),
        ] {
            let once = Once::new(Duration::from_secs(3600));
            let written = |names: Vec<&str>| names.into_iter().filter(|name| *name == kind).count();
            assert_eq!(written(admitted(&once, capture)), different, "{capture}");
            assert_eq!(written(admitted(&once, capture)), 0, "{capture}");
        }
    }

    #[test]
    fn repeats_are_left_out_for_their_time_and_counted() {
        let mut remembered = Remembered::default();
        let seen = [(1, 0), (1, 9), (2, 9), (1, 10), (1, 19), (1, 20), (2, 19)];
        let repeats = seen.map(|(key, now)| remembered.is_repeat(key, now, 10, 100));
        assert_eq!(repeats, [false, true, false, false, true, false, false]);
        assert_eq!((remembered.counters.left_out, remembered.counters.forgotten), (2, 0));
        // The clock was set back.
        assert!(remembered.is_repeat(1, 11, 10, 100) && !remembered.is_repeat(1, 3, 10, 100));
    }

    #[test]
    fn forgotten_events_are_written_again() {
        let mut remembered = Remembered::default();
        assert!(!remembered.is_repeat(1, 0, 10, 1));
        // Moves the first one to those from before.
        assert!(!remembered.is_repeat(2, 1, 10, 1) && remembered.is_repeat(1, 2, 10, 1));
        remembered.forget(1);
        remembered.forget(0);
        assert!(!remembered.is_repeat(1, 3, 10, 10) && remembered.is_repeat(1, 4, 10, 10));
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_early_is_counted() {
        let mut remembered = Remembered::default();
        for key in 0..1000 {
            assert!(!remembered.is_repeat(key, key, 100, 30));
            assert!(remembered.recent.len() <= 30 && remembered.older.len() <= 30);
        }
        // Of the 30 entries that go at a time, the last ones are less than 100 old.
        assert!(remembered.counters.forgotten > 0 && remembered.counters.left_out == 0);
        assert!(remembered.is_repeat(999, 1000, 100, 30));
    }
}
