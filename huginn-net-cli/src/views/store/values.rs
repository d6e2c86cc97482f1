//! Names and fingerprints of events, counted by kind, with the hosts that sent them.

use std::fmt::{Display, Write as _};
use std::net::{IpAddr, SocketAddr};

use foldhash::HashSet;
use huginn_net::core::Escaped;
use huginn_net::hosts::HostId;
use huginn_net::tcp::Handshake;
use huginn_net::{Event, Observation, Timestamp};

use super::bounded::{Bounded, increment};
use super::kind::ValueKind;
use super::origin::Origin;
use super::repeatable::Repeatable;
use crate::limits::{MAX_OVERVIEW_PAIRS, MAX_OVERVIEW_TEXT};
use crate::output::last_boundary;

/// Maximum number of different values of each kind in an overview.
const MAX_OVERVIEW_VALUES: usize = 1 << 15;

/// Values of each kind, counted over events. Memory is bounded: see [`Values::left_out`].
#[derive(Debug, Default)]
pub(crate) struct ValueTable {
    kinds: [Values; ValueKind::ALL.len()],
    /// Memory of the value that is counted.
    text: String,
}

/// The values of one kind.
#[derive(Debug, Default)]
pub(crate) struct Values {
    seen: Bounded<String, SeenValue, MAX_OVERVIEW_VALUES>,
    /// Pairs of a value and a host.
    pairs: usize,
    /// Number of events whose host was not counted.
    left_out: u64,
}

/// A value with its count.
#[derive(Debug)]
pub(crate) struct SeenValue {
    /// The system or the software that it stands for, if all events with it name the same.
    pub(crate) name: Option<Box<str>>,
    /// Number of events.
    pub(crate) count: u64,
    /// The first event.
    pub(crate) first: FirstSeen,
    /// Time of the latest event.
    pub(crate) last: Timestamp,
    hosts: HashSet<HostId>,
}

impl SeenValue {
    /// Number of hosts that sent it.
    pub(crate) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The addresses of those hosts.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.hosts.iter().map(|host| host.ip())
    }
}

/// The first event with a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstSeen {
    pub(crate) ts: Timestamp,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// Number of the packet in the capture file.
    pub(crate) packet: u64,
    /// Index of the capture file.
    pub(crate) file: usize,
}

impl ValueTable {
    /// Counts the values of an event: its names; with `has_fingerprints` also its fingerprints, which cost more time.
    pub(crate) fn add(&mut self, event: &Event, origin: &Origin, has_fingerprints: bool) {
        let Self { kinds, text } = self;
        let host = HostId::of(event);
        let first = FirstSeen {
            ts: event.ts,
            client: event.flow.client,
            server: event.flow.server,
            packet: event.packet_number,
            file: origin.file,
        };
        visit_values(&event.kind, has_fingerprints, &mut |kind, value, name| {
            text.clear();
            // Writing to memory does not fail. The alternate form has no quotation marks.
            let _ = write!(text, "{value:#}");
            text.truncate(last_boundary(text, MAX_OVERVIEW_TEXT));
            if let Some(values) = kinds.get_mut(kind as usize) {
                values.count(text, host, first, name);
            }
        });
    }

    /// The values of a kind.
    pub(crate) fn of(&self, kind: ValueKind) -> &Values {
        // The kinds are the indices of this array.
        self.kinds.get(kind as usize).unwrap_or(&self.kinds[0])
    }
}

impl Values {
    /// A value with its count.
    pub(crate) fn get(&self, text: &str) -> Option<&SeenValue> {
        self.seen.get(text)
    }

    /// Number of different values.
    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Number of hosts that sent any of the values.
    pub(crate) fn all_hosts(&self) -> usize {
        self.seen.values().flat_map(|seen| &seen.hosts).collect::<HashSet<_>>().len()
    }

    /// Number of events whose value, or whose host, was not counted: the limits were reached.
    pub(crate) fn left_out(&self) -> u64 {
        self.seen.left_out().saturating_add(self.left_out)
    }

