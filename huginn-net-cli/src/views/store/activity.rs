//! What hosts did and when: names that clients ask for, first events of each kind, and events over time.

use std::fmt::{Display, Write as _};
use std::hash::{BuildHasher, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use foldhash::fast::FixedState;
use huginn_net::core::{Escaped, TransportKind};
use huginn_net::hosts::HostProfile;
use huginn_net::http::without_port;
use huginn_net::observation::{SshClientObservation, SshServerObservation};
use huginn_net::record::EventKind;
use huginn_net::tls::names::cipher_suite;
use huginn_net::{Event, Observation, Side, Timestamp};

use super::bounded::{Bounded, increment};
use super::origin::Origin;
use super::timeline::Bins;
use crate::output::{certificate_remarks, certificates_in_words, handshake_in_words, last_boundary};

/// Maximum number of hosts whose activity a report keeps; the page has no room for more rows.
const MAX_REPORT_TRACKED_HOSTS: usize = 1 << 15;

/// Maximum number of events in the timelines of all hosts of a report: about 200 bytes each.
const MAX_REPORT_STEPS: usize = 1 << 17;

/// Maximum number of events of each kind in the timeline of a host, so that no kind hides another one.
const MAX_REPORT_STEPS_OF_KIND: usize = 16;

/// Maximum length of a text in the timeline of a host, in bytes; longer ones are cut.
const MAX_REPORT_STEP_TEXT: usize = 160;

/// Maximum number of names that a report keeps of a host. Each event is compared with all of them.
const MAX_REPORT_HOST_NAMES: usize = 48;

/// Maximum number of names of all hosts of a report: about 60 bytes each.
const MAX_REPORT_TRACKED_NAMES: usize = 1 << 18;

/// Maximum number of intervals with events that a report keeps of a host.
const MAX_REPORT_HOST_SECONDS: usize = 64;

/// Number of intervals in the activity of a host.
pub(crate) const SPARK_BINS: usize = 24;

/// Address, the number of the VLAN tags and tunnels, and the network of a local address if there are several.
type Key = (IpAddr, u64, Option<Arc<str>>);

/// Activity of the hosts of events. Memory is bounded: what exceeds the limits is counted.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    hosts: Bounded<Key, HostActivity, MAX_REPORT_TRACKED_HOSTS>,
    /// Number of steps of all hosts.
    steps: usize,
    /// Number of names of all hosts.
    names: usize,
    /// Memory of the text that is compared.
    text: String,
}

/// Activity of one host.
#[derive(Debug, Default)]
pub(crate) struct HostActivity {
    bins: Bins<u32>,
    /// Names that the host asked for.
    pub(crate) asked: Names,
    /// Names that clients asked this host for.
    pub(crate) served: Names,
    pub(crate) steps: Vec<Step>,
    /// Number of events whose step there was no room for.
    pub(crate) more_steps: u64,
}

/// Names with the number of events of each.
#[derive(Debug, Default)]
pub(crate) struct Names {
    seen: Vec<(Box<str>, u64)>,
    /// Number of events with a name that there was no room for.
    pub(crate) more: u64,
}

/// The first event of its kind with this value and this peer.
#[derive(Debug)]
pub(crate) struct Step {
    /// Hash of kind, value and peer.
    hash: u64,
    pub(crate) ts: Timestamp,
    pub(crate) packet: u64,
    pub(crate) file: usize,
    pub(crate) kind: &'static str,
    pub(crate) value: Box<str>,
    /// Port of the host.
    pub(crate) port: u16,
    pub(crate) peer: SocketAddr,
    pub(crate) transport: TransportKind,
}

