//! Events as records.

use std::borrow::Borrow;

use huginn_net_core::{Side, Timestamp};
use huginn_net_tcp::Handshake;
use serde::de::Error;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::VERSION;
use super::describe::{
    FieldInfo, FieldName, Fields, Object, Omit, Value as _, ValueVisitor, Visit, field_name, records,
};
use super::flow::FlowRecord;
use super::kinds::{
    ChangeRecord, ConnectionRecord, FindingRecord, HttpRequestRecord, HttpResponseRecord, MatchRecord,
    MismatchRecord, SshClientRecord, SshHandshakeRecord, SshServerRecord, TcpRecord, ToolRecord,
    UptimeRecord,
};
use super::own::OwnRecord;
use super::text::{LimitedTexts, Text};
use super::tls::{TlsCertificatesRecord, TlsClientRecord, TlsHandshakeRecord, TlsServerRecord};
use crate::alert::{Alert, AlertKind};
use crate::{Event, Observation};

records! {
    /// The fields that all events have, before those of their flow.
    pub struct Head<'a> {
        /// Version of the fields: 1
        v: u8,
        /// Capture time of the packet
        ts: Timestamp,
        /// Kind of the event
        event: Text<'a>,
        /// Subject of the event: `client` or `server`
        subject: Side,
        /// Number of the packet in the capture, from 1
        packet: u64,
        /// Capture file, if several are read
        file[omitted]: Option<Text<'a>>,
        /// Interface that captured the packet, if there are several
        interface[omitted]: Option<Text<'a>>,
        /// Connection of the event: its first packet, and a hash of its flow
        connection_id[omitted]: Option<Text<'a>>,
        /// Why the bytes of the event compete with others of the same place in the stream, if they do
        conflict[omitted]: Option<Text<'a>>,
    }

    /// The fields of an event that is an alert, before those of its kind.
    pub struct AlertFields<'a> in "alert_" {
        /// How much the alert matters: `low`, `medium` or `high`
        severity: Text<'a>,
        /// Whether a handshake proves that the subject sent the packets; without it, the address may be forged
        proven: bool,
        /// Identifies the alert in all of its reports
        id: Text<'a>,
        /// Whether an earlier event reported the alert with smaller numbers
        update: bool,
    }
}

/// Names that an event is written with, besides its own fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventNames<'a> {
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
    /// The interface that captured the packet, if there are several.
    pub interface: Option<&'a str>,
    /// Whether it has the [identifier of its connection](huginn_net_core::Event::connection).
    pub connection_id: bool,
}

/// The name of the field after those of the kind.
const CUT_NAME: FieldName = field_name!(cut);

/// The field after those of the kind.
const CUT: FieldInfo = FieldInfo {
    name: CUT_NAME.as_str(),
    column: "cut",
    meaning: "Fields whose text was cut, because it was longer than the limit",
    value_type: Vec::<Text<'_>>::TYPE,
    is_nullable: false,
    is_optional: true,
};

/// An event as it is written: one flat object with the fields of its [head](Head), its [flow](FlowRecord), its
/// [alert](AlertFields) and its [kind](Kind), and `cut`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventRecord<'a> {
    /// The fields that all events have.
    pub head: Head<'a>,
    /// The flow.
    pub flow: FlowRecord<'a>,
    /// The fields of an alert; absent for events that only state facts.
    pub alert: Option<AlertFields<'a>>,
    /// The fields of the kind.
    pub kind: Kind<'a>,
    /// The fields whose text was cut, because it was longer than the limit.
    pub cut: Vec<Text<'a>>,
}

huginn_net_core::named! {
    /// What events are about: a protocol, connections, the host of an address, or what deserves a look.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum EventGroup {
        /// Handshakes of TCP.
        Tcp = "TCP",
        /// Heads of HTTP.
        Http = "HTTP",
        /// TLS, over TCP, QUIC and DTLS.
        Tls = "TLS",
        /// SSH.
        Ssh = "SSH",
        /// Whole connections.
        Connections = "connections",
        /// The hosts behind an address.
        Hosts = "hosts",
        /// What deserves a look.
        Alerts = "alerts",
        /// Protocols of the caller's own.
        Own = "own protocols",
    }
}

