//! Events of other protocols as records.

use huginn_net_core::Event;
use serde::Serialize;

use super::event::Head;
use super::flow::FlowRecord;

/// An event of a protocol of the caller's own, as one flat object: the fields that all events have, and those of its kind. The
/// names of the former are taken: `v`, `ts`, `event`, `subject`, `packet`, `file`, `interface`, `conflict`, `client`, `server`,
/// `tunnel` and `community_id`.
///
/// ```
/// use huginn_net::core::Event;
/// use huginn_net::record::CustomEventRecord;
///
/// #[derive(serde::Serialize)]
/// struct Banner {
///     banner: String,
/// }
///
/// fn line(event: &Event<Banner>) -> serde_json::Result<String> {
///     serde_json::to_string(&CustomEventRecord::new("ftp_server", event))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CustomEventRecord<'a, K> {
    /// The fields that all events have.
    #[serde(flatten)]
    pub head: Head<'a>,
    /// The flow.
    #[serde(flatten)]
    pub flow: FlowRecord<'a>,
    /// The fields of the kind: a struct or a map.
    #[serde(flatten)]
    pub kind: &'a K,
}

impl<'a, K> CustomEventRecord<'a, K> {
    /// Describes an event. `name` is the value of the field `event`.
    pub fn new(name: &'a str, event: &'a Event<K>) -> Self {
        Self { head: Head::new(event, name, None, None), flow: (&event.flow).into(), kind: &event.kind }
    }
}