impl Activity {
    /// Adds an event.
    pub(crate) fn add(&mut self, event: &Event, origin: &Origin) {
        let tunnel = event.flow.tunnel_key();
        let key = |ip| (ip, tunnel, origin.network_of(ip));
        let own = event.subject_addr();
        let mut text = std::mem::take(&mut self.text);
        if let Some(host) = self.hosts.entry(key(own.ip())) {
            host.bins.entry(event.ts.as_secs(), MAX_REPORT_HOST_SECONDS, |count| {
                *count = count.saturating_add(1);
            });
            self.add_step(event, event.subject, origin, &mut text);
        }
        // A handshake has two sides, and its client sees the certificate of the server.
        let concerns_client = match &event.kind {
            Observation::TlsHandshake(_) => true,
            Observation::TlsCertificates(found) => !certificate_remarks(found, event.ts).is_empty(),
            _ => false,
        };
        if concerns_client
            && event.subject == Side::Server
            && self.hosts.entry(key(event.flow.client.ip())).is_some()
        {
            self.add_step(event, Side::Client, origin, &mut text);
        }
        text.clear();
        if write_name(&mut text, &event.kind) {
            let is_full = self.names >= MAX_REPORT_TRACKED_NAMES;
            let mut added = 0_usize;
            if let Some(client) = self.hosts.entry(key(event.flow.client.ip())) {
                added = added.saturating_add(client.asked.add(&text, is_full));
            }
            if let Some(server) = self.hosts.entry(key(event.flow.server.ip())) {
                added = added.saturating_add(server.served.add(&text, is_full));
            }
            self.names = self.names.saturating_add(added);
        }
        self.text = text;
    }

    /// Adds a step to the timeline of a side.
    fn add_step(&mut self, event: &Event, side: Side, origin: &Origin, text: &mut String) {
        text.clear();
        if !write_value(text, event) {
            return;
        }
        text.truncate(last_boundary(text, MAX_REPORT_STEP_TEXT));
        let kind = EventKind::of(&event.kind).name();
        let is_client = side == Side::Client;
        let ends = [event.flow.client, event.flow.server];
        let [own, peer] = side.choose(ends, [event.flow.server, event.flow.client]);
        let key = (own.ip(), event.flow.tunnel_key(), origin.network_of(own.ip()));
        // Signatures of SYNs repeat with each peer, and responses with each client.
        let distinct_peer = match event.kind {
            Observation::Tcp(_)
            | Observation::HostChange(_)
            | Observation::IpSharing(_)
            | Observation::Tool(_)
            | Observation::Finding(_) => None,
            _ if is_client => Some(peer),
            _ => None,
        };
        let hash = hash(kind, text, distinct_peer);
        let is_full = self.steps >= MAX_REPORT_STEPS;
        let Some(host) = self.hosts.get_mut(&key) else { return };
        if host.steps.iter().any(|step| step.hash == hash) {
            return;
        }
        let of_kind = host.steps.iter().filter(|step| step.kind == kind).count();
        if is_full || of_kind >= MAX_REPORT_STEPS_OF_KIND {
            return increment(&mut host.more_steps);
        }
        self.steps = self.steps.saturating_add(1);
        host.steps.push(Step {
            hash,
            ts: event.ts,
            packet: event.packet_number,
            file: origin.file,
            kind,
            value: text.as_str().into(),
            port: own.port(),
            peer,
            transport: event.flow.transport,
        });
    }

    /// The activity of a host.
    pub(crate) fn of(&self, host: &HostProfile) -> Option<&HostActivity> {
        let tunnel = host.tunnel.as_ref().map_or(0, |tunnel| tunnel.key_word());
        self.hosts.get(&(host.ip, tunnel, host.network.clone()))
    }
}