    /// The values that most hosts sent; among equal ones, those of most events.
    pub(crate) fn top(&self, n: usize) -> Vec<(&str, &SeenValue)> {
        let mut values = self.sorted();
        values.truncate(n);
        values
    }

    /// The values that fewest hosts sent; among equal ones, those of fewest events.
    pub(crate) fn rare(&self, n: usize) -> Vec<(&str, &SeenValue)> {
        let mut values = self.sorted();
        values.reverse();
        values.truncate(n);
        values
    }

    fn sorted(&self) -> Vec<(&str, &SeenValue)> {
        let mut values: Vec<(&str, &SeenValue)> =
            self.seen.iter().map(|(text, seen)| (&**text, seen)).collect();
        values.sort_unstable_by(|(text, one), (other_text, other)| {
            (other.hosts(), other.count).cmp(&(one.hosts(), one.count)).then(text.cmp(other_text))
        });
        values
    }

    fn count(&mut self, text: &str, host: HostId, first: FirstSeen, name: &dyn Fn() -> Option<String>) {
        // Most values come again: no memory is allocated for those.
        let seen = match self.seen.get_mut(text) {
            Some(seen) => seen,
            None => {
                let name = || name().map(String::into_boxed_str);
                let new =
                    || SeenValue { name: name(), count: 0, first, last: first.ts, hosts: HashSet::default() };
                let Some(seen) = self.seen.entry_or(text.to_owned(), new) else { return };
                seen
            }
        };
        if seen.count > 0 && seen.name.is_some() && seen.name.as_deref() != name().as_deref() {
            seen.name = None;
        }
        increment(&mut seen.count);
        if first.ts.as_nanos() > seen.last.as_nanos() {
            seen.last = first.ts;
        }
        if self.pairs < MAX_OVERVIEW_PAIRS {
            self.pairs = self.pairs.saturating_add(usize::from(seen.hosts.insert(host)));
        } else if !seen.hosts.contains(&host) {
            increment(&mut self.left_out);
        }
    }
}

/// Takes a value: its kind, and the system or software that it stands for.
type OnValue<'a> = dyn FnMut(ValueKind, &dyn Display, &dyn Fn() -> Option<String>) + 'a;

