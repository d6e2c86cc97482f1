//! Alerts that are known, and need no report.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use huginn_net_core::{IpNet, Side, Timestamp};
use serde::Deserialize;

use super::AlertKind;
use crate::Observation;
use crate::observation::{BeaconTarget, FindingKind};
use crate::parse_time::parse_time;

/// Maximum number of known alerts: each alert is compared with all of them.
const MAX_KNOWN_ALERTS: usize = 10_000;

/// Alerts that are known, with the reason of each: [`Configure::known`](crate::Configure::known) silences them.
///
/// The text has a JSON object on each line. All of its fields must fit an alert; `reason` is for people, and at least one other
/// field is needed:
///
/// | field | fits |
/// |---|---|
/// | `kind` | alerts of this [kind](AlertKind::name) |
/// | `host` | alerts about a host of this address or network, and those whose client it is |
/// | `server` | alerts whose server has this address, network, address and port, or name; `*.example.org` stands for all names below |
/// | `fingerprint` | alerts that name this fingerprint or value |
/// | `until` | packets before this time, in UTC |
///
/// ```
/// use huginn_net::alert::KnownAlerts;
///
/// let text = br#"{"kind":"beacon","host":"10.0.0.5","server":"*.example.org","reason":"monitoring","until":"2026-12-31"}"#;
/// assert_eq!(KnownAlerts::parse(text)?.len(), 1);
/// # Ok::<(), huginn_net::alert::KnownAlertsError>(())
/// ```
#[derive(Debug, Default)]
pub struct KnownAlerts {
    entries: Vec<Entry>,
    silenced: AtomicU64,
}

/// The reason why a text does not list known alerts.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct KnownAlertsError {
    line: usize,
    reason: String,
}

/// A known alert.
#[derive(Debug)]
struct Entry {
    kind: Option<AlertKind>,
    host: Option<IpNet>,
    server: Option<Server>,
    fingerprint: Option<String>,
    until: Option<Timestamp>,
}

#[derive(Debug)]
enum Server {
    Network(IpNet),
    Address(SocketAddr),
    Name(String),
    /// Names that end with this, a dot first.
    Below(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    kind: Option<String>,
    host: Option<String>,
    server: Option<String>,
    fingerprint: Option<String>,
    reason: String,
    until: Option<String>,
}

impl KnownAlerts {
    /// Parses the text of a file. Empty lines are skipped.
    ///
    /// # Errors
    /// [`KnownAlertsError`] for an invalid line, one without a reason or without a field that fits alerts, and more than 10,000.
    pub fn parse(text: &[u8]) -> Result<Self, KnownAlertsError> {
        let mut known = Self::default();
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let entry = Entry::parse(text).map_err(|reason| KnownAlertsError { line, reason })?;
            if known.entries.len() >= MAX_KNOWN_ALERTS {
                let reason = format!("more than {MAX_KNOWN_ALERTS} known alerts");
                return Err(KnownAlertsError { line, reason });
            }
            known.entries.push(entry);
        }
        Ok(known)
    }

    /// Adds the entries of another text.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of events that were silenced.
    pub(crate) fn silenced(&self) -> u64 {
        self.silenced.load(Ordering::Relaxed)
    }

    /// Whether an observation is a known alert. It is counted then.
    pub(crate) fn silences(
        &self,
        observation: &Observation,
        ts: Timestamp,
        ends: (SocketAddr, SocketAddr),
        subject: Side,
    ) -> bool {
        let Some(kind) = AlertKind::of(observation) else { return false };
        let is_known = self.entries.iter().any(|entry| entry.fits(kind, observation, ts, ends, subject));
        if is_known {
            self.silenced.fetch_add(1, Ordering::Relaxed);
        }
        is_known
    }
}

impl Entry {
    fn parse(text: &[u8]) -> Result<Self, String> {
        let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let Line { kind, host, server, fingerprint, reason, until } = line;
        if reason.trim().is_empty() {
            return Err("the reason is empty".to_owned());
        }
        if kind.is_none() && host.is_none() && server.is_none() && fingerprint.is_none() {
            return Err("one of kind, host, server and fingerprint is needed".to_owned());
        }
        let names = || AlertKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let kind_of = |name: String| {
            let found = AlertKind::ALL.iter().copied().find(|kind| kind.name() == name);
            found.ok_or_else(|| format!("unknown kind '{name}': it is one of {}", names()))
        };
        let time = |text: String| {
            parse_time(&text).ok_or_else(|| format!("'{text}' is not a time in UTC, such as 2026-12-31"))
        };
        Ok(Self {
            kind: kind.map(kind_of).transpose()?,
            host: host
                .map(|text| network(&text).ok_or(format!("'{text}' is not an address or network")))
                .transpose()?,
            server: server.map(|text| Server::new(&text)),
            fingerprint,
            until: until.map(time).transpose()?,
        })
    }

