//! Names and fingerprints of events, counted by kind, with the hosts that sent them.

mod kind;
mod repeatable;
pub(crate) mod timeline;

use std::collections::hash_map::Entry;
use std::fmt::{Display, Write as _};
use std::net::{IpAddr, SocketAddr};

use foldhash::{HashMap, HashSet};
use huginn_net::finding::ToolFinding;
use huginn_net::hosts::HostId;
use huginn_net::tcp::Handshake;
use huginn_net::{Escaped, Event, Finding, Timestamp};

pub(crate) use self::kind::ValueKind;
pub(crate) use self::repeatable::Repeatable;
use crate::limits::{MAX_OVERVIEW_PAIRS, MAX_OVERVIEW_TEXT, MAX_OVERVIEW_TOOL_HOSTS, MAX_OVERVIEW_VALUES};
use crate::output::last_boundary;

/// Values of each kind, counted over events. Memory is bounded: see [`Values::left_out`].
#[derive(Debug)]
pub(crate) struct Overview {
    kinds: [Values; ValueKind::ALL.len()],
    /// Whether fingerprints are counted, and not only names.
    has_fingerprints: bool,
    /// Hosts that send packets of tools.
    tools: HashMap<HostId, Vec<ToolFinding>>,
    /// Whether there are more such hosts.
    has_more_tools: bool,
    hosts: HashSet<HostId>,
    events: u64,
    /// Index of the capture file that the next events come from.
    file: Option<usize>,
    /// Memory of the value that is counted.
    text: String,
}

/// The values of one kind.
#[derive(Debug, Default)]
pub(crate) struct Values {
    seen: HashMap<String, SeenValue>,
    /// Pairs of a value and a host.
    pairs: usize,
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
    pub(crate) file: Option<usize>,
}

impl Overview {
    /// An overview of names; with `has_fingerprints` also of fingerprints, which cost more time.
    pub(crate) fn new(has_fingerprints: bool) -> Self {
        Self {
            kinds: std::array::from_fn(|_| Values::default()),
            has_fingerprints,
            tools: HashMap::default(),
            has_more_tools: false,
            hosts: HashSet::default(),
            events: 0,
            file: None,
            text: String::new(),
        }
    }

