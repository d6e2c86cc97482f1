//! Events as the log lines of p0f 3.09b.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use huginn_net_core::{Side, Timestamp};
use huginn_net_tcp::{Handshake, Uptime};

use crate::observation::{ChangeObservation, HttpVerdict, MtuObservation, Reasons, TcpObservation};
use crate::{Event, Observation};

/// Displays an event as p0f 3.09b logs it, character for character, with the time in UTC.
#[derive(Clone, Copy, Debug)]
pub struct P0fLine<'a> {
    event: &'a Event,
    observation: Logged<'a>,
}

/// The subset of observations that p0f knows.
#[derive(Clone, Copy, Debug)]
enum Logged<'a> {
    Tcp(&'a TcpObservation),
    Mtu(&'a MtuObservation),
    HttpRequest(&'a HttpVerdict),
    HttpResponse(&'a HttpVerdict),
    Uptime(&'a Uptime),
    Change(&'static str, Reasons, [u8; 4]),
}

impl<'a> P0fLine<'a> {
    /// The log lines of an event: none of events that p0f does not have, and two of a handshake with an MTU.
    pub fn lines_from_event(event: &'a Event) -> impl Iterator<Item = Self> {
        let link = match &event.kind {
            Observation::Tcp(observation) => observation.link.as_ref(),
            _ => None,
        };
        let lines = [Self::first(event), link.map(|link| Self { event, observation: Logged::Mtu(link) })];
        lines.into_iter().flatten()
    }

    fn first(event: &'a Event) -> Option<Self> {
        let observation = match &event.kind {
            Observation::Tcp(observation) => Logged::Tcp(observation),
            Observation::HttpRequest(observation) => Logged::HttpRequest(&observation.verdict),
            Observation::HttpResponse(observation) => Logged::HttpResponse(&observation.verdict),
            Observation::Uptime(observation) => Logged::Uptime(&observation.uptime),
            Observation::HostChange(ChangeObservation::Scores { reasons, hits }) => {
                Logged::Change("host change", *reasons, *hits)
            }
            Observation::IpSharing(ChangeObservation::Scores { reasons, hits }) => {
                Logged::Change("ip sharing", *reasons, *hits)
            }
            Observation::HostChange(ChangeObservation::Systems { .. })
            | Observation::IpSharing(ChangeObservation::Systems { .. })
            | Observation::SshClient(_)
            | Observation::SshServer(_)
            | Observation::SshHandshake(_)
            | Observation::TlsClient(_)
            | Observation::TlsServer(_)
            | Observation::TlsHandshake(_)
            | Observation::TlsCertificates(_)
            | Observation::Mismatch(_)
            | Observation::Conflict(_)
            | Observation::Finding(_)
            | Observation::Tool(_)
            | Observation::Connection(_)
            | Observation::Match(_)
            | Observation::Own(_) => return None,
        };
        Some(Self { event, observation })
    }
}

impl P0fLine<'_> {
    /// The event as the block that p0f prints on standard output, with an empty line behind it.
    pub fn block(&self) -> impl fmt::Display + '_ {
        Block(self)
    }

    /// The kind of event.
    fn module(&self) -> &'static str {
        match self.observation {
            Logged::Tcp(observation) => match (observation.signature.handshake, observation.sendsyn) {
                (Handshake::Syn, false) => "syn",
                (Handshake::SynAck, false) => "syn+ack",
                (Handshake::Syn, true) => "sendsyn probe",
                (Handshake::SynAck, true) => "sendsyn response",
            },
            Logged::Mtu(_) => "mtu",
            Logged::HttpRequest(_) => "http request",
            Logged::HttpResponse(_) => "http response",
            Logged::Uptime(_) => "uptime",
            Logged::Change(module, ..) => module,
        }
    }

    /// Passes the fields of the module to `write`: name and value.
    fn fields(&self, write: &mut WriteField<'_>) -> fmt::Result {
        match self.observation {
            Logged::Tcp(observation) => tcp_fields(observation, write),
            Logged::HttpRequest(verdict) | Logged::HttpResponse(verdict) => http_fields(verdict, write),
            Logged::Mtu(MtuObservation { mtu, link }) => {
                write("link", &link.as_deref().unwrap_or(UNKNOWN))?;
                write("raw_mtu", mtu)
            }
            Logged::Uptime(uptime) => uptime_fields(uptime, write),
            Logged::Change(_, reasons, [a, b, c, d]) => {
                write("reason", &reasons)?;
                write("raw_hits", &format_args!("{a},{b},{c},{d}"))
            }
        }
    }
}

impl fmt::Display for P0fLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, .. } = self;
        let subject = match event.subject {
            Side::Client => "cli",
            Side::Server => "srv",
        };
        let (time, client, server) =
            (Time(event.ts), Endpoint(event.flow.client), Endpoint(event.flow.server));
        write!(f, "[{time}] mod={}|cli={client}|srv={server}|subj={subject}", self.module())?;
        self.fields(&mut |name, value| write!(f, "|{name}={value}"))
    }
}

