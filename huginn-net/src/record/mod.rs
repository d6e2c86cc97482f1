//! Events and hosts as records: the fields of their JSON, with names, types and meanings.
//!
//! A record is the one description of what is written about an event. [`JsonEvent`] writes it, and
//! any other format of serde can. `docs/events.md` has all fields, also those of the records within records, which these pages leave
//! out. The lines can be read again:
//!
//! ```
//! use huginn_net::record::{EventRecord, Kind};
//! use huginn_net::{CaptureReader, Event, HuginnNet};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
//! let mut lines = Vec::new();
//! let mut write = |event: Event| lines.push(serde_json::to_string(&EventRecord::from_event(&event)).unwrap());
//! HuginnNet::builder().build().analyze(CaptureReader::open(path)?, &mut write)?;
//!
//! let records: Vec<EventRecord> = lines.iter().map(|line| serde_json::from_str(line)).collect::<Result<_, _>>()?;
//! let clients = records.iter().filter_map(|record| match &record.kind {
//!     Kind::TlsClient(client) => Some(client.ja4),
//!     _ => None,
//! });
//! assert_eq!(clients.count(), 6);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod csv_text;
pub(crate) mod describe;
mod event;
mod flow;
pub mod formats;
mod json;
mod kinds;
mod own;
mod quic;
mod schema;
mod text;
mod tls;

pub use self::csv_text::csv_text;
pub use self::describe::{FieldInfo, ValueType, ValueVisitor};
#[doc(hidden)]
pub use self::event::needs_handshakes;
pub(crate) use self::event::{ALERT_NAMES, is_alert};
pub use self::event::{
    AlertFields, EVENT_NAMES, EventGroup, EventKind, EventNames, EventRecord, Head, Kind, fields_of_event,
    visit_event,
};
#[doc(hidden)]
pub use self::flow::EndpointRecord;
pub use self::flow::{FlowRecord, Ip};
pub use self::json::JsonEvent;
pub use self::kinds::{
    ChangeRecord, ConnectionRecord, FindingRecord, HttpRequestRecord, HttpResponseRecord, SshClientRecord,
    SshHandshakeRecord, SshServerRecord, TcpRecord, ToolRecord, UptimeRecord,
};
#[doc(hidden)]
pub use self::kinds::{LabelRecord, ListedRecord, MismatchRecord, NearestRecord, SoftwareRecord};
pub use self::own::OwnRecord;
#[doc(hidden)]
pub use self::quic::{QuicClientRecord, QuicServerRecord, TransportParameterRecord};
pub use self::schema::events_schema;
pub use self::text::Text;
#[doc(hidden)]
pub use self::tls::{AlertRecord, CertificateRecord, EchRecord, ExtensionRecord};
pub use self::tls::{TlsCertificatesRecord, TlsClientRecord, TlsHandshakeRecord, TlsServerRecord};
pub use crate::community_id::{CommunityId, CommunityIdParseError};

/// The version of the records: the field `v`. It increases when a field goes or changes its meaning; new fields do not
/// change it.
pub const VERSION: u8 = 1;