/// Declares the kinds of events: the fields of each, its name, its title and its group. After `own`: the kind of all events whose names
/// are known at run time.
macro_rules! kinds {
    (
        $(
            $(#[doc = $meaning:literal])+
            $kind:ident($record:ident $(<$life:lifetime>)?): $name:literal, $title:literal, $group:ident;
        )+
        own:
        $(#[doc = $own_meaning:literal])+
        $own:ident($own_record:ident<$own_life:lifetime>): $own_name:literal, $own_title:literal, $own_group:ident;
    ) => {
        /// The names of all kinds of events of the built-in protocols, as the field `event` has them.
        pub const EVENT_NAMES: &[&str] = &[$($name),+];

        huginn_net_core::table_enum! {
            /// The kind of an event.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[non_exhaustive]
            pub enum EventKind {$(
                $(#[doc = $meaning])+
                $kind: $name, $title, EventGroup::$group;
            )+
                $(#[doc = $own_meaning])+
                $own: $own_name, $own_title, EventGroup::$own_group;
            }
            /// The name: one of [`EVENT_NAMES`], or `own`.
            pub fn name -> &'static str = 0;
            /// The name as a heading.
            pub fn title -> &'static str = 1;
            /// What events of the kind are about.
            pub fn group -> EventGroup = 2;
        }

        /// The fields of an event that depend on its kind.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[expect(clippy::large_enum_variant, reason = "a record is written where it is made, and rarely moved")]
        pub enum Kind<'a> {$(
            $(#[doc = $meaning])+
            $kind($record $(<$life>)?),
        )+
            $(#[doc = $own_meaning])+
            $own($own_record<$own_life>),
        }

        impl Kind<'_> {
            /// The name of the kind: one of [`EVENT_NAMES`], or `own`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)+
                    Self::$own(_) => $own_name,
                }
            }

            /// Reads the fields of a kind.
            fn read(name: &str, fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
                let fields = Value::Object(fields);
                match name {
                    $($name => $record::deserialize(fields).map(Self::$kind),)+
                    _ => $own_record::deserialize(fields).map(Self::$own),
                }
            }
        }

        impl Fields for Kind<'_> {
            #[inline(always)]
            fn add_to<O: Object>(&self, object: &mut O) -> Result<(), O::Error> {
                match self {
                    $(Self::$kind(fields) => fields.add_to(object),)+
                    Self::$own(fields) => fields.add_to(object),
                }
            }
        }

        /// The fields of the kind with this name.
        fn fields_of_kind(name: &str) -> Option<&'static [FieldInfo]> {
            match name {
                $($name => Some($record::FIELDS),)+
                $own_name => Some($own_record::FIELDS),
                _ => None,
            }
        }
    };
}