impl HostActivity {
    /// Events in equal intervals of this time, in seconds, as digits from 0 to 9; empty without any.
    pub(crate) fn spark(&self, (first, last): (u64, u64)) -> String {
        let mut counts = [0_u64; SPARK_BINS];
        let width = last.saturating_sub(first).saturating_add(1);
        for (seconds, count) in self.bins.iter().filter(|(seconds, _)| *seconds <= last) {
            // The interval of a bin may begin before the first event.
            let offset = seconds.saturating_sub(first);
            if seconds.saturating_add(self.bins.width()) <= first {
                continue;
            }
            let index = offset.saturating_mul(SPARK_BINS as u64).checked_div(width).unwrap_or(0);
            let index = usize::try_from(index).unwrap_or(0);
            if let Some(sum) = counts.get_mut(index) {
                *sum = sum.saturating_add((*count).into());
            }
        }
        let Some(highest) = counts.iter().copied().max().filter(|highest| *highest > 0) else {
            return String::new();
        };
        let digit = |count: u64| {
            let level = count.saturating_mul(9).div_ceil(highest);
            u32::try_from(level).ok().and_then(|level| char::from_digit(level, 10)).unwrap_or('0')
        };
        counts.into_iter().map(digit).collect()
    }
}

impl Names {
    /// Counts a name. Returns the number of names that were added.
    fn add(&mut self, name: &str, is_full: bool) -> usize {
        if let Some((_, count)) = self.seen.iter_mut().find(|(seen, _)| **seen == *name) {
            increment(count);
            return 0;
        }
        if is_full || self.seen.len() >= MAX_REPORT_HOST_NAMES {
            increment(&mut self.more);
            return 0;
        }
        self.seen.push((name.into(), 1));
        1
    }

    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    /// The most used names, then the rarest ones, and the number of the others.
    pub(crate) fn shown(&self, most: usize, rarest: usize) -> (Vec<(&str, u64)>, usize) {
        let mut names: Vec<(&str, u64)> = self.seen.iter().map(|(name, count)| (&**name, *count)).collect();
        names.sort_unstable_by(|(name, count), (other, of_other)| of_other.cmp(count).then(name.cmp(other)));
        let left_out = names.len().saturating_sub(most.saturating_add(rarest));
        names.drain(most.min(names.len())..most.saturating_add(left_out).min(names.len()));
        (names, left_out)
    }
}

fn hash(kind: &str, value: &str, peer: Option<SocketAddr>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(kind.as_bytes());
    hasher.write_u8(0);
    hasher.write(value.as_bytes());
    std::hash::Hash::hash(&peer, &mut hasher);
    hasher.finish()
}

/// Writes the name that a client asks for, in lower case and without a port. Returns whether there is one.
fn write_name(text: &mut String, observation: &Observation) -> bool {
    match observation {
        Observation::TlsClient(observation) => {
            let Some(name) = observation.client.hello.server_name() else { return false };
            put(text, &Escaped(name));
        }
        Observation::HttpRequest(observation) => {
            let Some(name) = observation.request.host() else { return false };
            put(text, &Escaped(without_port(name)));
        }
        _ => return false,
    }
    text.truncate(last_boundary(text, MAX_REPORT_STEP_TEXT));
    text.make_ascii_lowercase();
    !text.is_empty()
}

/// Says that what follows was encrypted: an open lock, which the page also names in words.
fn put_decrypted(text: &mut String, is_decrypted: bool) {
    if is_decrypted {
        put(text, &"\u{1f513} decrypted: ");
    }
}

