//! Messages of syslog: RFC 5424, or the local form that programs on the same machine write to `/dev/log`.

use std::borrow::Cow;
use std::io::Write;

use huginn_net::alert::Alert;
use huginn_net::record::EventKind;
use huginn_net::record::formats::{SensorRecord, SensorRecordKind};
use huginn_net::{Event, Timestamp};

use crate::stderr::Severity;

/// local0, which its severity follows.
const FACILITY: u8 = 16 * 8;

/// Longest name of a host, in bytes.
const MAX_HOSTNAME: usize = 255;

/// Forms of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyslogForm {
    /// RFC 5424 with the length before each message (RFC 6587, octet counting), as TCP needs it.
    Counted,
    /// RFC 5424.
    Datagram,
    /// `<PRI>PROGRAM[PID]: TEXT`: imuxsock of rsyslog, syslog-ng and journald read it, and take an RFC 5424 header for text.
    Local,
}

/// How messages are framed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Syslog {
    hostname: String,
    form: SyslogForm,
}

impl Syslog {
    /// Messages of this machine.
    pub(crate) fn new(form: SyslogForm) -> Self {
        // Not a file of /proc: a service may see processes only there.
        let system = rustix::system::uname();
        Self { hostname: hostname(system.nodename().to_str().unwrap_or_default()), form }
    }

    /// Appends the message of an event. `text`: the event, with its line ending.
    pub(super) fn write(&self, event: &Event, text: &[u8], out: &mut Vec<u8>) {
        let severity = Alert::of(event).map_or(Severity::Info, |alert| alert.severity().into());
        self.write_message(severity, event.ts, EventKind::of(&event.kind).name(), text, out);
    }

    /// Appends the message of a record of the sensor. `text`: the record, with its line ending.
    pub(super) fn write_record(&self, record: &SensorRecord, text: &[u8], out: &mut Vec<u8>) {
        let severity = match record.kind {
            SensorRecordKind::Statistics => Severity::Info,
            SensorRecordKind::Loss => Severity::Warning,
        };
        self.write_message(severity, record.ts, record.kind.name(), text, out);
    }

    fn write_message(&self, severity: Severity, ts: Timestamp, kind: &str, text: &[u8], out: &mut Vec<u8>) {
        let (priority, hostname, process) = (FACILITY | severity as u8, &self.hostname, std::process::id());
        // Writing to memory does not fail.
        let _ = match self.form {
            SyslogForm::Local => write!(out, "<{priority}>huginn-net[{process}]: "),
            SyslogForm::Counted | SyslogForm::Datagram => {
                // Microseconds at most.
                let time = Timestamp::new(ts.as_secs(), ts.subsec_nanos(), 6);
                write!(out, "<{priority}>1 {time} {hostname} huginn-net {process} {kind} - ")
            }
        };
        out.extend_from_slice(text);
    }

    /// A message as the collector gets it: one of TCP has its length before it, and no line ending.
    pub(crate) fn framed<'t>(&self, message: &'t [u8]) -> Cow<'t, [u8]> {
        match (self.form, message.strip_suffix(b"\n")) {
            (SyslogForm::Counted, Some(message)) => {
                let length = format!("{} ", message.len());
                Cow::Owned([length.as_bytes(), message].concat())
            }
            _ => Cow::Borrowed(message),
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
    fn messages_have_the_header_of_their_form() {
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
        let mut events = Vec::new();
        let source = CaptureReader::open(capture).unwrap();
        HuginnNet::builder().build().analyze(source, &mut |event: Event| events.push(event)).unwrap();
        let event = events.iter().find(|event| EventKind::of(&event.kind).name() == "tls_client").unwrap();
        let message = |form| {
            let syslog = Syslog { hostname: "sensor".to_owned(), form };
            let mut out = Vec::new();
            syslog.write(event, b"{\"a\":1}\n", &mut out);
            String::from_utf8(syslog.framed(&out).into_owned()).unwrap()
        };
        let text = message(SyslogForm::Datagram);
        let process = std::process::id();
        let (header, rest) = text.split_once(" sensor ").unwrap();
        assert_eq!(rest, format!("huginn-net {process} tls_client - {{\"a\":1}}\n"));
        let time = header.strip_prefix("<134>1 ").unwrap();
        assert!(time.len() == "2026-01-01T00:00:00.000000Z".len() && time.ends_with('Z'), "{time}");

        assert_eq!(message(SyslogForm::Counted), format!("{} {}", text.len() - 1, text.trim_end()));
        assert_eq!(message(SyslogForm::Local), format!("<134>huginn-net[{process}]: {{\"a\":1}}\n"));
    }

    #[test]
    fn priority_is_that_of_the_alert() {
        let mut priorities = std::collections::BTreeMap::new();
        let mut add = |event: Event| {
            let mut out = Vec::new();
            Syslog { hostname: "sensor".to_owned(), form: SyslogForm::Datagram }.write(&event, b"", &mut out);
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
        assert_ne!(Syslog::new(SyslogForm::Local).hostname, "-");
    }

    #[test]
    fn hostname_is_printable() {
        for (name, wanted) in [("sensor-1\n", "sensor-1"), ("", "-"), ("\n", "-"), ("a b\u{e4}", "ab")] {
            assert_eq!(hostname(name), wanted);
        }
    }
}