/// An event as p0f prints it on standard output.
struct Block<'a>(&'a P0fLine<'a>);

impl fmt::Display for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(line) = self;
        let P0fLine { event, .. } = line;
        let (client, server) = (Endpoint(event.flow.client), Endpoint(event.flow.server));
        writeln!(f, ".-[ {client} -> {server} ({}) ]-\n|", line.module())?;
        let subject = Endpoint(event.subject_addr());
        writeln!(f, "| {:<8} = {subject}", event.subject.choose("client", "server"))?;
        line.fields(&mut |name, value| writeln!(f, "| {name:<8} = {value}"))?;
        f.write_str("|\n`----\n\n")
    }
}

/// The text that p0f prints for an unknown value.
const UNKNOWN: &str = "???";

/// Writes a field: name and value.
type WriteField<'a> = dyn FnMut(&str, &dyn fmt::Display) -> fmt::Result + 'a;

fn tcp_fields(observation: &TcpObservation, write: &mut WriteField<'_>) -> fmt::Result {
    let TcpObservation { signature, distance, params, .. } = observation;
    match observation.label() {
        Some(label) if label.is_tool() || observation.sendsyn => write("app", label)?,
        Some(label) => write("os", label)?,
        None => write("os", &UNKNOWN)?,
    }
    write("dist", distance)?;
    write("params", params)?;
    write("raw_sig", signature)
}

fn http_fields(verdict: &HttpVerdict, write: &mut WriteField<'_>) -> fmt::Result {
    match verdict.label() {
        Some(label) if label.is_tool() => write("app", label)?,
        Some(label) => write("os", label)?,
        None => write("app", &UNKNOWN)?,
    }
    write("lang", &verdict.signature.language())?;
    write("params", &verdict.params)?;
    write("raw_sig", &verdict.raw_sig())
}

fn uptime_fields(uptime: &Uptime, write: &mut WriteField<'_>) -> fmt::Result {
    let (days, hours, minutes) = uptime.days_hours_minutes();
    let modulo = uptime.modulo_days();
    write("uptime", &format_args!("{days} days {hours} hrs {minutes} min (modulo {modulo} days)"))?;
    write("raw_freq", &format_args!("{:.2} Hz", uptime.clock.raw_frequency()))
}

/// `YYYY/MM/DD HH:MM:SS`.
struct Time(Timestamp);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second) = self.0.civil();
        write!(f, "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// `address/port`, with IPv6 addresses as eight groups without leading zeros and without `::`.
struct Endpoint(SocketAddr);

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.ip() {
            IpAddr::V4(v4) => write!(f, "{v4}")?,
            IpAddr::V6(v6) => {
                for (n, group) in v6.segments().iter().enumerate() {
                    write!(f, "{}{group:x}", if n == 0 { "" } else { ":" })?;
                }
            }
        }
        write!(f, "/{}", self.0.port())
    }
}