/// Writes what an event shows, without secrets: queries of requests are cut. Returns whether a timeline has such events.
fn write_value(text: &mut String, event: &Event) -> bool {
    match &event.kind {
        Observation::Tcp(observation) => match &observation.matched {
            Some(found) => {
                put(text, &found.name());
                put(text, &format_args!(", {}", observation.signature));
            }
            None => put(text, &observation.signature),
        },
        Observation::HttpRequest(observation) => {
            let request = &observation.request;
            put_decrypted(text, observation.decrypted);
            let path = request.path().unwrap_or_default();
            let end = path.iter().position(|byte| *byte == b'?').unwrap_or(path.len());
            put(text, &Escaped(request.method()));
            put(text, &format_args!(" {:#}", Escaped(request.host().unwrap_or_default())));
            put(text, &Escaped(path.get(..end).unwrap_or(path)));
            if let Some(agent) = request.user_agent() {
                put(text, &format_args!(", {:#}", Escaped(agent)));
            }
        }
        Observation::HttpResponse(observation) => {
            put_decrypted(text, observation.decrypted);
            match observation.response.status() {
                Some(status) => put(text, &status),
                None => put(text, &"no status code"),
            }
            if let Some(server) = observation.response.server() {
                put(text, &format_args!(", {:#}", Escaped(server)));
            }
        }
        Observation::TlsClient(observation) => {
            let hello = &observation.client.hello;
            if let Some(name) = hello.server_name() {
                put(text, &format_args!("{:#}, ", Escaped(name)));
            }
            put(text, &hello.ja4());
            if let Some(found) = observation.software() {
                put(text, &format_args!(", {}", found.software));
            }
        }
        Observation::TlsServer(observation) => {
            let hello = &observation.server.hello;
            put(text, &format_args!("version {}", hello.version()));
            match cipher_suite(hello.cipher_suite()) {
                Some(name) => put(text, &format_args!(", {name}")),
                None => put(text, &format_args!(", cipher suite {:04x}", hello.cipher_suite())),
            }
        }
        Observation::TlsHandshake(observation) if !observation.handshake.completed => {
            put(text, &handshake_in_words(&observation.handshake));
        }
        Observation::TlsCertificates(observation) => put(text, &certificates_in_words(observation, event.ts)),
        Observation::SshClient(SshClientObservation { peer, .. })
        | Observation::SshServer(SshServerObservation { peer, .. }) => {
            put(text, &Escaped(peer.identification.software_version()));
            if let Some(hassh) = peer.hassh() {
                put(text, &format_args!(", {hassh}"));
            }
        }
        Observation::HostChange(observation) => put(text, &observation.change_in_words()),
        Observation::IpSharing(observation) => put(text, &observation.sharing_in_words()),
        Observation::Mismatch(found) => put(text, &Escaped(found.to_string().as_bytes())),
        Observation::Conflict(found) => put(text, &found.conflict.name()),
        Observation::Tool(found) => put(text, &found.label),
        Observation::Finding(finding) => put(text, &Escaped(finding.to_string().as_bytes())),
        Observation::Match(found) => {
            put(text, &format_args!("{} {:#}", found.kind.name(), Escaped(found.value.as_bytes())));
            if !found.label.is_empty() {
                put(text, &format_args!(", {:#}", Escaped(found.label.as_bytes())));
            }
        }
        _ => return false,
    }
    true
}

/// Appends a value in its alternate form, which has no quotation marks.
fn put(text: &mut String, value: &dyn Display) {
    // Writing to memory does not fail.
    let _ = write!(text, "{value:#}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_most_used_and_the_rarest() {
        let mut names = Names::default();
        for (name, count) in [("b", 3), ("a", 9), ("d", 1), ("c", 2)] {
            for _ in 0..count {
                names.add(name, false);
            }
        }
        assert_eq!(names.shown(1, 1), (vec![("a", 9), ("d", 1)], 2));
        assert_eq!(names.shown(3, 3), (vec![("a", 9), ("b", 3), ("c", 2), ("d", 1)], 0));
        for n in 0..100 {
            names.add(&format!("name{n}"), false);
        }
        assert_eq!((names.len(), names.more), (MAX_REPORT_HOST_NAMES, 104 - MAX_REPORT_HOST_NAMES as u64));
    }

    #[test]
    fn spark_has_the_intervals_of_the_main_span() {
        let mut host = HostActivity::default();
        for seconds in [5, 1000, 1000, 1000, 1239] {
            host.bins.entry(seconds, MAX_REPORT_HOST_SECONDS, |count| *count += 1);
        }
        // 10 s for each digit; the event at 5 s is outside.
        assert_eq!(host.spark((1000, 1239)), format!("9{}3", "0".repeat(22)));
        assert_eq!(host.spark((2000, 2010)), "");
    }
}