kinds! {
    /// The TCP signature of a SYN.
    TcpSyn(TcpRecord<'a>): "tcp_syn", "SYN", Tcp;
    /// The TCP signature of a SYN+ACK.
    TcpSynAck(TcpRecord<'a>): "tcp_syn_ack", "SYN+ACK", Tcp;
    /// The uptime of a host.
    Uptime(UptimeRecord): "uptime", "Uptime", Hosts;
    /// A change of the fingerprint of a host.
    HostChange(ChangeRecord<'a>): "host_change", "Host change", Hosts;
    /// Several hosts with one address.
    IpSharing(ChangeRecord<'a>): "ip_sharing", "IP sharing", Hosts;
    /// A tool that sends packets of its own.
    Tool(ToolRecord<'a>): "tool", "Tool", Alerts;
    /// A client that is not the browser that it claims to be.
    Mismatch(MismatchRecord<'a>): "mismatch", "Mismatch", Hosts;
    /// What several connections show, or two contents for the same bytes.
    Finding(FindingRecord<'a>): "finding", "Finding", Alerts;
    /// A connection that ended.
    Connection(ConnectionRecord<'a>): "connection", "Connection", Connections;
    /// An HTTP request.
    HttpRequest(HttpRequestRecord<'a>): "http_request", "HTTP request", Http;
    /// An HTTP response.
    HttpResponse(HttpResponseRecord<'a>): "http_response", "HTTP response", Http;
    /// A ClientHello.
    TlsClient(TlsClientRecord<'a>): "tls_client", "ClientHello", Tls;
    /// A ServerHello.
    TlsServer(TlsServerRecord<'a>): "tls_server", "ServerHello", Tls;
    /// The end of a TLS handshake.
    TlsHandshake(TlsHandshakeRecord<'a>): "tls_handshake", "TLS handshake", Tls;
    /// The certificates of a TLS handshake.
    TlsCertificates(TlsCertificatesRecord<'a>): "tls_certificates", "Certificates", Tls;
    /// An SSH client.
    SshClient(SshClientRecord<'a>): "ssh_client", "SSH client", Ssh;
    /// An SSH server.
    SshServer(SshServerRecord<'a>): "ssh_server", "SSH server", Ssh;
    /// The algorithms that SSH client and server agree on.
    SshHandshake(SshHandshakeRecord<'a>): "ssh_handshake", "SSH handshake", Ssh;
    /// A value that a list watches.
    Match(MatchRecord<'a>): "match", "Match", Alerts;
    own:
    /// An event of a protocol of the caller's own.
    Own(OwnRecord<'a>): "own", "Own protocol", Own;
}

/// Whether events of this name need handshakes that are [followed](crate::Configure::handshakes).
///
/// ```
/// use huginn_net::record::needs_handshakes;
///
/// assert!(needs_handshakes("tls_certificates") && !needs_handshakes("tls_client"));
/// ```
pub fn needs_handshakes(name: &str) -> bool {
    matches!(name, "tls_handshake" | "tls_certificates" | "connection")
}

/// The names of events that are [alerts](Alert).
pub(crate) const ALERT_NAMES: &[&str] = &["tool", "finding", "match"];

/// Whether events of this name are [alerts](Alert).
pub(crate) fn is_alert(name: &str) -> bool {
    ALERT_NAMES.contains(&name)
}

impl Observation {
    /// The name of the kind of event: the value of the field `event`.
    pub fn event_name(&self) -> &'static str {
        match self {
            Self::Own(own) => own.name(),
            _ => EventKind::of(self).name(),
        }
    }
}

impl EventKind {
    /// The place of the kind in [`ALL`](Self::ALL).
    pub const fn number(self) -> usize {
        self as usize
    }

    /// The kind of an event.
    pub fn of(observation: &Observation) -> Self {
        match observation {
            Observation::Tcp(observation) => match observation.signature.handshake {
                Handshake::Syn => Self::TcpSyn,
                Handshake::SynAck => Self::TcpSynAck,
            },
            Observation::Uptime(_) => Self::Uptime,
            Observation::HostChange(_) => Self::HostChange,
            Observation::IpSharing(_) => Self::IpSharing,
            Observation::Tool(_) => Self::Tool,
            Observation::Mismatch(_) => Self::Mismatch,
            Observation::Conflict(_) | Observation::Finding(_) => Self::Finding,
            Observation::Connection(_) => Self::Connection,
            Observation::HttpRequest(_) => Self::HttpRequest,
            Observation::HttpResponse(_) => Self::HttpResponse,
            Observation::TlsClient(_) => Self::TlsClient,
            Observation::TlsServer(_) => Self::TlsServer,
            Observation::TlsHandshake(_) => Self::TlsHandshake,
            Observation::TlsCertificates(_) => Self::TlsCertificates,
            Observation::SshClient(_) => Self::SshClient,
            Observation::SshServer(_) => Self::SshServer,
            Observation::SshHandshake(_) => Self::SshHandshake,
            Observation::Match(_) => Self::Match,
            Observation::Own(_) => Self::Own,
        }
    }
}

/// The fields of a kind of event in the order in which they are written; `None` for a name that no kind has.
///
/// ```
/// use huginn_net::record::fields_of_event;
///
/// let fields = fields_of_event("tls_client").unwrap();
/// assert!(fields.iter().any(|field| field.name == "ja4" && field.meaning == "JA4"));
/// ```
pub fn fields_of_event(name: &str) -> Option<Vec<FieldInfo>> {
    let kind = fields_of_kind(name)?;
    let alert = if is_alert(name) { AlertFields::FIELDS } else { &[] };
    Some([Head::FIELDS, FlowRecord::FIELDS, alert, kind, &[CUT]].concat())
}

impl<'a> EventRecord<'a> {
    /// Describes an event.
    pub fn from_event(event: &'a Event) -> Self {
        let mut cut = Vec::new();
        let kind = describe(event, &mut cut, Keep);
        Self {
            head: Head::new(event, event.kind.event_name(), EventNames::default()),
            flow: (&event.flow).into(),
            alert: Alert::of(event).map(Into::into),
            kind,
            cut,
        }
    }
}

impl From<Alert<'_>> for AlertFields<'_> {
    fn from(alert: Alert<'_>) -> Self {
        Self {
            severity: alert.severity().name().into(),
            proven: alert.is_proven(),
            id: Text::owned(alert.id()),
            update: alert.is_update(),
        }
    }
}

impl<'a> Head<'a> {
    /// Describes an event with the name of its kind.
    #[inline(always)]
    pub(super) fn new<K>(
        event: &huginn_net_core::Event<K>,
        name: &'a str,
        EventNames { file, interface, connection_id }: EventNames<'a>,
    ) -> Self {
        let connection = if connection_id { event.connection() } else { None };
        Self {
            v: VERSION,
            ts: event.ts,
            event: name.into(),
            subject: event.subject,
            packet: event.packet_number,
            file: file.map(Into::into),
            interface: interface.map(Into::into),
            connection_id: connection.map(Text::owned),
            conflict: event.conflict.map(|conflict| conflict.name().into()),
        }
    }
}

/// What becomes of the fields of a kind.
trait Use<'a> {
    type Output;

    /// Uses the fields; `kind` makes a [`Kind`] of them.
    fn fields<F: Fields>(self, fields: F, kind: fn(F) -> Kind<'a>) -> Self::Output;
}

/// Keeps the fields as a [`Kind`].
struct Keep;

impl<'a> Use<'a> for Keep {
    type Output = Kind<'a>;

    fn fields<F: Fields>(self, fields: F, kind: fn(F) -> Kind<'a>) -> Kind<'a> {
        kind(fields)
    }
}

/// Adds the fields to an object.
struct AddTo<'o, O>(&'o mut O);

impl<'a, O: Object> Use<'a> for AddTo<'_, O> {
    type Output = Result<(), O::Error>;

    #[inline(always)]
    fn fields<F: Fields>(self, fields: F, _: fn(F) -> Kind<'a>) -> Self::Output {
        fields.add_to(self.0)
    }
}

/// Describes the observation of an event, and names the fields that are cut.
#[inline(always)]
fn describe<'a, U: Use<'a>>(event: &'a Event, cut: &mut Vec<Text<'a>>, to: U) -> U::Output {
    let texts = &mut LimitedTexts { limit: event.kind.text_limit(), cut };
    match &event.kind {
        Observation::Tcp(observation) => match observation.signature.handshake {
            Handshake::Syn => to.fields(observation.into(), Kind::TcpSyn),
            Handshake::SynAck => to.fields(observation.into(), Kind::TcpSynAck),
        },
        Observation::Uptime(observation) => to.fields(observation.into(), Kind::Uptime),
        Observation::HostChange(observation) => to.fields(observation.into(), Kind::HostChange),
        Observation::IpSharing(observation) => to.fields(observation.into(), Kind::IpSharing),
        Observation::Mismatch(observation) => to.fields(observation.into(), Kind::Mismatch),
        Observation::Conflict(_) => {
            to.fields(FindingRecord::new(&Alert::new(event, AlertKind::Conflict)), Kind::Finding)
        }
        Observation::Finding(finding) => {
            let alert = Alert::new(event, finding.kind.alert());
            to.fields(FindingRecord::new(&alert).with_finding(finding), Kind::Finding)
        }
        Observation::Tool(found) => to.fields((&**found).into(), Kind::Tool),
        Observation::Connection(connection) => {
            to.fields(ConnectionRecord::new(connection, texts), Kind::Connection)
        }
        Observation::HttpRequest(observation) => {
            to.fields(HttpRequestRecord::new(observation, texts), Kind::HttpRequest)
        }
        Observation::HttpResponse(observation) => {
            to.fields(HttpResponseRecord::new(observation, texts), Kind::HttpResponse)
        }
        Observation::TlsClient(observation) => {
            to.fields(TlsClientRecord::new(observation, texts), Kind::TlsClient)
        }
        Observation::TlsServer(observation) => {
            to.fields(TlsServerRecord::new(observation, texts), Kind::TlsServer)
        }
        Observation::TlsHandshake(observation) => {
            to.fields(TlsHandshakeRecord::new(observation, texts), Kind::TlsHandshake)
        }
        Observation::TlsCertificates(observation) => {
            let record = TlsCertificatesRecord::new(observation, event.ts, texts);
            to.fields(record, Kind::TlsCertificates)
        }
        Observation::SshClient(observation) => {
            to.fields(SshClientRecord::new(observation, texts), Kind::SshClient)
        }
        Observation::SshServer(observation) => {
            to.fields(SshServerRecord::new(observation, texts), Kind::SshServer)
        }
        Observation::SshHandshake(observation) => {
            to.fields(SshHandshakeRecord::new(observation, texts), Kind::SshHandshake)
        }
        Observation::Match(found) => to.fields(MatchRecord::new(found, texts), Kind::Match),
        Observation::Own(own) => to.fields(OwnRecord::new(own, texts), Kind::Own),
    }
}

/// Adds the parts of an event to an object, in the order in which they are written. `add_kind` returns the fields that are
/// cut.
#[inline(always)]
fn add_parts<'a, O: Object, C: Borrow<Vec<Text<'a>>>>(
    object: &mut O,
    head: &Head<'_>,
    add_flow: impl FnOnce(&mut O) -> Result<(), O::Error>,
    alert: Option<&AlertFields<'_>>,
    add_kind: impl FnOnce(&mut O) -> Result<C, O::Error>,
) -> Result<(), O::Error> {
    head.add_to(object)?;
    add_flow(object)?;
    if let Some(alert) = alert {
        alert.add_to(object)?;
    }
    let cut = add_kind(object)?;
    object.add_unless_omitted(CUT_NAME, cut.borrow())
}

/// Adds the record of an event to an object. `add_flow` adds the fields of its flow.
#[inline(always)]
pub(crate) fn add_event<O: Object>(
    event: &Event,
    names: EventNames<'_>,
    object: &mut O,
    add_flow: impl FnOnce(&mut O) -> Result<(), O::Error>,
) -> Result<(), O::Error> {
    let head = Head::new(event, event.kind.event_name(), names);
    let alert = Alert::of(event).map(AlertFields::from);
    add_parts(object, &head, add_flow, alert.as_ref(), |object| {
        let mut cut = Vec::new();
        describe(event, &mut cut, AddTo(object))?;
        Ok(cut)
    })
}

/// Passes the values of an event to a visitor, in the order of [`fields_of_event`]: for formats of columns, which need no
/// names. `flow` is the record of its flow, which consecutive events often share.
pub fn visit_event(
    event: &Event,
    flow: &FlowRecord<'_>,
    names: EventNames<'_>,
    visitor: &mut impl ValueVisitor,
) {
    let object = &mut Visit(visitor);
    let Ok(()) = add_event(event, names, object, |object| flow.add_to(object));
}

impl Serialize for EventRecord<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Kind::Own(own) = &self.kind {
            return self.serialize_own(own, serializer);
        }
        // Only formats without names of fields use the number.
        let mut object = serializer.serialize_struct("EventRecord", Head::FIELDS.len())?;
        add_parts(
            &mut object,
            &self.head,
            |object| self.flow.add_to(object),
            self.alert.as_ref(),
            |object| self.kind.add_to(object).map(|()| &self.cut),
        )?;
        object.end()
    }
}

impl EventRecord<'_> {
    /// Serializes an event whose fields are known at run time, as a map.
    fn serialize_own<S: Serializer>(&self, own: &OwnRecord<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = AsMap(serializer.serialize_map(None)?);
        let Self { head, flow, cut, .. } = self;
        add_parts(
            &mut object,
            head,
            |object| flow.add_to(object),
            None,
            |object| {
                own.fields.iter().try_for_each(|(name, value)| object.0.serialize_entry(name, value))?;
                Ok(cut)
            },
        )?;
        object.0.end()
    }
}

/// An object whose names are known at run time.
struct AsMap<M>(M);

impl<M: SerializeMap> Object for AsMap<M> {
    type Error = M::Error;

    fn add<T: super::describe::Value>(&mut self, name: FieldName, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(name.as_str(), value)
    }

    fn add_unless_omitted<T: super::describe::Value + Omit>(
        &mut self,
        name: FieldName,
        value: &T,
    ) -> Result<(), M::Error> {
        if value.is_omitted() { Ok(()) } else { self.add(name, value) }
    }
}

impl<'de> Deserialize<'de> for EventRecord<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(flatten)]
            head: Head<'a>,
            #[serde(flatten)]
            flow: FlowRecord<'a>,
            #[serde(default)]
            cut: Vec<Text<'a>>,
            #[serde(flatten)]
            rest: Map<String, Value>,
        }
        let Line { head, flow, cut, rest } = Line::deserialize(deserializer)?;
        let name = head.event.to_string();
        let alert = match is_alert(&name) {
            true => Some(AlertFields::deserialize(Value::Object(rest.clone())).map_err(Error::custom)?),
            false => None,
        };
        let kind = Kind::read(&name, rest).map_err(Error::custom)?;
        Ok(Self { head, flow, alert, kind, cut })
    }
}
