//! Zeek's logs, a row for each connection and protocol.
//!
//! Zeek writes one row of `ssl` or `ssh` for a connection, and one of `http` for an exchange. Our events are parts of such rows:
//! [`ZeekLogs`] joins them.
//!
//! ```
//! use huginn_net::record::formats::zeek::{ZeekForm, ZeekLog, ZeekLogs};
//! use huginn_net::{CaptureReader, Configure, Event, HuginnNet};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
//! let (mut logs, mut ssl) = (ZeekLogs::new(ZeekForm::Tsv), 0);
//! let mut write = |event: Event| {
//!     logs.add(&event, None, &mut |log, _| ssl += u32::from(log == ZeekLog::Ssl));
//! };
//! let mut analyzer = HuginnNet::builder().connections(true).build();
//! analyzer.analyze(CaptureReader::open(path)?, &mut write)?;
//! logs.finish(&mut |log, _| ssl += u32::from(log == ZeekLog::Ssl));
//!
//! assert_eq!(ssl, 6);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod flow_values;
mod row;
mod software;
mod tsv;

use std::collections::{BTreeMap, HashMap};
use std::mem;

use foldhash::fast::RandomState;
use huginn_net_core::Timestamp;

use self::columns::{LogColumns, SERVICE};
use self::flow_values::FlowValues;
use self::row::Row;
use self::software::SoftwareLog;
use super::values::HashedFlow;
use crate::record::{EventKind, is_alert};
use crate::{Event, Observation};

/// Maximum memory of the rows of open connections, in bytes: 60,000 connections with a hello.
const MAX_OPEN_ZEEK_BYTES: usize = 64 << 20;

huginn_net_core::named! {
    /// A log of Zeek, or ours.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ZeekLog {
        /// Connections.
        Conn = "conn",
        /// TLS and DTLS: hellos, handshakes and certificates.
        Ssl = "ssl",
        /// Requests and responses.
        Http = "http",
        /// Clients, servers and handshakes of SSH.
        Ssh = "ssh",
        /// Software and systems of hosts.
        Software = "software",
        /// Alerts.
        Notice = "notice",
        /// Events that Zeek does not have.
        Huginn = "huginn",
    }
}

impl ZeekLog {
    /// Whether a row has what several events found.
    const fn joins_events(self) -> bool {
        !matches!(self, Self::Notice | Self::Huginn)
    }

    /// The log of a kind of event.
    fn of(event: &str) -> Self {
        match event.split('_').next() {
            Some("connection") => Self::Conn,
            Some("tls") => Self::Ssl,
            Some("http") => Self::Http,
            Some("ssh") => Self::Ssh,
            _ if is_alert(event) => Self::Notice,
            _ => Self::Huginn,
        }
    }
}

/// The form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeekForm {
    /// A JSON object in each line.
    Json,
    /// Values separated by tabs, after [lines](header) that name the columns and their types.
    Tsv,
}

/// The lines before the rows of a log in the form [`ZeekForm::Tsv`]. `open`: time of the first row.
pub fn header(log: ZeekLog, open: Timestamp) -> String {
    let columns = LogColumns::get(log);
    let mut text = format!(
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\t{}\n#open\t{}\n#fields",
        log.name(),
        calendar(open)
    );
    columns.all.iter().for_each(|column| text.extend(["\t", &column.name]));
    text.push_str("\n#types");
    columns.all.iter().for_each(|column| text.extend(["\t", column.zeek_type.name()]));
    text.push('\n');
    text
}

/// The line after the rows of a log in the form [`ZeekForm::Tsv`].
pub fn footer(close: Timestamp) -> String {
    format!("#close\t{}\n", calendar(close))
}

/// A text as a value of the form [`ZeekForm::Tsv`].
pub fn tsv_text(text: &str) -> String {
    let mut value = Vec::new();
    tsv::append_text(text, None, &mut value);
    String::from_utf8_lossy(&value).into_owned()
}

