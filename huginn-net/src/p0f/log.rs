//! Events as the log lines of p0f 3.09b.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use huginn_net_core::{Side, Timestamp};
use huginn_net_tcp::{Clock, Handshake};

use crate::finding::{ChangeFinding, HttpVerdict, MtuFinding, TcpFinding};
use crate::{Event, Finding};

/// Displays an event as p0f 3.09b logs it, character for character, with the time in UTC.
#[derive(Clone, Copy, Debug)]
pub struct P0fLine<'a> {
    event: &'a Event,
    finding: Logged<'a>,
}

/// The subset of findings that p0f knows.
#[derive(Clone, Copy, Debug)]
enum Logged<'a> {
    Tcp(&'a TcpFinding),
    Mtu(&'a MtuFinding),
    HttpRequest(&'a HttpVerdict),
    HttpResponse(&'a HttpVerdict),
    Uptime(&'a Clock),
    Change(&'static str, &'a ChangeFinding),
}

impl<'a> P0fLine<'a> {
    /// The log line of an event; `None` for events that p0f does not have.
    pub fn from_event(event: &'a Event) -> Option<Self> {
        let finding = match &event.kind {
            Finding::Tcp(finding) => Logged::Tcp(finding),
            Finding::Mtu(finding) => Logged::Mtu(finding),
            Finding::HttpRequest(finding) => Logged::HttpRequest(&finding.verdict),
            Finding::HttpResponse(finding) => Logged::HttpResponse(&finding.verdict),
            Finding::Uptime(finding) => Logged::Uptime(&finding.clock),
            Finding::HostChange(finding) => Logged::Change("host change", finding),
            Finding::IpSharing(finding) => Logged::Change("ip sharing", finding),
            Finding::SshClient(_)
            | Finding::SshServer(_)
            | Finding::TlsClient(_)
            | Finding::TlsServer(_)
            | Finding::Mismatch(_)
            | Finding::Connection(_) => return None,
        };
        Some(Self { event, finding })
    }
}

impl fmt::Display for P0fLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, finding } = self;
        let module = match finding {
            Logged::Tcp(finding) => match (finding.signature.handshake, finding.sendsyn) {
                (Handshake::Syn, false) => "syn",
                (Handshake::SynAck, false) => "syn+ack",
                (Handshake::Syn, true) => "sendsyn probe",
                (Handshake::SynAck, true) => "sendsyn response",
            },
            Logged::Mtu(_) => "mtu",
            Logged::HttpRequest(_) => "http request",
            Logged::HttpResponse(_) => "http response",
            Logged::Uptime(_) => "uptime",
            Logged::Change(module, _) => module,
        };
        let subject = match event.subject {
            Side::Client => "cli",
            Side::Server => "srv",
        };
        let (time, client, server) =
            (Time(event.ts), Endpoint(event.flow.client), Endpoint(event.flow.server));
        write!(f, "[{time}] mod={module}|cli={client}|srv={server}|subj={subject}|")?;
        match finding {
            Logged::Tcp(finding) => write_tcp(f, finding),
            Logged::HttpRequest(verdict) | Logged::HttpResponse(verdict) => write_http(f, verdict),
            Logged::Mtu(MtuFinding { mtu, link }) => {
                write!(f, "link={}|raw_mtu={mtu}", link.as_deref().unwrap_or(UNKNOWN))
            }
            Logged::Uptime(clock) => write_uptime(f, clock),
            Logged::Change(_, ChangeFinding { reasons, hits: [a, b, c, d] }) => {
                write!(f, "reason={reasons}|raw_hits={a},{b},{c},{d}")
            }
        }
    }
}

/// The text that p0f prints for an unknown value.
const UNKNOWN: &str = "???";

fn write_tcp(f: &mut fmt::Formatter<'_>, finding: &TcpFinding) -> fmt::Result {
    let TcpFinding { signature, distance, params, .. } = finding;
    match finding.label() {
        Some(label) if label.is_tool() || finding.sendsyn => write!(f, "app={}", label)?,
        Some(label) => write!(f, "os={}", label)?,
        None => write!(f, "os={UNKNOWN}")?,
    }
    write!(f, "|dist={distance}|params={params}|raw_sig={signature}")
}

fn write_http(f: &mut fmt::Formatter<'_>, verdict: &HttpVerdict) -> fmt::Result {
    match verdict.label() {
        Some(label) if label.is_tool() => write!(f, "app={label}")?,
        Some(label) => write!(f, "os={label}")?,
        None => write!(f, "app={UNKNOWN}")?,
    }
    write!(
        f,
        "|lang={}|params={}|raw_sig={}",
        verdict.signature.language(),
        verdict.params,
        verdict.raw_sig()
    )
}

fn write_uptime(f: &mut fmt::Formatter<'_>, clock: &Clock) -> fmt::Result {
    let (days, hours, minutes) = clock.uptime();
    let (modulo, frequency) = (clock.modulo_days(), clock.raw_frequency());
    write!(
        f,
        "uptime={days} days {hours} hrs {minutes} min (modulo {modulo} days)|raw_freq={frequency:.2} Hz"
    )
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
