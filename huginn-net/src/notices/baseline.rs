//! Fingerprints of a learning period, and those that appear after it.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io;
use std::sync::Arc;

use huginn_net_core::{Event, Timestamp};
use huginn_net_tcp::{Handshake, TcpSignature};
use huginn_net_tls::Ja4;
use serde::{Deserialize, Serialize};

use super::{TrafficNotice, TrafficNoticeKind};
use crate::Finding;
use crate::limits::{MAX_BASELINE_VALUE_BYTES, MAX_BASELINE_VALUES};

/// The version of the file format.
const VERSION: u32 = 1;

/// A kind of fingerprint that a [`Baseline`] lists. The serialized names are those of `--top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FingerprintKind {
    /// The signature of a SYN, as p0f's `raw_sig` without distance: its TTL is the initial one.
    TcpSyn,
    /// JA4 of a ClientHello over TCP, QUIC or DTLS.
    Ja4,
    /// The Akamai fingerprint of an HTTP/2 client; its MD5 if the text has more than 512 bytes.
    Akamai,
    /// HASSH of an SSH client.
    Hassh,
    /// HASSHServer of an SSH server.
    HasshServer,
}

/// The values of the field `type` of findings.
pub(crate) const FINDING_TYPES: [&str; 5] = ["tcp_syn", "ja4", "akamai", "hassh", "hassh_server"];

impl FingerprintKind {
    const ALL: [Self; 5] = [Self::TcpSyn, Self::Ja4, Self::Akamai, Self::Hassh, Self::HasshServer];

    /// The name in files and events: `tcp_syn`, `ja4`, `akamai`, `hassh` or `hassh_server`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpSyn => "tcp_syn",
            Self::Ja4 => "ja4",
            Self::Akamai => "akamai",
            Self::Hassh => "hassh",
            Self::HasshServer => "hassh_server",
        }
    }

    /// The name in sentences.
    const fn title(self) -> &'static str {
        match self {
            Self::TcpSyn => "SYN signature",
            Self::Ja4 => "JA4",
            Self::Akamai => "HTTP/2 fingerprint",
            Self::Hassh => "HASSH",
            Self::HasshServer => "HASSHServer",
        }
    }

    /// Whether a text can be a value of this kind. SYN signatures and Akamai fingerprints only have to be short and printable.
    fn admits(self, value: &str) -> bool {
        let is_printable = value.bytes().all(|byte| byte.is_ascii_graphic());
        if value.is_empty() || value.len() > MAX_BASELINE_VALUE_BYTES || !is_printable {
            return false;
        }
        match self {
            Self::TcpSyn | Self::Akamai => true,
            Self::Ja4 => value.parse::<Ja4>().is_ok_and(|ja4| ja4.to_string() == value),
            Self::Hassh | Self::HasshServer => {
                value.len() == 32 && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            }
        }
    }
}

/// A fingerprint that a baseline may list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fingerprint {
    #[serde(rename = "type")]
    pub(crate) kind: FingerprintKind,
    pub(crate) value: Box<str>,
}

impl Fingerprint {
    /// The fingerprint of a finding, if it has one that baselines list.
    pub(crate) fn of(finding: &Finding) -> Option<Self> {
        let (kind, value) = match finding {
            Finding::Tcp(found) if found.signature.handshake == Handshake::Syn => {
                (FingerprintKind::TcpSyn, at_sender(&found.signature).to_string())
            }
            Finding::TlsClient(found) => (FingerprintKind::Ja4, found.client.hello.ja4().to_string()),
            Finding::HttpRequest(found) => {
                let akamai = found.akamai.as_ref()?;
                let text = akamai.to_string();
                let is_long = text.len() > MAX_BASELINE_VALUE_BYTES;
                (FingerprintKind::Akamai, if is_long { akamai.hash().to_string() } else { text })
            }
            Finding::SshClient(found) => (FingerprintKind::Hassh, found.peer.hassh()?.to_string()),
            Finding::SshServer(found) => (FingerprintKind::HasshServer, found.peer.hassh()?.to_string()),
            _ => return None,
        };
        Some(Self { kind, value: value.into_boxed_str() })
    }
}

/// The signature with the TTL that the sender most likely used: the way to the sender is not part of a fingerprint.
fn at_sender(signature: &TcpSignature) -> TcpSignature {
    let mut signature = *signature;
    signature.ttl = signature.ttl.saturating_add(signature.distance());
    signature
}

