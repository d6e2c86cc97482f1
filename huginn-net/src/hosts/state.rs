//! Files with which a host table survives a restart, as those of `live --state`: JSON Lines of a header, a line for each host with the oldest update first, one for each alert that had a line on
//! standard error in the last hour, a baseline if there is one, and an end with a hash, without which a file is damaged.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use huginn_net_core::{Escaped, HexDigits, Timestamp};
use huginn_net_db::Database;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Baseline, HostRecordError, Hosts, ObservationPoint, SavedHost};

/// Maximum size of the file of a baseline, in bytes. A full one, whose values are all as long as possible, has 155 MiB.
pub const MAX_BASELINE_BYTES: u64 = 192 << 20;

/// Maximum number of alerts in a state.
pub const MAX_SAVED_ALERTS: usize = 1 << 15;

/// Maximum size of a state, in bytes: several times that of a full table.
const MAX_HOST_STATE_BYTES: u64 = 1 << 30;

/// Maximum length of a line, in bytes: that of a host with eight tools, each with 32,768 ranges of ports and 1,024 targets,
/// has 4 MiB.
const MAX_STATE_LINE_BYTES: u64 = 16 << 20;

/// Maximum size of the hosts of a state, in bytes: the rest is for the baseline, the header and the end.
const MAX_SAVED_HOSTS_BYTES: u64 = MAX_HOST_STATE_BYTES - 2 * MAX_BASELINE_BYTES;

/// Maximum number of characters of the name of a sensor or site that is read.
const MAX_NAME_CHARS: usize = 256;

/// The version of the format. A change of the stored hosts changes it, too.
const VERSION: u32 = 3;

/// Why a state cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// It is another file.
    #[error("{0}")]
    NotAState(&'static str),
    /// It is of another site.
    #[error("of the site '{there}', and this sensor is at '{here}'")]
    OtherSite {
        /// The site of the state.
        there: String,
        /// The site of the sensor.
        here: String,
    },
    /// It has another version of the format.
    #[error("version {0} of the format; this program reads version {VERSION}")]
    Version(u32),
    /// It is not as it was written.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// A line is invalid.
    #[error("damaged: line {0} is invalid")]
    Line(u64),
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
}

impl StateError {
    /// Whether nothing of the file was used.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::NotAState(_) | Self::OtherSite { .. } | Self::Version(_))
    }
}

/// What a state held, with alerts of the type `A`.
#[derive(Debug)]
pub struct StateContent<A> {
    /// Number of hosts that were restored.
    pub hosts: u64,
    /// Number of values of the baseline that were learned.
    pub fingerprints: u64,
    /// When it was written.
    pub written: String,
    /// The sensor that wrote it.
    pub point: ObservationPoint,
    /// The alerts that had a line.
    pub alerts: Vec<A>,
    /// Number of hosts that could not be restored, and the reason of the first one.
    pub left_out: Option<(u64, HostRecordError)>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    huginn_net_state: u32,
    #[serde(default)]
    written: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sensor: Option<String>,
}

impl Header {
    /// The sensor. Its names are in each row of a table: the first characters of longer ones stand for them.
    fn point(&self) -> ObservationPoint {
        let name = |name: &Option<String>| -> Option<Arc<str>> {
            let name: String = name.as_ref()?.chars().take(MAX_NAME_CHARS).collect();
            Some(name.into())
        };
        ObservationPoint::new(name(&self.site), name(&self.sensor))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    /// Number of hosts.
    end: u64,
    sha256: String,
}

/// What the line of the end begins with.
const END_PREFIX: &[u8] = br#"{"end":"#;

/// What the line of an alert begins with.
const ALERT_PREFIX: &[u8] = br#"{"alert":"#;

/// What the first line of a baseline begins with.
const BASELINE_PREFIX: &[u8] = br#"{"huginn_net_baseline":"#;

/// What a state of `watch` begins with.
const WATCH_PREFIX: &[u8] = br#"{"huginn_net_watch":"#;

/// Writes a state.
pub struct StateWriter<W> {
    out: W,
    hash: Sha256,
    hosts: u64,
    /// Number of hosts that no longer fit into a file that can be read.
    left_out: u64,
    line: Vec<u8>,
    /// Bytes that hosts may still have.
    rest: u64,
}

impl<W: Write> StateWriter<W> {
    /// Writes the header. `now`: the time that the state names.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(out: W, point: &ObservationPoint, now: Timestamp) -> io::Result<Self> {
        let written = Timestamp::new(now.as_secs(), 0, 0).to_string();
        let (hash, rest) = (Sha256::new(), MAX_SAVED_HOSTS_BYTES);
        let mut writer = Self { out, hash, hosts: 0, left_out: 0, line: Vec::new(), rest };
        let name = |name: &Option<Arc<str>>| name.as_deref().map(str::to_owned);
        let (site, sensor) = (name(&point.site), name(&point.sensor));
        writer.write(&Header { huginn_net_state: VERSION, written, site, sensor })?;
        Ok(writer)
    }

    fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.set_line(value)?;
        self.write_line()
    }

    fn set_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        Ok(())
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.hash.update(&self.line);
        self.out.write_all(&self.line)
    }

    /// Writes a host, unless the hosts of the file are too long then: hostile texts have up to six characters a byte.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, host: &SavedHost) -> io::Result<()> {
        self.set_line(host)?;
        let len = self.line.len() as u64;
        match self.rest.checked_sub(len).filter(|_| len <= MAX_STATE_LINE_BYTES) {
            Some(rest) => {
                (self.rest, self.hosts) = (rest, self.hosts.saturating_add(1));
                self.write_line()
            }
            None => {
                self.left_out = self.left_out.saturating_add(1);
                Ok(())
            }
        }
    }

    /// Writes alerts, whose first field is `alert`. Call it after the hosts.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add_alerts<A: Serialize>(&mut self, alerts: &[A]) -> io::Result<()> {
        alerts.iter().try_for_each(|alert| self.write(alert))
    }

    /// Writes the fingerprints that the baseline of the analysis did not have at its start, and the end. Returns the number of hosts that
    /// were left out.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self, learned: Option<&Baseline>) -> io::Result<u64> {
        if let Some(learned) = learned {
            let mut lines = Vec::new();
            learned.write_to(&mut lines)?;
            self.hash.update(&lines);
            self.out.write_all(&lines)?;
        }
        let sha256 = HexDigits(&self.hash.clone().finalize()).to_string();
        let end = End { end: self.hosts, sha256 };
        self.write(&end)?;
        Ok(self.left_out)
    }
}

/// The lines of a file: each has a bounded length, and all together have.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    /// Bytes that may follow.
    rest: u64,
}

impl<R: Read> Lines<R> {
    fn new(file: R) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 16, file),
            line: Vec::new(),
            number: 0,
            rest: MAX_HOST_STATE_BYTES,
        }
    }

    /// Returns the next line with its end; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<&[u8]>, StateError> {
        self.line.clear();
        self.number = self.number.saturating_add(1);
        let mut limited = Read::take(&mut self.reader, MAX_STATE_LINE_BYTES);
        let read = limited.read_until(b'\n', &mut self.line)?;
        let Some(rest) = self.rest.checked_sub(read as u64) else {
            return Err(StateError::Damaged("it is too long"));
        };
        self.rest = rest;
        match read {
            0 => Ok(None),
            _ if self.line.ends_with(b"\n") => Ok(Some(&self.line)),
            _ => Err(StateError::Damaged("a line is cut or too long")),
        }
    }

    fn header(&mut self) -> Result<Header, StateError> {
        const FOREIGN: &str = "not a state of 'live'";
        let line = self.next().map_err(|error| match error {
            StateError::Damaged(_) => StateError::NotAState(FOREIGN),
            error => error,
        })?;
        let line = line.unwrap_or_default();
        let header = serde_json::from_slice::<Header>(line).map_err(|_| {
            StateError::NotAState(match line {
                line if line.starts_with(BASELINE_PREFIX) => "a baseline, not a state of 'live'",
                line if line.starts_with(WATCH_PREFIX) => "a state of 'watch', not of 'live'",
                _ => FOREIGN,
            })
        })?;
        if header.huginn_net_state != VERSION {
            return Err(StateError::Version(header.huginn_net_state));
        }
        Ok(header)
    }
}

