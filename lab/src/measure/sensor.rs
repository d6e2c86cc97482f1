//! The sensors that are measured.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use super::events::{Format, Kind, TSHARK_FIELDS};
use super::network::Network;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Sensor {
    /// No sensor: the load that the machine carries without one
    None,
    /// This project's `huginn-net live`
    HuginnNet,
    /// tcpdump -w: the cost of capturing
    Tcpdump,
    /// p0f 3
    P0f,
    /// tshark, with the fields that say the same
    Tshark,
    /// The live analyzer of huginn-net 2.2.1, built from benches/peers
    #[value(name = "huginn-net-2.2.1")]
    Published,
}

/// Programs that are not found by their names.
pub(super) struct Programs {
    pub(super) huginn_net: PathBuf,
    pub(super) published: PathBuf,
    /// File that tcpdump writes.
    pub(super) capture: PathBuf,
    /// Further arguments of `huginn-net live`.
    pub(super) options: Vec<String>,
}

impl Sensor {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HuginnNet => "huginn-net",
            Self::Tcpdump => "tcpdump -w",
            Self::P0f => "p0f",
            Self::Tshark => "tshark",
            Self::Published => "huginn-net 2.2.1",
        }
    }

    pub(super) fn format(self) -> Format {
        match self {
            Self::None | Self::Tcpdump => Format::Silent,
            Self::HuginnNet | Self::Published => Format::Json,
            Self::P0f => Format::P0f,
            Self::Tshark => Format::Tshark,
        }
    }

    /// Whether the sensor reports every request of a connection, or only the first.
    pub(super) fn reports_every_request(self) -> bool {
        matches!(self, Self::HuginnNet | Self::Tshark)
    }

    /// Facts that the sensor reports; p0f parses no TLS.
    pub(super) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::None | Self::Tcpdump => &[],
            Self::P0f => &[Kind::Syn, Kind::Request],
            Self::HuginnNet | Self::Tshark | Self::Published => &[Kind::Syn, Kind::Request, Kind::Hello],
        }
    }

    /// Returns the command; `log` is the file that p0f writes, the others print.
    pub(super) fn command(self, network: &Network, programs: &Programs, log: &Path) -> Option<Command> {
        let interface = network.interface();
        let command = match self {
            Self::None => return None,
            Self::HuginnNet => {
                let mut command = network.in_server(&programs.huginn_net.to_string_lossy());
                command
                    .args(["live", "-i", interface, "--format", "json", "--stats", "-q"])
                    .args(&programs.options);
                command
            }
            Self::Tcpdump => {
                let mut command = network.in_server("tcpdump");
                command.args(["-n", "-i", interface, "-w"]).arg(&programs.capture);
                command
            }
            Self::P0f => {
                let mut command = network.in_server("p0f");
                command.args(["-i", interface, "-p", "-o"]).arg(log);
                command
            }
            Self::Tshark => {
                let mut command = network.in_server("tshark");
                command.args([
                    "-l",
                    "-n",
                    "-i",
                    interface,
                    "-d",
                    "tcp.port==8443,tls",
                    "-d",
                    "udp.port==8443,quic",
                ]);
                command.args([
                    "-Y",
                    "(tcp.flags.syn == 1 && tcp.flags.ack == 0) || http.request || tls.handshake.type == 1",
                ]);
                command.args(["-T", "fields"]);
                for field in TSHARK_FIELDS {
                    command.args(["-e", field]);
                }
                command
            }
            Self::Published => {
                let mut command = network.in_server(&programs.published.to_string_lossy());
                command.arg(interface);
                command
            }
        };
        Some(command)
    }

    /// Whether the sensor can run here: its name is in `PATH` or its file exists.
    pub(super) fn is_installed(self, programs: &Programs) -> bool {
        let in_path = |name: &str| {
            std::env::var_os("PATH")
                .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).exists()))
        };
        match self {
            Self::None => true,
            Self::HuginnNet => programs.huginn_net.exists(),
            Self::Published => programs.published.exists(),
            Self::Tcpdump => in_path("tcpdump"),
            Self::P0f => in_path("p0f"),
            Self::Tshark => in_path("tshark"),
        }
    }

    /// Finds the packets that the sensor says were dropped, in what it writes to standard error: huginn-net as counters
    /// in one JSON object, tcpdump and tshark in sentences. `None` if it says nothing.
    pub(super) fn drops(self, errors: &str) -> Option<Vec<(String, u64)>> {
        match self {
            Self::HuginnNet => {
                let line = errors.lines().rev().find(|line| line.starts_with('{'))?;
                let mut found = Vec::new();
                collect_drops("", &serde_json::from_str(line).ok()?, &mut found);
                Some(found)
            }
            Self::Tcpdump | Self::Tshark => {
                // "17 packets dropped by kernel", "17 packets dropped from lab0"
                let count = errors.lines().find_map(|line| {
                    let (count, rest) = line.trim().split_once(' ')?;
                    rest.contains("dropped").then(|| count.parse::<u64>().ok())?
                });
                // tshark says nothing where nothing was dropped.
                let count = if self == Self::Tshark { Some(count.unwrap_or(0)) } else { count };
                count.map(|count| vec![("kernel".to_owned(), count)])
            }
            Self::None | Self::P0f | Self::Published => None,
        }
    }
}

/// Collects the counters whose names say that packets or events were dropped.
fn collect_drops(path: &str, value: &serde_json::Value, found: &mut Vec<(String, u64)>) {
    if let serde_json::Value::Object(fields) = value {
        for (name, value) in fields {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match value.as_u64() {
                Some(count) if name.contains("dropped") => found.push((path, count)),
                _ => collect_drops(&path, value, found),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_in_counters_and_sentences() {
        let json = "warning\n{\"frames\":5,\"capture\":{\"kernel_dropped\":2,\"received\":9},\"events_dropped\":0}\n";
        let expected = vec![("capture.kernel_dropped".to_owned(), 2), ("events_dropped".to_owned(), 0)];
        assert_eq!(Sensor::HuginnNet.drops(json), Some(expected));
        let tcpdump = "10 packets captured\n12 packets received by filter\n2 packets dropped by kernel\n";
        assert_eq!(Sensor::Tcpdump.drops(tcpdump), Some(vec![("kernel".to_owned(), 2)]));
        assert_eq!(Sensor::Tshark.drops("10 packets captured\n"), Some(vec![("kernel".to_owned(), 0)]));
        assert_eq!(Sensor::Tcpdump.drops("killed"), None);
    }
}
