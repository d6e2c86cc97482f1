//! Values of a learning period, and those that appear after it.

mod learner;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use huginn_net_core::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::learner::Learner;
use crate::hosts::observed::BaselineValue;
use crate::hosts::{ObservationPoint, is_local};
use crate::observation::BaselineType;
use crate::observation::finding::{TYPES, client_host};

/// The version of the file format.
const VERSION: u32 = 2;

/// What a network has in a period: fingerprints, servers, issuers and clients, of [types](BaselineType) with a limit each.
///
/// It is a file of JSON Lines: a header with version and period, then a value a line. An analysis with a baseline that was
/// [parsed](Self::parse) reports values that it lacks, each once; with a [new](Self::new) one it learns without a report. Both
/// add what they see: [`Hosts::baseline`](crate::hosts::Hosts::baseline) returns the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The names of the files that it was parsed from.
    name: Option<Arc<str>>,
    /// The sensor that learned it.
    point: ObservationPoint,
    values: [BTreeSet<Arc<str>>; TYPES],
    /// Times of the first and the last packet with a value.
    period: Option<(Timestamp, Timestamp)>,
    left_out: [u64; TYPES],
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
    #[error(
        "version {0} of the format, and this program reads version {VERSION}: learn again with --write-baseline"
    )]
    Version(u32),
    #[error("'first' and 'last' are not a period")]
    Period,
    #[error("not a value of a baseline")]
    Line,
    #[error("not a value of the type '{}'", .0.name())]
    Value(BaselineType),
    #[error("more than {} values of the type '{}'", .0.limit(), .0.name())]
    TooMany(BaselineType),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    huginn_net_baseline: u32,
    first: Option<String>,
    last: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sensor: Option<Arc<str>>,
}

impl Header {
    fn period(&self) -> Result<Option<(Timestamp, Timestamp)>, Reason> {
        let (first, last) = match (&self.first, &self.last) {
            (None, None) => return Ok(None),
            (Some(first), Some(last)) => (first, last),
            _ => return Err(Reason::Period),
        };
        let time = |text: &str| text.parse::<Timestamp>().map_err(|_| Reason::Period);
        let (first, last) = (time(first)?, time(last)?);
        if first.as_nanos() > last.as_nanos() {
            return Err(Reason::Period);
        }
        Ok(Some((first, last)))
    }
}

