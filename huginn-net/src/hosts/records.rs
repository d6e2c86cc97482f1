//! What the records of updates and of saved hosts have in common.

use std::sync::Arc;

use huginn_net_core::TunnelPath;
use huginn_net_db::{Database, Label, SoftwareClaim};
use huginn_net_tcp::{Clock, ClockReading, Handshake, ParseError, TcpSignature, Uptime};
use huginn_net_tls::{ClientFamily, Ja4ParseError, Transport};
use serde::{Deserialize, Serialize};

/// The reason why a record cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostRecordError {
    /// The database has no label with this name at this line.
    #[error("the database has no label {name:?} at line {line}: the record comes from another one")]
    Label {
        /// The line.
        line: u32,
        /// The name.
        name: String,
    },
    /// The database has no system with this name.
    #[error("the database has no system {0:?}: the record comes from another one")]
    System(String),
    /// The TCP signature is invalid.
    #[error("TCP signature: {0}")]
    Signature(#[from] ParseError),
    /// The JA4 is invalid.
    #[error("JA4: {0}")]
    Ja4(#[from] Ja4ParseError),
    /// The family of TLS clients is unknown.
    #[error("no family of TLS clients has the name {0:?}")]
    Family(String),
    /// The reading of the clock has no value, or no clock has its frequency.
    #[error("a clock without a value, or with a frequency that no clock has")]
    Clock,
    /// The ports of a tool are not ascending, disjoint ranges.
    #[error("the ports of a tool are not ascending, disjoint ranges")]
    Ports,
    /// A text is longer than any that a host has.
    #[error("a text of {0} bytes is too long")]
    Text(usize),
    /// The tunnel has an invalid layer, or too many.
    #[error("no tunnel has {0:?}")]
    Tunnel(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TunnelRecord {
    layers: Vec<String>,
    key_word: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SignatureRecord {
    /// `raw_sig`.
    text: String,
    is_syn_ack: bool,
    // The text may have a multiple instead of the window, which may be one of the peer's segment size.
    window: u16,
    has_multiple: bool,
    traffic_class: u8,
    timestamp: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UptimeRecord {
    clock: ClockRecord,
    frequency: u32,
    minutes: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ClockRecord {
    value: u32,
    at_millis: u64,
    ticks: u32,
    millis: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ClaimRecord {
    Agrees,
    Custom,
    Dishonest,
}

impl From<SoftwareClaim> for ClaimRecord {
    fn from(claim: SoftwareClaim) -> Self {
        match claim {
            SoftwareClaim::Agrees => Self::Agrees,
            SoftwareClaim::Custom => Self::Custom,
            SoftwareClaim::Dishonest => Self::Dishonest,
        }
    }
}

impl From<ClaimRecord> for SoftwareClaim {
    fn from(claim: ClaimRecord) -> Self {
        match claim {
            ClaimRecord::Agrees => Self::Agrees,
            ClaimRecord::Custom => Self::Custom,
            ClaimRecord::Dishonest => Self::Dishonest,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum TransportRecord {
    Tcp,
    Quic,
    Dtls,
}

impl From<Transport> for TransportRecord {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Tcp => Self::Tcp,
            Transport::Quic => Self::Quic,
            Transport::Dtls => Self::Dtls,
        }
    }
}

impl From<TransportRecord> for Transport {
    fn from(transport: TransportRecord) -> Self {
        match transport {
            TransportRecord::Tcp => Self::Tcp,
            TransportRecord::Quic => Self::Quic,
            TransportRecord::Dtls => Self::Dtls,
        }
    }
}

/// The family of TLS clients with this name.
pub(super) fn family(name: Option<String>) -> Result<Option<ClientFamily>, HostRecordError> {
    let Some(name) = name else { return Ok(None) };
    ClientFamily::from_name(&name).map(Some).ok_or(HostRecordError::Family(name))
}

/// The name of a system in the labels of a database.
pub(super) fn system_name(name: &str, database: &Database) -> Result<Arc<str>, HostRecordError> {
    let label = database.labels().iter().find(|label| *label.name == *name);
    label.map(|label| Arc::clone(&label.name)).ok_or_else(|| HostRecordError::System(name.to_owned()))
}

/// A label of the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LabelRecord {
    line: u32,
    name: String,
}

impl SignatureRecord {
    pub(super) fn new(signature: &TcpSignature) -> Self {
        Self {
            text: signature.to_string(),
            is_syn_ack: signature.handshake == Handshake::SynAck,
            window: signature.window,
            has_multiple: signature.window_multiple.is_some(),
            traffic_class: signature.traffic_class,
            timestamp: signature.timestamp,
        }
    }

    pub(super) fn read(self) -> Result<TcpSignature, ParseError> {
        let mut signature: TcpSignature = self.text.parse()?;
        signature.handshake = if self.is_syn_ack { Handshake::SynAck } else { Handshake::Syn };
        signature.window = self.window;
        signature.window_multiple = signature.window_multiple.filter(|_| self.has_multiple);
        signature.traffic_class = self.traffic_class;
        signature.timestamp = self.timestamp;
        Ok(signature)
    }
}

impl UptimeRecord {
    pub(super) fn new(uptime: Uptime) -> Self {
        let Uptime { clock, frequency, minutes } = uptime;
        Self { clock: ClockRecord::new(clock), frequency, minutes }
    }

    pub(super) fn read(self) -> Result<Uptime, HostRecordError> {
        let Self { clock, frequency, minutes } = self;
        Ok(Uptime { clock: clock.read()?, frequency, minutes })
    }
}

impl ClockRecord {
    pub(super) fn new(clock: Clock) -> Self {
        let Clock { reading: ClockReading { value, at_millis, .. }, ticks, millis, .. } = clock;
        Self { value, at_millis, ticks, millis }
    }

    pub(super) fn read(self) -> Result<Clock, HostRecordError> {
        let reading = ClockReading::new(self.value, self.at_millis);
        let clock = reading.and_then(|reading| Clock::measured(reading, self.ticks, self.millis));
        clock.ok_or(HostRecordError::Clock)
    }
}

impl LabelRecord {
    pub(super) fn new(label: &Label) -> Self {
        Self { line: label.line, name: label.to_string() }
    }

    pub(super) fn read(
        record: Option<Self>,
        database: &Database,
    ) -> Result<Option<Arc<Label>>, HostRecordError> {
        let Some(Self { line, name }) = record else { return Ok(None) };
        let labels = database.labels();
        let of_file = labels.binary_search_by_key(&line, |label| label.line);
        let of_file = of_file.ok().and_then(|place| labels.get(place));
        let without_flavor = database.labels_without_flavor().iter().filter(|label| label.line == line);
        let label = of_file.into_iter().chain(without_flavor).find(|label| label.to_string() == name);
        label.cloned().map(Some).ok_or(HostRecordError::Label { line, name })
    }

    /// Returns the label of a database that may be a newer one: that with the same text at the nearest line.
    pub(super) fn find(self, database: &Database) -> Result<Arc<Label>, HostRecordError> {
        let Self { line, name } = self;
        let is_it = |label: &&Arc<Label>| name.starts_with(&*label.name) && label.to_string() == name;
        let labels = database.labels().iter().chain(database.labels_without_flavor());
        let nearest = labels.filter(is_it).min_by_key(|label| label.line.abs_diff(line));
        nearest.cloned().ok_or(HostRecordError::Label { line, name })
    }
}

impl TunnelRecord {
    pub(super) fn new(path: &TunnelPath) -> Self {
        Self { layers: path.layers().iter().map(ToString::to_string).collect(), key_word: path.key_word() }
    }

    pub(super) fn path(self) -> Result<TunnelPath, HostRecordError> {
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in self.layers {
            layers.push(layer.parse().map_err(|_| HostRecordError::Tunnel(layer))?);
        }
        let path = TunnelPath::with_key_word(&layers, self.key_word);
        path.ok_or_else(|| HostRecordError::Tunnel(format!("{} layers", layers.len())))
    }
}