    fn fits(
        &self,
        kind: AlertKind,
        observation: &Observation,
        ts: Timestamp,
        (client, server): (SocketAddr, SocketAddr),
        subject: Side,
    ) -> bool {
        let host = subject.choose(client, server).ip();
        self.kind.is_none_or(|known| known == kind)
            && self.until.is_none_or(|until| ts.as_nanos() < until.as_nanos())
            && self.host.is_none_or(|net| net.contains(&host) || net.contains(&client.ip()))
            && self.fingerprint.as_deref().is_none_or(|known| value_of(observation) == Some(known))
            && self.server.as_ref().is_none_or(|known| known.is_of(server, name_of(observation)))
    }
}

impl Server {
    fn new(text: &str) -> Self {
        if let Some(net) = network(text) {
            return Self::Network(net);
        }
        if let Ok(address) = text.parse() {
            return Self::Address(address);
        }
        match text.strip_prefix('*') {
            Some(rest) => Self::Below(rest.to_ascii_lowercase()),
            None => Self::Name(text.to_ascii_lowercase()),
        }
    }

    fn is_of(&self, server: SocketAddr, name: Option<&[u8]>) -> bool {
        let name = || name.unwrap_or_default().to_ascii_lowercase();
        match self {
            Self::Network(net) => net.contains(&server.ip()),
            Self::Address(address) => *address == server,
            Self::Name(known) => name() == known.as_bytes(),
            Self::Below(end) => name().ends_with(end.as_bytes()),
        }
    }
}

/// An address as a network, or a network.
fn network(text: &str) -> Option<IpNet> {
    text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// The name of the server that an alert is about.
fn name_of(observation: &Observation) -> Option<&[u8]> {
    match observation {
        Observation::Match(found) => found.server_name.as_deref().or(found.host.as_deref()),
        Observation::Finding(finding) => match &finding.kind {
            FindingKind::Beacon(beacon) => match &beacon.target {
                BeaconTarget::Name(name) => Some(name),
                BeaconTarget::Address(_) => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The fingerprint or value that an alert is about.
fn value_of(observation: &Observation) -> Option<&str> {
    match observation {
        Observation::Match(found) => Some(&found.value),
        Observation::Finding(finding) => match &finding.kind {
            FindingKind::NewFingerprint(found) => Some(&found.value),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Finding, ImitationFinding};

    fn alert() -> Observation {
        let kind = ImitationFinding { claim: "User-Agent says Firefox".to_owned(), contradicts: Vec::new() };
        Observation::Finding(Box::new(Finding::new(FindingKind::Imitation(kind), vec![1])))
    }

    fn silences(text: &str, at: u64) -> bool {
        let ends = (([10, 0, 0, 5], 40_000).into(), ([198, 51, 100, 7], 443).into());
        let known = KnownAlerts::parse(text.as_bytes()).unwrap();
        let is_known = known.silences(&alert(), Timestamp::new(at, 0, 6), ends, Side::Client);
        assert_eq!(known.silenced(), u64::from(is_known));
        is_known
    }

    #[test]
    fn all_fields_of_an_entry_must_fit() {
        for (fields, expected) in [
            (r#""kind":"imitation""#, true),
            (r#""kind":"scan""#, false),
            (r#""host":"10.0.0.0/24""#, true),
            (r#""host":"10.0.0.5","kind":"imitation""#, true),
            (r#""host":"10.0.0.6""#, false),
            (r#""host":"10.0.0.5","kind":"scan""#, false),
            (r#""server":"198.51.100.0/24""#, true),
            (r#""server":"198.51.100.7:443""#, true),
            (r#""server":"198.51.100.7:80""#, false),
            (r#""server":"example.org""#, false),
            (r#""fingerprint":"x""#, false),
            (r#""host":"10.0.0.5","until":"2000-01-02""#, true),
            (r#""host":"10.0.0.5","until":"2000-01-01""#, false),
        ] {
            // 2000-01-01 12:00:00.
            let found = silences(&format!(r#"{{{fields},"reason":"test"}}"#), 946_728_000);
            assert_eq!(found, expected, "{fields}");
        }
    }

    #[test]
    fn names_of_servers_may_stand_for_those_below() {
        for (known, name, expected) in [
            ("*.example.org", "a.EXAMPLE.org", true),
            ("*.example.org", "example.org", false),
            ("example.org", "example.org", true),
            ("example.org", "a.example.org", false),
        ] {
            let is_of = Server::new(known).is_of(([192, 0, 2, 1], 1).into(), Some(name.as_bytes()));
            assert_eq!(is_of, expected, "{known} {name}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, error) in [
            ("{\"kind\":\"scan\",\"reason\":\"x\"}\n{\"kind\":\"scan\"}", "line 2: missing field `reason`"),
            (r#"{"reason":"x"}"#, "line 1: one of kind, host, server and fingerprint is needed"),
            (r#"{"kind":"scam","reason":"x"}"#, "line 1: unknown kind 'scam': it is one of match,"),
            (r#"{"host":"x","reason":"x"}"#, "line 1: 'x' is not an address or network"),
            (r#"{"kind":"scan","reason":" "}"#, "line 1: the reason is empty"),
            (r#"{"kind":"scan","reason":"x","until":"soon"}"#, "line 1: 'soon' is not a time"),
        ] {
            let found = KnownAlerts::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