/// `2026-11-27-12-15-00`.
fn calendar(time: Timestamp) -> String {
    let text = time.text();
    let seconds = text.as_ref().get(..19).unwrap_or_default();
    String::from_utf8_lossy(seconds).replace(['T', ':'], "-")
}

/// The rows of a flow that are not written yet.
#[derive(Debug, Default)]
struct OpenFlow {
    ssl: Option<Row>,
    ssh: Option<Row>,
    /// By the number of the exchange.
    http: BTreeMap<u32, Row>,
    /// Zeek's names of the protocols.
    services: Vec<&'static str>,
}

/// Memory of a flow without its rows, in bytes.
const FLOW_BYTES: usize = 256;

/// Joins events to rows of Zeek's logs.
///
/// A row is written when it is complete: at the response of an exchange, and at the end of a connection, which
/// [`Configure::connections`](crate::Configure::connections) reports. Memory is bounded: beyond 64 MiB, all rows are written as they
/// are, and what comes later of their connections gets rows with the same `uid`.
#[derive(Debug)]
pub struct ZeekLogs {
    form: ZeekForm,
    flows: HashMap<[u8; 20], OpenFlow, RandomState>,
    /// Bytes of all open rows, and the most that they may have.
    open_bytes: usize,
    max_open_bytes: usize,
    software: SoftwareLog,
    /// Those of the last event.
    flow_values: Option<FlowValues>,
    /// A row that was written, whose memory the next one takes.
    spare: Row,
    line: Vec<u8>,
}

impl ZeekLogs {
    /// Logs in a form.
    pub fn new(form: ZeekForm) -> Self {
        Self {
            form,
            flows: HashMap::default(),
            open_bytes: 0,
            max_open_bytes: MAX_OPEN_ZEEK_BYTES,
            software: SoftwareLog::default(),
            flow_values: None,
            spare: Row::default(),
            line: Vec::new(),
        }
    }

    /// Takes an event. `file`: the capture file, if there are several. `write` gets rows with their line end.
    pub fn add(&mut self, event: &Event, file: Option<&str>, write: &mut impl FnMut(ZeekLog, &[u8])) {
        let number = EventKind::of(&event.kind).number();
        let Some(log) = columns::log_of(number) else { return };
        let values = match self.flow_values.take() {
            Some(values) if values.are_of(event) => values,
            _ => FlowValues::new(event),
        };
        let (key, mut row) =
            (values.identity, Row::new(event, file, log, &values, mem::take(&mut self.spare)));
        self.flow_values = Some(values);
        self.software.add(event, self.form, write);
        match log {
            ZeekLog::Ssl | ZeekLog::Ssh => self.join(key, log, row, write),
            ZeekLog::Http => self.exchange(key, event, row, write),
            ZeekLog::Conn => {
                let services = self.close(key, write);
                if !services.is_empty() {
                    row.add_named(log, SERVICE, &services.join(","));
                }
                self.write(log, &mut row, write);
                self.spare = row;
            }
            ZeekLog::Notice | ZeekLog::Huginn | ZeekLog::Software => {
                self.write(log, &mut row, write);
                self.spare = row;
            }
        }
        if self.open_bytes > self.max_open_bytes {
            self.finish(write);
        }
    }

    /// Ends a connection whose event is not selected: writes its rows.
    pub fn end_connection(&mut self, event: &Event, write: &mut impl FnMut(ZeekLog, &[u8])) {
        if matches!(event.kind, Observation::Connection(_)) {
            self.close(HashedFlow::new(event).identity, write);
        }
    }

    /// Writes all rows that are open, in the order of their time.
    pub fn finish(&mut self, write: &mut impl FnMut(ZeekLog, &[u8])) {
        let mut rows: Vec<_> =
            mem::take(&mut self.flows).into_values().flat_map(OpenFlow::into_rows).collect();
        self.open_bytes = 0;
        rows.sort_by_key(|(_, row)| row.order());
        rows.iter_mut().for_each(|(log, row)| self.write(*log, row, write));
    }