/// The fingerprints of a network in a period, whichever hosts sent them.
///
/// It is a file of JSON Lines: a header with version and period, then a fingerprint a line. An analysis with a baseline that was
/// [parsed](Self::parse) reports each other fingerprint once; with a [new](Self::new) one it learns without a report. Both
/// add what they see: [`Hosts::baseline`](crate::hosts::Hosts::baseline) returns the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The name of the file that it was parsed from.
    name: Option<Arc<str>>,
    values: [BTreeSet<Box<str>>; FingerprintKind::ALL.len()],
    /// Times of the first and the last packet with a fingerprint.
    period: Option<(Timestamp, Timestamp)>,
    left_out: u64,
}

/// The reason why a text is not a baseline.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct BaselineError {
    line: usize,
    reason: Reason,
}

impl BaselineError {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("not the header of a baseline")]
    Header,
    #[error("version {0} of the format; this program reads version {VERSION}")]
    Version(u32),
    #[error("'first' and 'last' are not a period")]
    Period,
    #[error("not a fingerprint of a baseline")]
    Line,
    #[error("not a value of the type '{}'", .0.name())]
    Value(FingerprintKind),
    #[error("more than {MAX_BASELINE_VALUES} fingerprints")]
    TooMany,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    huginn_net_baseline: u32,
    first: Option<String>,
    last: Option<String>,
}

impl Header {
    fn period(self) -> Result<Option<(Timestamp, Timestamp)>, Reason> {
        let (first, last) = match (self.first, self.last) {
            (None, None) => return Ok(None),
            (Some(first), Some(last)) => (first, last),
            _ => return Err(Reason::Period),
        };
        let time = |text: &str| text.parse::<Timestamp>().map_err(|_| Reason::Period);
        let (first, last) = (time(&first)?, time(&last)?);
        if first.as_nanos() > last.as_nanos() {
            return Err(Reason::Period);
        }
        Ok(Some((first, last)))
    }
}

impl Baseline {
    /// A baseline without a fingerprint.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the text of a file; `name` is for events. Order and repetition of fingerprints do not matter, and empty lines are
    /// skipped.
    ///
    /// # Errors
    /// [`BaselineError`] for another header, an invalid line, and more than 65,536 fingerprints.
    pub fn parse(name: &str, text: &[u8]) -> Result<Self, BaselineError> {
        let mut baseline = Self { name: Some(name.into()), ..Self::default() };
        let mut has_header = false;
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let failed = |reason| BaselineError { line, reason };
            if !has_header {
                baseline.period = parse_header(text).map_err(failed)?;
                has_header = true;
            } else if !text.trim_ascii().is_empty() {
                baseline.parse_line(text).map_err(failed)?;
            }
        }
        Ok(baseline)
    }

    fn parse_line(&mut self, text: &[u8]) -> Result<(), Reason> {
        let found: Fingerprint = serde_json::from_slice(text).map_err(|_| Reason::Line)?;
        if !found.kind.admits(&found.value) {
            return Err(Reason::Value(found.kind));
        }
        match self.insert(found.kind, &found.value) {
            Inserted::Full => Err(Reason::TooMany),
            Inserted::New | Inserted::Known => Ok(()),
        }
    }

    /// Writes the file: sorted by type and value, so that equal baselines are equal files.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        let header = Header {
            huginn_net_baseline: VERSION,
            first: self.first().map(|first| first.to_string()),
            last: self.period.map(|(_, last)| last.to_string()),
        };
        serde_json::to_writer(&mut *out, &header)?;
        out.write_all(b"\n")?;
        for (kind, values) in FingerprintKind::ALL.into_iter().zip(&self.values) {
            for value in values {
                serde_json::to_writer(&mut *out, &Fingerprint { kind, value: value.clone() })?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Number of fingerprints.
    pub fn len(&self) -> usize {
        self.values.iter().fold(0, |sum, values| sum.saturating_add(values.len()))
    }

    /// Whether there is no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(BTreeSet::is_empty)
    }

    /// Time of the first packet with a fingerprint.
    pub fn first(&self) -> Option<Timestamp> {
        self.period.map(|(first, _)| first)
    }

    /// Number of events whose fingerprint was neither compared nor added: there are 65,536 others.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn insert(&mut self, kind: FingerprintKind, value: &str) -> Inserted {
        let is_full = self.len() >= MAX_BASELINE_VALUES;
        // The kinds are the indices of this array.
        let Some(values) = self.values.get_mut(kind as usize) else { return Inserted::Full };
        if values.contains(value) {
            Inserted::Known
        } else if is_full {
            Inserted::Full
        } else {
            values.insert(value.into());
            Inserted::New
        }
    }

    fn add_time(&mut self, ts: Timestamp) {
        let (first, last) = self.period.get_or_insert((ts, ts));
        if ts.as_nanos() < first.as_nanos() {
            *first = ts;
        }
        if ts.as_nanos() > last.as_nanos() {
            *last = ts;
        }
    }
}

