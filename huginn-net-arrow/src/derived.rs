//! Columns that records do not have: values of the event or its flow.

use huginn_net::record::{EVENT_NAMES, ValueVisitor};
use huginn_net::tls::Version;
use huginn_net::{Event, Observation};

use crate::row::Row;

/// A column of text that no field of a record describes.
pub(crate) struct DerivedColumn {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// The events that have it.
    pub(crate) events: &'static [&'static str],
    /// Sets the value.
    pub(crate) set: fn(&Event, &mut Row<'_>),
}

/// All such columns. A row whose record has the value keeps that.
pub(crate) static DERIVED: [DerivedColumn; 2] = [
    DerivedColumn {
        name: "host_ip",
        meaning: "Address of the subject",
        events: EVENT_NAMES,
        set: |event, row| row.display(event.subject.choose(event.flow.client, event.flow.server).ip()),
    },
    DerivedColumn {
        name: "tls_version_name",
        meaning: "Its name, such as TLS 1.3; null of drafts",
        events: &["connection", "tls_client", "tls_server", "tls_handshake"],
        set: |event, row| match tls_version(event).and_then(Version::name) {
            Some(name) => row.text(name),
            None => row.absent(1),
        },
    },
];

fn tls_version(event: &Event) -> Option<Version> {
    match &event.kind {
        Observation::TlsClient(observation) => Some(observation.client.hello.version()),
        Observation::TlsServer(observation) => Some(observation.server.hello.version()),
        Observation::TlsHandshake(observation) => observation.handshake.version,
        Observation::Connection(connection) => connection.tls_version,
        _ => None,
    }
}
