//! Zeek's log of the software of hosts.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::net::SocketAddr;

use foldhash::fast::RandomState;
use huginn_net_core::Side;

use super::columns::{LogColumns, ZeekType};
use super::row::Row;
use super::{ZeekForm, ZeekLog};
use crate::record::formats::values::{time_zeek, wire_text};
use crate::record::{Ip, describe};
use crate::{Event, Observation};

/// Maximum number of programs of hosts in the memory of what `software` has: 1 MiB.
const MAX_SOFTWARE_ROWS: usize = 1 << 16;

/// The columns, as in Zeek.
pub(super) const COLUMNS: [(&str, ZeekType); 11] = [
    ("ts", ZeekType::Time),
    ("host", ZeekType::Addr),
    ("host_p", ZeekType::Port),
    ("software_type", ZeekType::Enum),
    ("name", ZeekType::String),
    ("version.major", ZeekType::Count),
    ("version.minor", ZeekType::Count),
    ("version.minor2", ZeekType::Count),
    ("version.minor3", ZeekType::Count),
    ("version.addl", ZeekType::String),
    ("unparsed_version", ZeekType::String),
];

/// What a host runs.
struct Software {
    /// Zeek's name of the type, or ours.
    software_type: &'static str,
    side: Side,
    name: Option<String>,
    version: Version,
    /// The text with name and version.
    unparsed: String,
}

/// A version in the parts of Zeek.
#[derive(Debug, Default, PartialEq, Eq)]
struct Version {
    /// `major`, `minor`, `minor2` and `minor3`.
    numbers: Vec<u64>,
    addl: Option<String>,
}

/// The rows that were written.
#[derive(Debug, Default)]
pub(super) struct SoftwareLog {
    known: HashSet<u64, RandomState>,
}

impl SoftwareLog {
    /// Writes what an event says about the software of a host, once for each host. After 65,536 rows it forgets them.
    pub(super) fn add(&mut self, event: &Event, form: ZeekForm, write: &mut impl FnMut(ZeekLog, &[u8])) {
        let Some(hash) = self.hash_of(event) else { return };
        if self.known.len() >= MAX_SOFTWARE_ROWS {
            self.known.clear();
        }
        if !self.known.insert(hash) {
            return;
        }
        if let Some(software) = Software::of(event) {
            let host = *software.side.choose(&event.flow.client, &event.flow.server);
            let mut row = software.row(event, host);
            let mut line = Vec::new();
            row.write(LogColumns::get(ZeekLog::Software), form, &mut line);
            write(ZeekLog::Software, &line);
        }
    }

    /// The hash of what a row says: of the texts that it is made of, which most events repeat.
    fn hash_of(&self, event: &Event) -> Option<u64> {
        let (client, server) = (event.flow.client, event.flow.server);
        let hasher = self.known.hasher();
        // A client has another port in each connection.
        let of_client = |what: &dyn Fn() -> u64| Some(hasher.hash_one((client.ip(), what())));
        let of_server = |what: &dyn Fn() -> u64| Some(hasher.hash_one((server, what())));
        let limit = event.kind.text_limit();
        match &event.kind {
            Observation::HttpRequest(observation) => {
                let (user_agent, _) = limit.cut(observation.request.user_agent()?);
                of_client(&|| hasher.hash_one((0_u8, user_agent)))
            }
            Observation::HttpResponse(observation) => {
                let (header, _) = limit.cut(observation.response.server()?);
                of_server(&|| hasher.hash_one((1_u8, header)))
            }
            Observation::SshClient(observation) => {
                let (identification, _) = limit.cut(observation.peer.identification.as_bytes());
                of_client(&|| hasher.hash_one((2_u8, identification)))
            }
            Observation::SshServer(observation) => {
                let (identification, _) = limit.cut(observation.peer.identification.as_bytes());
                of_server(&|| hasher.hash_one((3_u8, identification)))
            }
            Observation::TlsClient(observation) => {
                let found = observation.software()?.software;
                of_client(&|| hasher.hash_one((4_u8, &found.application, &found.library, &found.versions)))
            }
            Observation::Tcp(observation) => {
                let label = observation.label().filter(|label| !label.is_tool())?;
                let host = event.subject.choose(client, server).ip();
                Some(hasher.hash_one((5_u8, host, &label.name, &label.flavor)))
            }
            _ => None,
        }
    }
}

impl Software {
    fn of(event: &Event) -> Option<Self> {
        let wire = |text: &[u8]| wire_text(event, text);
        let (software_type, side, unparsed) = match &event.kind {
            Observation::HttpRequest(observation) => {
                ("HTTP::BROWSER", Side::Client, wire(observation.request.user_agent()?))
            }
            Observation::HttpResponse(observation) => {
                ("HTTP::SERVER", Side::Server, wire(observation.response.server()?))
            }
            Observation::SshClient(observation) => (
                "SSH::CLIENT",
                Side::Client,
                ssh_software(&wire(observation.peer.identification.as_bytes()))?,
            ),
            Observation::SshServer(observation) => (
                "SSH::SERVER",
                Side::Server,
                ssh_software(&wire(observation.peer.identification.as_bytes()))?,
            ),
            Observation::TlsClient(observation) => {
                let found = observation.software()?.software;
                let name = found.application.as_ref().or(found.library.as_ref())?.to_string();
                return Some(Self::of_database("HUGINN::TLS_CLIENT", Side::Client, name, found.to_string()));
            }
            Observation::Tcp(observation) => {
                let system = observation.label().filter(|label| !label.is_tool())?;
                let (name, text) = (system.name.to_string(), system.to_string());
                return Some(Self::of_database("HUGINN::OPERATING_SYSTEM", event.subject, name, text));
            }
            _ => return None,
        };
        let (name, version) = parse(&unparsed);
        (!unparsed.is_empty()).then_some(Self { software_type, side, name, version, unparsed })
    }