/// Checks version, end and hash, and that it is of this site, if both have a name.
///
/// # Errors
/// [`StateError`] says why it cannot be restored.
pub fn verify(file: impl Read, site: Option<&str>) -> Result<(), StateError> {
    let mut lines = Lines::new(file);
    let mut hash = Sha256::new();
    if let (Some(there), Some(here)) = (lines.header()?.site.as_deref(), site)
        && there != here
    {
        let name = |name: &str| format!("{:#}", Escaped(name.as_bytes()));
        return Err(StateError::OtherSite { there: name(there), here: name(here) });
    }
    hash.update(&lines.line);
    while let Some(line) = lines.next()? {
        if !line.starts_with(END_PREFIX) {
            hash.update(line);
            continue;
        }
        let end: End = serde_json::from_slice(line).map_err(|_| StateError::Damaged("its end is invalid"))?;
        if end.sha256 != HexDigits(&hash.finalize()).to_string() {
            return Err(StateError::Damaged("its content has another hash than its end says"));
        }
        return match lines.next()? {
            None => Ok(()),
            Some(_) => Err(StateError::Damaged("it goes on after its end")),
        };
    }
    Err(StateError::Damaged("its end is missing"))
}

/// Verifies a state, then adds its hosts and fingerprints to the table, before its first update. `site`: that of the sensor. After an error
/// the table may have some of them.
///
/// # Errors
/// [`StateError`] says why it cannot be restored.
pub fn restore<A: DeserializeOwned>(
    file: impl Read + Seek,
    hosts: &mut Hosts,
    database: &Database,
    site: Option<&str>,
) -> Result<StateContent<A>, StateError> {
    let (content, learned) = read(file, site, |_, saved| hosts.restore(saved, database))?;
    if let Some(learned) = learned {
        hosts.restore_baseline(&learned);
    }
    Ok(content)
}

