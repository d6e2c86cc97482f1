//! Lists of connections with the program of each, as JSON Lines.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use huginn_net::Timestamp;
use huginn_net::core::TransportKind;
use serde::{Deserialize, Deserializer};

use crate::failure::Failure;
use crate::paths::name_of;
use crate::read::read_file;

/// Maximum size of a list of programs, in bytes: some hundred thousand connections.
const MAX_PROGRAM_LIST_BYTES: u64 = 64 << 20;

/// Difference of the clocks of a capture and of a list of programs that is accepted: the list comes from the same machine.
const PROGRAM_TIME_SLACK: Duration = Duration::from_secs(2);

/// Number of lines of one pair of addresses and ports from which on a list of programs says nothing of them: each event looks
/// through them.
const MAX_LISTED_PROGRAMS: usize = 64;

/// Connections of one machine, each with its program.
#[derive(Debug, Default)]
pub(crate) struct ProgramList {
    programs: HashMap<(TransportKind, SocketAddr, SocketAddr), Vec<ListedProgram>>,
}

/// The program of one connection.
#[derive(Clone, Debug)]
pub(crate) struct ListedProgram {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    /// When the connection was seen first and last, in nanoseconds since 1970; `None` if the line does not say.
    seen: Option<(i128, i128)>,
}

/// A line, with the names of [rustnet](https://github.com/domcyrus/rustnet/blob/main/USAGE.md): `--pcap-export` writes
/// `local_addr` and `remote_addr`, `--json-log` the addresses and ports of a source, which is local, and a destination.
#[derive(Deserialize)]
struct Line {
    protocol: String,
    local_addr: Option<SocketAddr>,
    remote_addr: Option<SocketAddr>,
    source_ip: Option<IpAddr>,
    source_port: Option<u16>,
    destination_ip: Option<IpAddr>,
    destination_port: Option<u16>,
    #[serde(alias = "program")]
    process_name: Option<String>,
    version: Option<String>,
    #[serde(default, deserialize_with = "time")]
    first_seen: Option<jiff::Timestamp>,
    #[serde(default, deserialize_with = "time")]
    last_seen: Option<jiff::Timestamp>,
}

/// Reads a time (RFC 3339).
fn time<'de, D: Deserializer<'de>>(value: D) -> Result<Option<jiff::Timestamp>, D::Error> {
    let text: Option<String> = Option::deserialize(value)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

impl ProgramList {
    /// Reads a list.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = read_file(path, MAX_PROGRAM_LIST_BYTES)?;
        let mut list = Self::default();
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let invalid = |source| Failure::Programs { path: name_of(path), line: number, source };
            list.add(serde_json::from_slice(line).map_err(invalid)?);
        }
        Ok(list)
    }

    /// The list that rustnet writes beside a capture: `x.pcap.connections.jsonl`. `None` without this file.
    pub(crate) fn beside(capture: &Path) -> Option<PathBuf> {
        let mut path = capture.as_os_str().to_owned();
        path.push(".connections.jsonl");
        Some(PathBuf::from(path)).filter(|path| path.is_file())
    }

    /// Adds a line. A line without a program, or of another protocol, says nothing.
    fn add(&mut self, line: Line) {
        let address = |ip: Option<IpAddr>, port: Option<u16>| Some(SocketAddr::new(ip?, port?));
        let local = line.local_addr.or_else(|| address(line.source_ip, line.source_port));
        let remote = line.remote_addr.or_else(|| address(line.destination_ip, line.destination_port));
        let transport = match line.protocol.to_ascii_lowercase().as_str() {
            "tcp" => TransportKind::Tcp,
            "udp" | "quic" => TransportKind::Udp,
            _ => return,
        };
        let name = line.process_name.filter(|name| !name.trim().is_empty());
        let (Some(local), Some(remote), Some(name)) = (local, remote, name) else { return };
        let seen = line.first_seen.zip(line.last_seen);
        let seen = seen.map(|(first, last)| (first.as_nanosecond(), last.as_nanosecond()));
        let program = ListedProgram { name, version: line.version, seen };
        let all = self.programs.entry((transport, local, remote)).or_default();
        if all.len() < MAX_LISTED_PROGRAMS {
            all.push(program);
        }
    }

    /// The program at the local end of a connection at a time. `None` if the list does not say, names several, or has more
    /// lines of these addresses than the limit.
    pub(crate) fn get(
        &self,
        transport: TransportKind,
        local: SocketAddr,
        remote: SocketAddr,
        ts: Timestamp,
    ) -> Option<&ListedProgram> {
        let all = self.programs.get(&(transport, local, remote))?;
        if all.len() >= MAX_LISTED_PROGRAMS {
            return None;
        }
        let mut found = all.iter().filter(|program| program.is_seen_at(ts));
        let first = found.next()?;
        let is_same = |other: &ListedProgram| (&other.name, &other.version) == (&first.name, &first.version);
        found.all(is_same).then_some(first)
    }
}

impl ListedProgram {
    fn is_seen_at(&self, ts: Timestamp) -> bool {
        let slack = i128::try_from(PROGRAM_TIME_SLACK.as_nanos()).unwrap_or(0);
        let ts = i128::from(ts.as_nanos());
        self.seen.is_none_or(|(first, last)| {
            (first.saturating_sub(slack)..=last.saturating_add(slack)).contains(&ts)
        })
    }
}