/// Passes each value of an event: its names; with `has_fingerprints` also its fingerprints.
fn visit_values(observation: &Observation, has_fingerprints: bool, on_value: &mut OnValue<'_>) {
    let unnamed = &|| None;
    match observation {
        Observation::Tcp(observation) => {
            if let Some(system) = observation.system() {
                on_value(ValueKind::System, &system, unnamed);
            }
            if has_fingerprints {
                let kind = match observation.signature.handshake {
                    Handshake::Syn => ValueKind::Syn,
                    Handshake::SynAck => ValueKind::SynAck,
                };
                let name = || observation.matched.as_ref().map(|found| found.name().to_string());
                on_value(kind, &observation.signature, &name);
            }
        }
        Observation::HttpRequest(observation) => {
            match (observation.verdict.software(), &observation.software) {
                (Some(software), _) => on_value(ValueKind::Software, &software, unnamed),
                (None, Some(found)) => on_value(ValueKind::Software, &found.software, unnamed),
                (None, None) => {}
            }
            if has_fingerprints {
                let name = || observation.verdict.name().map(|name| name.to_string());
                on_value(ValueKind::HttpRequest, &Repeatable(observation.verdict.raw_sig()), &name);
                if let Some(akamai) = &observation.akamai {
                    let name = || observation.software.as_ref().map(|found| found.software.to_string());
                    on_value(ValueKind::Akamai, akamai, &name);
                }
                if let Some(text) = observation.request.user_agent() {
                    on_value(ValueKind::UserAgent, &Escaped(text), &name);
                }
            }
        }
        Observation::HttpResponse(observation) => {
            if let Some(software) = observation.verdict.software() {
                on_value(ValueKind::Software, &software, unnamed);
            }
            if has_fingerprints {
                let name = || observation.verdict.name().map(|name| name.to_string());
                on_value(ValueKind::HttpResponse, &Repeatable(observation.verdict.raw_sig()), &name);
                if let Some(text) = observation.response.server() {
                    on_value(ValueKind::ServerHeader, &Escaped(text), &name);
                }
            }
        }
        Observation::TlsClient(observation) => {
            let hello = &observation.client.hello;
            match observation.software() {
                Some(found) => on_value(ValueKind::TlsClient, &found.software, unnamed),
                None => on_value(ValueKind::TlsClient, &format_args!("unknown {}", hello.ja4()), unnamed),
            }
            if has_fingerprints {
                let name = || observation.software().map(|found| found.software.to_string());
                on_value(ValueKind::Ja4, &hello.ja4(), &name);
                on_value(ValueKind::Ja3, &hello.ja3().hash(), &name);
                if let Some(text) = hello.server_name() {
                    on_value(ValueKind::Sni, &Escaped(text), unnamed);
                }
            }
        }
        Observation::TlsServer(observation) if has_fingerprints => {
            let hello = &observation.server.hello;
            on_value(ValueKind::TlsVersion, &hello.version(), unnamed);
            on_value(ValueKind::TlsCipher, &format_args!("{:04x}", hello.cipher_suite()), unnamed);
            on_value(ValueKind::Ja3s, &hello.ja3s_hash(), unnamed);
        }
        Observation::SshClient(observation) => {
            let name = || observation.software().map(|found| found.software.to_string());
            if let Some(found) = observation.software() {
                on_value(ValueKind::SshClient, &found.software, unnamed);
            }
            if has_fingerprints && let Some(hassh) = observation.peer.hassh() {
                on_value(ValueKind::Hassh, &hassh, &name);
            }
        }
        Observation::SshServer(observation) if has_fingerprints => {
            if let Some(hassh) = observation.peer.hassh() {
                let software = Escaped(observation.peer.identification.software_version());
                on_value(ValueKind::HasshServer, &hassh, &|| Some(format!("{software:#}")));
            }
        }
        Observation::Mismatch(found) => {
            on_value(ValueKind::Mismatch, &Escaped(found.to_string().as_bytes()), unnamed);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use huginn_net::{CaptureReader, HuginnNet};

    use super::*;

    #[test]
    fn name_of_user_agent_has_the_remark_of_its_software() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/http/http-imitation/http-imitation.pcap");
        let mut events: Vec<Event> = Vec::new();
        HuginnNet::builder()
            .build()
            .analyze(CaptureReader::open(path).unwrap(), |event| events.push(event))
            .unwrap();
        let mut values = ValueTable::default();
        let request = events.iter().find(|event| matches!(event.kind, Observation::HttpRequest(_))).unwrap();
        values.add(request, &Origin::default(), true);
        let [(_, seen)] = values.of(ValueKind::UserAgent).top(usize::MAX)[..] else { panic!() };
        assert_eq!(seen.name.as_deref(), Some("Python urllib (dishonest)"));
    }

    #[test]
    fn name_is_one_of_all_events() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
        let mut events: Vec<Event> = Vec::new();
        HuginnNet::builder()
            .build()
            .analyze(CaptureReader::open(path).unwrap(), |event| events.push(event))
            .unwrap();
        let event = events.first().unwrap();
        let (client, server) = (event.flow.client, event.flow.server);
        let first = FirstSeen { ts: event.ts, client, server, packet: 1, file: 0 };
        let name = |names: &[Option<&str>]| {
            let mut values = Values::default();
            for name in names {
                values.count("Apache", HostId::of(event), first, &|| name.map(str::to_owned));
            }
            values.get("Apache").unwrap().name.clone()
        };
        assert_eq!(name(&[Some("a"), Some("a")]).as_deref(), Some("a"));
        for names in [[Some("a"), Some("b")], [Some("a"), None], [None, Some("a")], [None, None]] {
            assert_eq!(name(&names), None, "{names:?}");
        }
    }
}
