//! The events that sensors print, reduced to what all of them say.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

/// A fact about a connection that a sensor can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The client's SYN.
    Syn,
    /// The first request of a cleartext connection.
    Request,
    /// The ClientHello, over TCP or QUIC.
    Hello,
}

/// One report of a sensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) client: SocketAddr,
    /// The JA4 or the User-Agent, if the sensor prints it.
    pub(super) value: Option<String>,
    /// Unix time of the packet in seconds, if the sensor prints more than whole seconds.
    pub(super) time: Option<f64>,
}

/// A format of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON Lines as `huginn-net` writes them.
    Json,
    /// The log of p0f 3.09b.
    P0f,
    /// The fields of [`TSHARK_FIELDS`], separated by tabs.
    Tshark,
    /// A format without events.
    Silent,
}

pub(super) const TSHARK_FIELDS: [&str; 7] = [
    "frame.time_epoch",
    "ip.src",
    "tcp.srcport",
    "udp.srcport",
    "tcp.flags.syn",
    "http.user_agent",
    "tls.handshake.type",
];

impl Format {
    /// Parses a line; `None` if it says none of the facts.
    pub(super) fn parse(self, line: &str) -> Option<Event> {
        match self {
            Self::Json => json(line),
            Self::P0f => p0f(line),
            Self::Tshark => tshark(line),
            Self::Silent => None,
        }
    }
}

fn json(line: &str) -> Option<Event> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    let (kind, value) = match text("/event")? {
        "tcp_syn" => (Kind::Syn, None),
        "http_request" => (Kind::Request, text("/user_agent")),
        "tls_client" => (Kind::Hello, text("/ja4")),
        _ => return None,
    };
    let port = event.pointer("/client/port").and_then(Value::as_u64)?;
    Some(Event {
        kind,
        client: SocketAddr::new(text("/client/ip")?.parse().ok()?, port.try_into().ok()?),
        value: value.map(str::to_owned),
        time: text("/ts").and_then(|time| time.parse::<jiff::Timestamp>().ok()).map(seconds),
    })
}

#[allow(clippy::cast_precision_loss, reason = "microseconds of this century need less than 53 bits")]
fn seconds(time: jiff::Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1e6
}

fn p0f(line: &str) -> Option<Event> {
    let (_, fields) = line.split_once("] ")?;
    let field = |name: &str| fields.split('|').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let kind = match field("mod")? {
        "syn" => Kind::Syn,
        "http request" => Kind::Request,
        _ => return None,
    };
    let (address, port) = field("cli")?.split_once('/')?;
    let client = SocketAddr::new(address.parse().ok()?, port.parse().ok()?);
    Some(Event { kind, client, value: None, time: None })
}

fn tshark(line: &str) -> Option<Event> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [time, address, tcp, udp, syn, agent, handshake] = fields.as_slice() else { return None };
    // A packet can hold several messages: types are then joined by commas.
    let (kind, value) = if handshake.split(',').any(|kind| kind == "1") {
        (Kind::Hello, None)
    } else if !agent.is_empty() {
        (Kind::Request, Some((*agent).to_owned()))
    } else if matches!(*syn, "1" | "True") {
        (Kind::Syn, None)
    } else {
        return None;
    };
    let address: IpAddr = address.parse().ok()?;
    let port = if tcp.is_empty() { udp } else { tcp };
    Some(Event { kind, client: SocketAddr::new(address, port.parse().ok()?), value, time: time.parse().ok() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn json_lines_have_kind_client_value_and_time() {
        let line = r#"{"ts":"2026-01-02T03:04:05.5Z","event":"tls_client","client":{"ip":"10.77.0.10","port":40000},"ja4":"t13d"}"#;
        let event = Format::Json.parse(line).unwrap();
        assert_eq!((event.kind, event.client), (Kind::Hello, "10.77.0.10:40000".parse().unwrap()));
        assert_eq!(event.value.as_deref(), Some("t13d"));
        assert_eq!(event.time, Some(1_767_323_045.5));
        assert_eq!(Format::Json.parse(r#"{"event":"uptime","client":{"ip":"10.77.0.10","port":1}}"#), None);
        assert_eq!(Format::Json.parse("no JSON"), None);
    }

    #[test]
    fn p0f_lines_have_kind_and_client() {
        let line = "[2026/01/02 03:04:05] mod=http request|cli=10.77.0.10/40000|srv=10.77.0.1/8080|subj=cli|app=???|raw_sig=1:Host";
        let event = Format::P0f.parse(line).unwrap();
        assert_eq!((event.kind, event.client), (Kind::Request, "10.77.0.10:40000".parse().unwrap()));
        assert_eq!(Format::P0f.parse(&line.replace("http request", "mtu")), None);
    }

    #[test]
    fn tshark_lines_have_one_kind_each() {
        for (line, kind) in [
            ("5.25\t10.77.0.10\t40000\t\t1\t\t", Kind::Syn),
            ("5.25\t10.77.0.10\t40000\t\t0\thuginn-lab/1\t", Kind::Request),
            ("5.25\t10.77.0.10\t\t40000\t\t\t1,1", Kind::Hello),
        ] {
            let event = Format::Tshark.parse(line).unwrap();
            assert_eq!((event.kind, event.client.port(), event.time), (kind, 40_000, Some(5.25)));
        }
        assert_eq!(Format::Tshark.parse("5.25\t10.77.0.10\t40000\t\t0\t\t2"), None);
    }
}