    /// Sets the index of the capture file that the next events come from.
    pub(crate) fn set_file(&mut self, file: Option<usize>) {
        self.file = file;
    }

    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event) {
        self.events = self.events.saturating_add(1);
        let host = HostId::of(event);
        if self.hosts.len() < MAX_OVERVIEW_PAIRS {
            self.hosts.insert(host);
        }
        if let Finding::Tool(found) = &event.kind {
            self.add_tool(host, found);
        }
        let first = FirstSeen {
            ts: event.ts,
            client: event.flow.client,
            server: event.flow.server,
            packet: event.packet_number,
            file: self.file,
        };
        let mut counter = Counter { kinds: &mut self.kinds, text: &mut self.text, host, first };
        counter.count_names(&event.kind);
        if self.has_fingerprints {
            counter.count_fingerprints(&event.kind);
        }
    }

    /// Keeps what a host sent of a tool.
    fn add_tool(&mut self, host: HostId, found: &ToolFinding) {
        let is_full = self.tools.len() >= MAX_OVERVIEW_TOOL_HOSTS;
        let tools = match self.tools.entry(host) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if is_full => {
                self.has_more_tools = true;
                return;
            }
            Entry::Vacant(entry) => entry.insert(Vec::new()),
        };
        match tools.iter_mut().find(|known| known.label == found.label) {
            Some(known) if known.syns > found.syns => {}
            Some(known) => *known = found.clone(),
            None => tools.push(found.clone()),
        }
    }

    /// The hosts that send packets of tools, with each tool: the one with most SYNs first.
    pub(crate) fn tools(&self) -> Vec<(HostId, ToolFinding)> {
        let tools = self.tools.iter().flat_map(|(id, tools)| tools.iter().map(|found| (*id, found.clone())));
        let mut tools: Vec<_> = tools.collect();
        tools.sort_by_key(|(id, found)| (std::cmp::Reverse(found.syns), *id));
        tools
    }

    /// The tool with most SYNs whose packets a host sends.
    pub(crate) fn tool(&self, id: HostId) -> Option<ToolFinding> {
        self.tools.get(&id)?.iter().max_by_key(|found| found.syns).cloned()
    }

    /// Whether a host sends packets of a tool.
    pub(crate) fn has_tool(&self, id: HostId) -> bool {
        self.tools.contains_key(&id)
    }

    /// Whether more hosts send packets of tools than [`tools`](Self::tools) has.
    pub(crate) fn has_more_tools(&self) -> bool {
        self.has_more_tools
    }

    /// The values of a kind.
    pub(crate) fn values(&self, kind: ValueKind) -> &Values {
        // The kinds are the indices of this array.
        self.kinds.get(kind as usize).unwrap_or(&self.kinds[0])
    }

    /// Number of events.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Number of hosts that events tell of, and whether there may be more.
    pub(crate) fn hosts(&self) -> (usize, bool) {
        (self.hosts.len(), self.hosts.len() >= MAX_OVERVIEW_PAIRS)
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
        self.left_out
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

    fn count(&mut self, text: &str, host: HostId, first: FirstSeen, name: impl Fn() -> Option<String>) {
        let is_full = self.seen.len() >= MAX_OVERVIEW_VALUES;
        // Most values come again: no memory is allocated for those.
        let seen = match self.seen.get_mut(text) {
            Some(seen) => seen,
            None if is_full => {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
            None => match self.seen.entry(text.to_owned()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(SeenValue {
                    name: name().map(String::into_boxed_str),
                    count: 0,
                    first,
                    last: first.ts,
                    hosts: HashSet::default(),
                }),
            },
        };
        if seen.count > 0 && seen.name.is_some() && seen.name.as_deref() != name().as_deref() {
            seen.name = None;
        }
        seen.count = seen.count.saturating_add(1);
        if first.ts.as_nanos() > seen.last.as_nanos() {
            seen.last = first.ts;
        }
        if self.pairs < MAX_OVERVIEW_PAIRS {
            self.pairs = self.pairs.saturating_add(usize::from(seen.hosts.insert(host)));
        } else if !seen.hosts.contains(&host) {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// Counts the values of one event.
struct Counter<'a> {
    kinds: &'a mut [Values; ValueKind::ALL.len()],
    text: &'a mut String,
    host: HostId,
    first: FirstSeen,
}

impl Counter<'_> {
    fn count_names(&mut self, finding: &Finding) {
        match finding {
            Finding::Tcp(finding) => {
                if let Some(system) = finding.system() {
                    self.count(ValueKind::System, &system, || None);
                }
            }
            Finding::HttpRequest(finding) => match (finding.verdict.software(), &finding.software) {
                (Some(software), _) => self.count(ValueKind::Software, &software, || None),
                (None, Some(found)) => self.count(ValueKind::Software, &found.software, || None),
                (None, None) => {}
            },
            Finding::HttpResponse(finding) => {
                if let Some(software) = finding.verdict.software() {
                    self.count(ValueKind::Software, &software, || None);
                }
            }
            Finding::TlsClient(finding) => match finding.software() {
                Some(found) => self.count(ValueKind::TlsClient, &found.software, || None),
                None => {
                    let ja4 = finding.client.hello.ja4();
                    self.count(ValueKind::TlsClient, &format_args!("unknown {ja4}"), || None);
                }
            },
            Finding::SshClient(finding) => {
                if let Some(found) = finding.software() {
                    self.count(ValueKind::SshClient, &found.software, || None);
                }
            }
            Finding::Mismatch(found) => {
                self.count(ValueKind::Mismatch, &Escaped(found.to_string().as_bytes()), || None);
            }
            _ => {}
        }
    }

    fn count_fingerprints(&mut self, finding: &Finding) {
        let escaped = |bytes| Escaped(bytes);
        match finding {
            Finding::Tcp(finding) => {
                let kind = match finding.signature.handshake {
                    Handshake::Syn => ValueKind::Syn,
                    Handshake::SynAck => ValueKind::SynAck,
                };
                let name = || finding.matched.as_ref().map(|found| found.name().to_string());
                self.count(kind, &finding.signature, name);
            }
            Finding::HttpRequest(finding) => {
                let name = || finding.verdict.name().map(|name| name.to_string());
                self.count(ValueKind::HttpRequest, &Repeatable(finding.verdict.raw_sig()), name);
                if let Some(akamai) = &finding.akamai {
                    let name = || finding.software.as_ref().map(|found| found.software.to_string());
                    self.count(ValueKind::Akamai, akamai, name);
                }
                if let Some(text) = finding.request.user_agent() {
                    self.count(ValueKind::UserAgent, &escaped(text), name);
                }
            }
            Finding::HttpResponse(finding) => {
                let name = || finding.verdict.name().map(|name| name.to_string());
                self.count(ValueKind::HttpResponse, &Repeatable(finding.verdict.raw_sig()), name);
                if let Some(text) = finding.response.server() {
                    self.count(ValueKind::ServerHeader, &escaped(text), name);
                }
            }
            Finding::TlsClient(finding) => {
                let hello = &finding.client.hello;
                let name = || finding.software().map(|found| found.software.to_string());
                self.count(ValueKind::Ja4, &hello.ja4(), name);
                self.count(ValueKind::Ja3, &hello.ja3().hash(), name);
                if let Some(text) = hello.server_name() {
                    self.count(ValueKind::Sni, &escaped(text), || None);
                }
            }
            Finding::TlsServer(finding) => {
                let hello = &finding.server.hello;
                self.count(ValueKind::TlsVersion, &hello.version(), || None);
                self.count(ValueKind::TlsCipher, &format_args!("{:04x}", hello.cipher_suite()), || None);
                self.count(ValueKind::Ja3s, &hello.ja3s_hash(), || None);
            }
            Finding::SshClient(finding) => {
                if let Some(hassh) = finding.peer.hassh() {
                    let name = || finding.software().map(|found| found.software.to_string());
                    self.count(ValueKind::Hassh, &hassh, name);
                }
            }
            Finding::SshServer(finding) => {
                let peer = &finding.peer;
                if let Some(hassh) = peer.hassh() {
                    let software = escaped(peer.identification.software_version());
                    self.count(ValueKind::HasshServer, &hassh, || Some(format!("{software:#}")));
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, kind: ValueKind, value: &dyn Display, name: impl Fn() -> Option<String>) {
        let mut text = std::mem::take(self.text);
        text.clear();
        // Writing to memory does not fail. The alternate form has no quotation marks.
        let _ = write!(text, "{value:#}");
        text.truncate(last_boundary(&text, MAX_OVERVIEW_TEXT));
        self.add(kind, &text, name);
        *self.text = text;
    }

    fn add(&mut self, kind: ValueKind, text: &str, name: impl Fn() -> Option<String>) {
        if let Some(values) = self.kinds.get_mut(kind as usize) {
            values.count(text, self.host, self.first, name);
        }
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
        HuginnNet::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut events).unwrap();
        let mut overview = Overview::new(true);
        overview.add(events.iter().find(|event| matches!(event.kind, Finding::HttpRequest(_))).unwrap());
        let [(_, seen)] = overview.values(ValueKind::UserAgent).top(usize::MAX)[..] else { panic!() };
        assert_eq!(seen.name.as_deref(), Some("Python urllib (dishonest)"));
    }

    #[test]
    fn name_is_one_of_all_events() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
        let mut events: Vec<Event> = Vec::new();
        HuginnNet::builder().build().analyze(CaptureReader::open(path).unwrap(), &mut events).unwrap();
        let event = events.first().unwrap();
        let (client, server) = (event.flow.client, event.flow.server);
        let first = FirstSeen { ts: event.ts, client, server, packet: 1, file: None };
        let name = |names: &[Option<&str>]| {
            let mut values = Values::default();
            for name in names {
                values.count("Apache", HostId::of(event), first, || name.map(str::to_owned));
            }
            values.get("Apache").unwrap().name.clone()
        };
        assert_eq!(name(&[Some("a"), Some("a")]).as_deref(), Some("a"));
        for names in [[Some("a"), Some("b")], [Some("a"), None], [None, Some("a")], [None, None]] {
            assert_eq!(name(&names), None, "{names:?}");
        }
    }
}