fn parse_header(text: &[u8]) -> Result<Option<(Timestamp, Timestamp)>, Reason> {
    let header: Header = serde_json::from_slice(text).map_err(|_| Reason::Header)?;
    if header.huginn_net_baseline != VERSION {
        return Err(Reason::Version(header.huginn_net_baseline));
    }
    header.period()
}

/// What became of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inserted {
    New,
    Known,
    Full,
}

/// A fingerprint that a baseline lacks, at its first event.
///
/// [`Display`] is a sentence: `JA4 t13d1516h2_8daaf6152771_02713d6af862 is not in base.jsonl: 12 fingerprints since
/// 2024-01-01T00:00:00.000000Z`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewFingerprintNotice {
    /// The kind of the fingerprint.
    pub kind: FingerprintKind,
    /// The fingerprint.
    pub value: Box<str>,
    /// Number of fingerprints of the baseline.
    pub known: u64,
    /// Time of the first packet of the baseline; `None` if it is empty.
    pub since: Option<Timestamp>,
    /// Name of the file of the baseline.
    pub baseline: Arc<str>,
}

impl Display for NewFingerprintNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, value, known, since, baseline } = self;
        let plural = if *known == 1 { "fingerprint" } else { "fingerprints" };
        write!(f, "{} {value} is not in {baseline}: {known} {plural}", kind.title())?;
        since.iter().try_for_each(|since| write!(f, " since {since}"))
    }
}

/// A baseline, and what an analysis adds to it.
#[derive(Debug)]
pub(crate) struct Learner {
    baseline: Baseline,
    /// Number of fingerprints, and first time, before the analysis.
    known: u64,
    since: Option<Timestamp>,
    reported: u64,
    /// The fingerprints that the baseline lacked before the analysis.
    learned: Baseline,
}

impl Learner {
    pub(crate) fn new(baseline: Baseline) -> Self {
        let learned = Baseline::default();
        Self { known: baseline.len() as u64, since: baseline.first(), baseline, reported: 0, learned }
    }

    /// The fingerprints that the baseline lacked before the analysis.
    pub(crate) fn learned(&self) -> &Baseline {
        &self.learned
    }

    /// Adds what an earlier analysis learned, without a report.
    pub(crate) fn restore(&mut self, learned: &Baseline) {
        for (kind, values) in FingerprintKind::ALL.into_iter().zip(&learned.values) {
            for value in values {
                if let Inserted::New = self.baseline.insert(kind, value) {
                    self.learned.insert(kind, value);
                }
            }
        }
        for ts in learned.period.into_iter().flat_map(<[Timestamp; 2]>::from) {
            self.baseline.add_time(ts);
            self.learned.add_time(ts);
        }
    }

    pub(crate) fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Number of fingerprints reported.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// Adds the fingerprint of an event. Returns a finding if the baseline was parsed and lacked it.
    pub(crate) fn on_fingerprint<K>(
        &mut self,
        event: &Event<K>,
        found: &Fingerprint,
    ) -> Option<Event<Finding>> {
        self.baseline.add_time(event.ts);
        self.learned.add_time(event.ts);
        match self.baseline.insert(found.kind, &found.value) {
            Inserted::New => _ = self.learned.insert(found.kind, &found.value),
            Inserted::Known => return None,
            Inserted::Full => {
                self.baseline.left_out = self.baseline.left_out.saturating_add(1);
                return None;
            }
        }
        let notice = NewFingerprintNotice {
            kind: found.kind,
            value: found.value.clone(),
            known: self.known,
            since: self.since,
            baseline: self.baseline.name.clone()?,
        };
        self.reported = self.reported.saturating_add(1);
        let kind = TrafficNoticeKind::NewFingerprint(notice);
        let notice = TrafficNotice::new(kind, vec![event.packet_number]);
        let Event { ts, packet_number, flow, subject, .. } = event;
        let finding = Finding::Notice(Box::new(notice));
        Some(Event::new(*ts, *packet_number, flow.clone(), *subject, finding))
    }
}