impl Baseline {
    /// A baseline without a value.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the text of a file; `name` is for events. Order and repetition of values do not matter, and empty lines are
    /// skipped.
    ///
    /// # Errors
    /// [`BaselineError`] for another header, an invalid line, and more values of a type than its limit.
    pub fn parse(name: &str, text: &[u8]) -> Result<Self, BaselineError> {
        let mut baseline = Self { name: Some(name.into()), ..Self::default() };
        let mut has_header = false;
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let failed = |reason| BaselineError { line, reason };
            if !has_header {
                (baseline.period, baseline.point) = parse_header(text).map_err(failed)?;
                has_header = true;
            } else if !text.trim_ascii().is_empty() {
                baseline.parse_line(text).map_err(failed)?;
            }
        }
        Ok(baseline)
    }

    fn parse_line(&mut self, text: &[u8]) -> Result<(), Reason> {
        let found: BaselineValue = serde_json::from_slice(text).map_err(|_| Reason::Line)?;
        if !found.kind.admits(&found.value) {
            return Err(Reason::Value(found.kind));
        }
        match self.insert(found.kind, &found.value) {
            Inserted::Full => Err(Reason::TooMany(found.kind)),
            Inserted::New(_) | Inserted::Known => Ok(()),
        }
    }

    /// Adds the values and the period of another baseline. Values beyond the limit of their type are [left out](Self::left_out).
    ///
    /// ```
    /// use huginn_net::hosts::Baseline;
    ///
    /// let header = r#"{"huginn_net_baseline":2,"first":null,"last":null}"#;
    /// let of_tool = |name: &str| format!("{header}\n{{\"type\":\"tool\",\"value\":\"{name}\"}}\n");
    /// let mut joined = Baseline::parse("a.jsonl", of_tool("Nmap").as_bytes())?;
    /// joined.join(&Baseline::parse("b.jsonl", of_tool("ZMap").as_bytes())?);
    /// assert_eq!(joined.len(), 2);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn join(&mut self, other: &Self) {
        self.name = match (self.name.take(), &other.name) {
            (Some(name), Some(other)) => Some(format!("{name}, {other}").into()),
            (name, other) => name.or_else(|| other.clone()),
        };
        for (kind, value) in other.values() {
            if let Inserted::Full = self.insert(kind, value) {
                self.count_left_out(kind);
            }
        }
        for ts in other.period.into_iter().flat_map(<[Timestamp; 2]>::from) {
            self.add_time(ts);
        }
    }

    /// Names the sensor that learns it, in the header of its file.
    pub fn observed_at(self, point: ObservationPoint) -> Self {
        Self { point, ..self }
    }

    /// The site of the sensor that learned it, if it has a name.
    pub fn site(&self) -> Option<&str> {
        self.point.site.as_deref()
    }

    /// Removes the clients and servers with private, link-local and loopback addresses: at another site, other hosts have them.
    pub fn remove_local_hosts(&mut self) {
        for (kind, values) in BaselineType::ALL.iter().zip(&mut self.values) {
            if matches!(kind, BaselineType::Client | BaselineType::Server) {
                values.retain(|value| !host_of(*kind, value).is_some_and(is_local));
            }
        }
    }

    /// The values, sorted by type and text.
    fn values(&self) -> impl Iterator<Item = (BaselineType, &Arc<str>)> {
        let of_type = |(kind, values)| <&BTreeSet<_>>::into_iter(values).map(move |value| (kind, value));
        BaselineType::ALL.iter().copied().zip(&self.values).flat_map(of_type)
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
            site: self.point.site.clone(),
            sensor: self.point.sensor.clone(),
        };
        serde_json::to_writer(&mut *out, &header)?;
        out.write_all(b"\n")?;
        for (kind, value) in self.values() {
            serde_json::to_writer(&mut *out, &BaselineValue { kind, value: (&**value).into() })?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.iter().fold(0, |sum, values| sum.saturating_add(values.len()))
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(BTreeSet::is_empty)
    }

    /// Time of the first packet with a value.
    pub fn first(&self) -> Option<Timestamp> {
        self.period.map(|(first, _)| first)
    }

    /// Number of values that were not added, because the limit of their type was reached.
    pub fn left_out(&self) -> u64 {
        self.left_out.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Number of values of a type that were not added.
    pub fn left_out_of(&self, kind: BaselineType) -> u64 {
        self.left_out.get(kind as usize).copied().unwrap_or_default()
    }

    // The types are the indices of the arrays.
    fn count_left_out(&mut self, kind: BaselineType) {
        if let Some(count) = self.left_out.get_mut(kind as usize) {
            *count = count.saturating_add(1);
        }
    }

    fn contains(&self, kind: BaselineType, value: &str) -> bool {
        self.values.get(kind as usize).is_some_and(|values| values.contains(value))
    }

    /// Number of values of a type.
    fn len_of(&self, kind: BaselineType) -> usize {
        self.values.get(kind as usize).map_or(0, BTreeSet::len)
    }

    fn remove(&mut self, kind: BaselineType, value: &str) {
        if let Some(values) = self.values.get_mut(kind as usize) {
            values.remove(value);
        }
    }

    fn insert(&mut self, kind: BaselineType, value: &str) -> Inserted {
        let Some(values) = self.values.get_mut(kind as usize) else { return Inserted::Full };
        if values.contains(value) {
            Inserted::Known
        } else if values.len() >= kind.limit() {
            Inserted::Full
        } else {
            let value: Arc<str> = value.into();
            values.insert(Arc::clone(&value));
            Inserted::New(value)
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

fn parse_header(text: &[u8]) -> Result<(Option<(Timestamp, Timestamp)>, ObservationPoint), Reason> {
    let header: Header = serde_json::from_slice(text).map_err(|_| Reason::Header)?;
    if header.huginn_net_baseline != VERSION {
        return Err(Reason::Version(header.huginn_net_baseline));
    }
    Ok((header.period()?, ObservationPoint { site: header.site, sensor: header.sensor }))
}

/// The address of a value that is about a host, unless the host has a name.
fn host_of(kind: BaselineType, value: &str) -> Option<IpAddr> {
    match kind {
        BaselineType::Client => client_host(value),
        BaselineType::Server => value.parse::<SocketAddr>().map(|server| server.ip()).ok(),
        _ => None,
    }
}

/// What became of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inserted {
    New(Arc<str>),
    Known,
    Full,
}