    /// A name of a database, whose versions are ranges and remarks.
    fn of_database(software_type: &'static str, side: Side, name: String, unparsed: String) -> Self {
        Self { software_type, side, name: Some(name), version: Version::default(), unparsed }
    }

    /// Whether it is reached at the port of the host.
    fn has_port(&self) -> bool {
        self.software_type.ends_with("::SERVER")
    }

    fn row(&self, event: &Event, host: SocketAddr) -> Row {
        let mut row = Row::default();
        let mut add = |name: &str, add: &dyn Fn(&mut Vec<u8>)| {
            if let Some(column) = LogColumns::get(ZeekLog::Software).find(name) {
                row.add(column, |out| {
                    add(out);
                    true
                });
            }
        };
        add("ts", &|out| _ = time_zeek(event, out));
        add("host", &|out| describe::append(out, &Ip(host.ip())));
        if self.has_port() {
            add("host_p", &|out| describe::append(out, &host.port()));
        }
        add("software_type", &|out| describe::append(out, &self.software_type));
        if let Some(name) = &self.name {
            add("name", &|out| describe::append(out, name));
        }
        let names = ["version.major", "version.minor", "version.minor2", "version.minor3"];
        for (name, number) in names.iter().zip(&self.version.numbers) {
            add(name, &|out| describe::append(out, number));
        }
        if let Some(addl) = &self.version.addl {
            add("version.addl", &|out| describe::append(out, addl));
        }
        add("unparsed_version", &|out| describe::append(out, &self.unparsed));
        row
    }
}

/// The software version and comments of an identification string (RFC 4253, section 4.2).
fn ssh_software(identification: &str) -> Option<String> {
    let (_, software) = identification.strip_prefix("SSH-")?.split_once('-')?;
    Some(software.to_owned())
}

/// Name and version of the first product of a text: `nginx/1.18.0`, `OpenSSH_9.2p1 Debian-2`. Browsers say `Mozilla/5.0`, which is
/// no name.
fn parse(text: &str) -> (Option<String>, Version) {
    let product = text.split(' ').next().unwrap_or_default();
    let digit = |end: &str| end.starts_with(|first: char| first.is_ascii_digit());
    let starts_version = |(at, _): &(usize, &str)| product.get(at.saturating_add(1)..).is_some_and(digit);
    let slash = product.split_once('/');
    let mark = product.match_indices(['_', '-']).find(starts_version);
    let (name, version) = match (slash, mark) {
        (Some(parts), _) => parts,
        (None, Some((at, mark))) => (
            product.get(..at).unwrap_or_default(),
            product.get(at.saturating_add(mark.len())..).unwrap_or_default(),
        ),
        (None, None) => (product, ""),
    };
    if name.is_empty() || name == "Mozilla" {
        return (None, Version::default());
    }
    (Some(name.to_owned()), Version::parse(version))
}

impl Version {
    /// Up to four numbers with dots between them, and what follows.
    fn parse(text: &str) -> Self {
        let mut version = Self::default();
        let mut rest = text;
        while version.numbers.len() < 4 {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let Some((number, after)) = rest.split_at_checked(digits) else { break };
            let Ok(number) = number.parse() else { break };
            version.numbers.push(number);
            rest = after;
            match rest.strip_prefix('.') {
                Some(next) if next.starts_with(|first: char| first.is_ascii_digit()) => rest = next,
                _ => break,
            }
        }
        let addl = rest.trim_start_matches(['-', '_', '.', '+']);
        version.addl = (!addl.is_empty()).then(|| addl.to_owned());
        version
    }
}

#[cfg(test)]
mod tests {
    use super::{Version, parse, ssh_software};

    #[test]
    fn products_have_names_and_versions() {
        type Case = (&'static str, Option<&'static str>, &'static [u64], Option<&'static str>);
        let cases: [Case; 10] = [
            ("nginx/1.18.0 (Ubuntu)", Some("nginx"), &[1, 18, 0], None),
            ("nginx", Some("nginx"), &[], None),
            ("curl/7.88.1", Some("curl"), &[7, 88, 1], None),
            ("OpenSSH_9.2p1 Debian-2+deb12u3", Some("OpenSSH"), &[9, 2], Some("p1")),
            ("dropbear_2020.81", Some("dropbear"), &[2020, 81], None),
            ("Microsoft-IIS/10.0", Some("Microsoft-IIS"), &[10, 0], None),
            ("Go-http-client/1.1", Some("Go-http-client"), &[1, 1], None),
            ("Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0", None, &[], None),
            ("a/99999999999999999999999", Some("a"), &[], Some("99999999999999999999999")),
            ("/1.0", None, &[], None),
        ];
        for (text, name, numbers, addl) in cases {
            let want = Version { numbers: numbers.to_vec(), addl: addl.map(str::to_owned) };
            assert_eq!(parse(text), (name.map(str::to_owned), want), "{text}");
        }
        assert_eq!(ssh_software("SSH-2.0-OpenSSH_9.2p1 Debian-2").as_deref(), Some("OpenSSH_9.2p1 Debian-2"));
        assert_eq!(ssh_software("SSH-2.0"), None);
    }
}