    /// Adds a row to the open one of its log, or opens it.
    fn join(&mut self, key: [u8; 20], log: ZeekLog, row: Row, write: &mut impl FnMut(ZeekLog, &[u8])) {
        let flow = open_flow(&mut self.flows, &mut self.open_bytes, key);
        flow.add_service(if log == ZeekLog::Ssl { "ssl" } else { "ssh" });
        let open = if log == ZeekLog::Ssl { &mut flow.ssl } else { &mut flow.ssh };
        let before = open.as_ref().map_or(0, Row::bytes);
        let complete = match open.as_mut().filter(|open| open.can_take(&row)) {
            Some(open) => {
                open.append(row);
                None
            }
            None => open.replace(row),
        };
        let after = open.as_ref().map_or(0, Row::bytes);
        self.open_bytes = self.open_bytes.saturating_sub(before).saturating_add(after);
        if let Some(mut complete) = complete {
            self.write(log, &mut complete, write);
        }
    }

    /// Adds a request, or writes the row of an exchange.
    fn exchange(&mut self, key: [u8; 20], event: &Event, row: Row, write: &mut impl FnMut(ZeekLog, &[u8])) {
        let (number, is_response) = match &event.kind {
            Observation::HttpRequest(observation) => (observation.exchange, false),
            Observation::HttpResponse(observation) => (observation.exchange, true),
            _ => return,
        };
        let flow = open_flow(&mut self.flows, &mut self.open_bytes, key);
        flow.add_service("http");
        let complete = if is_response {
            match flow.http.remove(&number) {
                Some(mut request) => {
                    self.open_bytes = self.open_bytes.saturating_sub(request.bytes());
                    request.append(row);
                    Some(request)
                }
                None => Some(row),
            }
        } else {
            self.open_bytes = self.open_bytes.saturating_add(row.bytes());
            let replaced = flow.http.insert(number, row);
            self.open_bytes = self.open_bytes.saturating_sub(replaced.as_ref().map_or(0, Row::bytes));
            replaced
        };
        if let Some(mut complete) = complete {
            self.write(ZeekLog::Http, &mut complete, write);
        }
    }

    /// Writes the rows of a flow. Returns its services.
    fn close(&mut self, key: [u8; 20], write: &mut impl FnMut(ZeekLog, &[u8])) -> Vec<&'static str> {
        let Some(mut flow) = self.flows.remove(&key) else { return Vec::new() };
        let services = mem::take(&mut flow.services);
        self.open_bytes = self.open_bytes.saturating_sub(FLOW_BYTES);
        for (log, mut row) in flow.into_rows() {
            self.open_bytes = self.open_bytes.saturating_sub(row.bytes());
            self.write(log, &mut row, write);
        }
        services
    }

    fn write(&mut self, log: ZeekLog, row: &mut Row, write: &mut impl FnMut(ZeekLog, &[u8])) {
        self.line.clear();
        row.write(LogColumns::get(log), self.form, &mut self.line);
        write(log, &self.line);
    }
}

/// Finds the open flow, or opens it.
fn open_flow<'f>(
    flows: &'f mut HashMap<[u8; 20], OpenFlow, RandomState>,
    bytes: &mut usize,
    key: [u8; 20],
) -> &'f mut OpenFlow {
    flows.entry(key).or_insert_with(|| {
        *bytes = bytes.saturating_add(FLOW_BYTES);
        OpenFlow::default()
    })
}

impl OpenFlow {
    fn add_service(&mut self, name: &'static str) {
        if !self.services.contains(&name) {
            self.services.push(name);
        }
    }

    fn into_rows(self) -> impl Iterator<Item = (ZeekLog, Row)> {
        let Self { ssl, ssh, http, .. } = self;
        let http = http.into_values().map(|row| (ZeekLog::Http, row));
        let ssl = ssl.map(|row| (ZeekLog::Ssl, row));
        ssl.into_iter().chain(ssh.map(|row| (ZeekLog::Ssh, row))).chain(http)
    }
}

#[cfg(test)]
mod tests;