/// Verifies a state, then passes on its hosts, one after the other, and returns the rest. After an error some may have been passed on.
///
/// # Errors
/// [`StateError`] says why it cannot be read.
pub fn read<A: DeserializeOwned>(
    mut file: impl Read + Seek,
    site: Option<&str>,
    mut add: impl FnMut(&ObservationPoint, SavedHost) -> Result<(), HostRecordError>,
) -> Result<(StateContent<A>, Option<Baseline>), StateError> {
    verify(&mut file, site)?;
    file.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::new(file);
    let header = lines.header()?;
    let (point, written) = (header.point(), header.written);
    let mut content =
        StateContent { hosts: 0, fingerprints: 0, written, point, alerts: Vec::new(), left_out: None };
    let mut baseline: Vec<u8> = Vec::new();
    loop {
        let number = lines.number.saturating_add(1);
        let Some(line) = lines.next()?.filter(|line| !line.starts_with(END_PREFIX)) else { break };
        if !baseline.is_empty() || line.starts_with(BASELINE_PREFIX) {
            baseline.extend(line);
            if baseline.len() as u64 > MAX_BASELINE_BYTES {
                return Err(StateError::Damaged("its baseline is too long"));
            }
            continue;
        }
        if line.starts_with(ALERT_PREFIX) {
            if content.alerts.len() >= MAX_SAVED_ALERTS {
                return Err(StateError::Damaged("it has too many alerts"));
            }
            let alert = serde_json::from_slice(line).map_err(|_| StateError::Line(number))?;
            content.alerts.push(alert);
            continue;
        }
        let saved: SavedHost = serde_json::from_slice(line).map_err(|_| StateError::Line(number))?;
        match add(&content.point, saved) {
            Ok(()) => content.hosts = content.hosts.saturating_add(1),
            Err(error) => {
                let (count, first) = content.left_out.take().unwrap_or((0, error));
                content.left_out = Some((count.saturating_add(1), first));
            }
        }
    }
    if baseline.is_empty() {
        return Ok((content, None));
    }
    let learned = Baseline::parse("state", &baseline);
    let learned = learned.map_err(|_| StateError::Damaged("its baseline is invalid"))?;
    content.fingerprints = learned.len() as u64;
    Ok((content, Some(learned)))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use serde::de::IgnoredAny;

    use crate::{CaptureReader, Configure, Event, HuginnNet, Observers};

    use super::*;

    fn analyzed(baseline: Option<Baseline>) -> HuginnNet {
        let mut analyzer =
            HuginnNet::builder_with(Observers::default().profiles(true).baseline(baseline)).build();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/hosts/hosts-plain/hosts-plain.pcap");
        analyzer.analyze(CaptureReader::open(path).unwrap(), &mut |_: Event| {}).unwrap();
        analyzer
    }

    fn state(hosts: &Hosts) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer =
            StateWriter::new(&mut bytes, &ObservationPoint::default(), Timestamp::default()).unwrap();
        hosts.ids_by_age().for_each(|id| writer.add(&hosts.saved(id).unwrap()).unwrap());
        writer.finish(hosts.learned().as_ref()).unwrap();
        bytes
    }

    fn empty(baseline: Option<Baseline>) -> HuginnNet {
        HuginnNet::builder_with(Observers::default().profiles(true).baseline(baseline)).build()
    }

    fn read(bytes: &[u8], analyzer: &mut HuginnNet) -> Result<StateContent<IgnoredAny>, StateError> {
        restore(Cursor::new(bytes), analyzer.shared_state_mut(), Database::builtin(), None)
    }

    #[test]
    fn state_is_read_back_and_written_the_same() {
        let first = analyzed(Some(Baseline::new()));
        let bytes = state(first.shared_state());
        let mut second = empty(Some(Baseline::new()));
        let content = read(&bytes, &mut second).unwrap();
        let counters = second.shared_state().counters();
        assert_eq!((counters.restored, counters.seen, counters.active), (content.hosts, 0, content.hosts));
        assert!(content.hosts > 1 && content.fingerprints > 0 && content.left_out.is_none(), "{content:?}");
        let rest =
            |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (again, before) = (rest(&state(second.shared_state())), rest(&bytes));
        assert_eq!(again, before);
    }

    #[test]
    fn hosts_that_make_a_state_too_long_are_left_out() {
        let analyzer = analyzed(None);
        let hosts = analyzer.shared_state();
        let mut bytes = Vec::new();
        let mut writer =
            StateWriter::new(&mut bytes, &ObservationPoint::default(), Timestamp::default()).unwrap();
        let mut ids = hosts.ids_by_age();
        writer.add(&hosts.saved(ids.next().unwrap()).unwrap()).unwrap();
        writer.rest = 10;
        let others = ids.map(|id| writer.add(&hosts.saved(id).unwrap()).unwrap()).count();
        assert!(others > 0);
        assert_eq!(writer.finish(None).unwrap(), others as u64);
        assert_eq!(read(&bytes, &mut empty(None)).unwrap().hosts, 1);
    }

    #[test]
    fn state_of_another_site_is_not_read() {
        let analyzer = analyzed(None);
        let point = ObservationPoint::new(Some("berlin"), Some("berlin-1"));
        let mut bytes = Vec::new();
        let mut writer = StateWriter::new(&mut bytes, &point, Timestamp::default()).unwrap();
        let id = analyzer.shared_state().ids_by_age().next().unwrap();
        writer.add(&analyzer.shared_state().saved(id).unwrap()).unwrap();
        writer.finish(None).unwrap();
        for (site, wanted) in
            [(None, None), (Some("berlin"), None), (Some("paris"), Some("of the site 'berlin', and"))]
        {
            let mut table = empty(None);
            let read = restore::<IgnoredAny>(
                Cursor::new(&bytes),
                table.shared_state_mut(),
                Database::builtin(),
                site,
            );
            match (read, wanted) {
                (Ok(content), None) => assert_eq!((content.hosts, content.point), (1, point.clone())),
                (Err(error), Some(start)) => {
                    assert!(error.to_string().starts_with(start) && error.is_foreign(), "{error}");
                }
                (read, _) => panic!("{site:?}: {read:?}"),
            }
        }
    }

    #[test]
    fn damage_and_other_versions_are_named() {
        let bytes = state(analyzed(None).shared_state());
        let text = String::from_utf8(bytes.clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let without_end = lines[..lines.len() - 1].join("\n") + "\n";
        let rows: [(String, &str); 10] = [
            (String::new(), "not a state of 'live'"),
            ("{\"huginn_net_baseline\":2}\n".to_owned(), "a baseline, not a state of 'live'"),
            ("{\"huginn_net_watch\":1}\n".to_owned(), "a state of 'watch', not of 'live'"),
            ("{}\n".to_owned(), "not a state of 'live'"),
            ("x".repeat(100), "not a state of 'live'"),
            (
                text.replacen("huginn_net_state\":3", "huginn_net_state\":4", 1),
                "version 4 of the format; this program reads version 3",
            ),
            (without_end, "damaged: its end is missing"),
            (text.trim_end().to_owned(), "damaged: a line is cut or too long"),
            (
                text.replacen("\"idle_since\":", "\"idle_since\":1", 1),
                "damaged: its content has another hash than its end says",
            ),
            (text.clone() + "\n", "damaged: it goes on after its end"),
        ];
        for (text, reason) in rows {
            assert_eq!(read(text.as_bytes(), &mut empty(None)).unwrap_err().to_string(), reason);
            assert_eq!(verify(text.as_bytes(), None).unwrap_err().to_string(), reason);
        }
    }
}
