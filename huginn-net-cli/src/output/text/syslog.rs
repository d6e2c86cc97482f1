//! Messages of syslog (RFC 5424).

use std::io::Write;

use huginn_net::alert::Alert;
use huginn_net::record::EventKind;
use huginn_net::{Event, Timestamp};

use crate::stderr::Severity;

/// local0, which its severity follows.
const FACILITY: u8 = 16 * 8;

/// Longest name of a host, in bytes.
const MAX_HOSTNAME: usize = 255;

/// How messages are framed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Syslog {
    hostname: String,
    /// Whether each message has its length before it (RFC 6587, octet counting), as TCP needs it.
    has_length: bool,
}

impl Syslog {
    /// Messages of this machine.
    pub(crate) fn new(has_length: bool) -> Self {
        // Not a file of /proc: a service may see processes only there.
        let system = nix::sys::utsname::uname();
        let name = system.ok().and_then(|system| system.nodename().to_str().map(str::to_owned));
        Self { hostname: hostname(&name.unwrap_or_default()), has_length }
    }

    /// Appends the message of an event. `text`: the event, with its line ending.
    pub(super) fn write(&self, event: &Event, text: &[u8], out: &mut Vec<u8>) {
        let severity = Alert::of(event).map_or(Severity::Info, |alert| alert.severity().into());
        let priority = FACILITY | severity as u8;
        // Microseconds at most.
        let time = Timestamp::new(event.ts.as_secs(), event.ts.subsec_nanos(), 6);
        let (hostname, process, kind) =
            (&self.hostname, std::process::id(), EventKind::of(&event.kind).name());
        let header = format!("<{priority}>1 {time} {hostname} huginn-net {process} {kind} - ");
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        if self.has_length {
            // Writing to memory does not fail.
            let _ = write!(out, "{} ", header.len().saturating_add(text.len()));
        }
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(text);
        if !self.has_length {
            out.push(b'\n');
        }
    }
}

/// A name as the header has it: printable ASCII, or `-` if there is none.
fn hostname(name: &str) -> String {
    let name: String = name.chars().filter(char::is_ascii_graphic).take(MAX_HOSTNAME).collect();
    if name.is_empty() { "-".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use huginn_net::alert;
    use huginn_net::hosts::FindingSettings;
    use huginn_net::{CaptureReader, Configure, HuginnNet};

    use super::*;

    #[test]
    fn messages_have_header_and_length() {
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
        let mut events = Vec::new();
        let source = CaptureReader::open(capture).unwrap();
        HuginnNet::builder().build().analyze(source, &mut |event: Event| events.push(event)).unwrap();
        let event = events.iter().find(|event| EventKind::of(&event.kind).name() == "tls_client").unwrap();
        let mut syslog = Syslog { hostname: "sensor".to_owned(), has_length: false };
        let mut out = Vec::new();
        syslog.write(event, b"{\"a\":1}\n", &mut out);
        let text = String::from_utf8(out).unwrap();
        let process = std::process::id();
        let (header, rest) = text.split_once(" sensor ").unwrap();
        assert_eq!(rest, format!("huginn-net {process} tls_client - {{\"a\":1}}\n"));
        let time = header.strip_prefix("<134>1 ").unwrap();
        assert!(time.len() == "2026-01-01T00:00:00.000000Z".len() && time.ends_with('Z'), "{time}");

        syslog.has_length = true;
        let mut out = Vec::new();
        syslog.write(event, b"{\"a\":1}\n", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("{} {}", text.len() - 1, text.trim_end()));
    }

    #[test]
    fn priority_is_that_of_the_alert() {
        let mut priorities = std::collections::BTreeMap::new();
        let mut add = |event: Event| {
            let mut out = Vec::new();
            Syslog { hostname: "sensor".to_owned(), has_length: false }.write(&event, b"", &mut out);
            let text = String::from_utf8(out).unwrap();
            let priority = text.split(['<', '>']).nth(1).unwrap().to_owned();
            priorities.insert(Alert::of(&event).map(|alert| alert.severity()), priority);
        };
        for capture in ["tcp/nmap-scan/nmap-scan.pcap", "http/http-imitation/http-imitation.pcap"] {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/").to_owned() + capture;
            let mut analyzer = HuginnNet::builder().findings(Some(FindingSettings::default())).build();
            analyzer.analyze(CaptureReader::open(path).unwrap(), &mut add).unwrap();
        }
        let alerts =
            [(alert::Severity::Low, "133"), (alert::Severity::Medium, "132"), (alert::Severity::High, "130")];
        let expected = alerts.map(|(severity, priority)| (Some(severity), priority));
        let expected: Vec<_> = [(None, "134")].into_iter().chain(expected).collect();
        let found: Vec<_> = priorities.iter().map(|(severity, found)| (*severity, found.as_str())).collect();
        assert!(found.len() > 2 && found.iter().all(|found| expected.contains(found)), "{found:?}");
        assert_eq!(Severity::from(alert::Severity::High) as u8, 2);
    }

    #[test]
    fn messages_have_the_name_of_this_machine() {
        assert_ne!(Syslog::new(true).hostname, "-");
    }

    #[test]
    fn hostname_is_printable() {
        for (name, wanted) in [("sensor-1\n", "sensor-1"), ("", "-"), ("\n", "-"), ("a b\u{e4}", "ab")] {
            assert_eq!(hostname(name), wanted);
        }
    }
}
