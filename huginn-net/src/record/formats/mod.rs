//! Events in the formats of other tools: Suricata's EVE, Zeek's logs, ECS and OCSF.
//!
//! One table maps the fields of events to the four formats; docs/formats.md is made of it. A field that a format cannot
//! hold goes under a name of our own: `huginn`, and `unmapped` in OCSF.
//!
//! ```
//! use huginn_net::record::formats::{EventFormat, FormattedEvent};
//! use huginn_net::{CaptureReader, Event, HuginnNet};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
//! let mut lines = Vec::new();
//! let mut write = |event: Event| lines.push(FormattedEvent::new(EventFormat::Eve, &event).to_string());
//! HuginnNet::builder().build().analyze(CaptureReader::open(path)?, &mut write)?;
//!
//! let hellos = lines.iter().filter(|line| line.contains(r#""event_type":"tls""#) && line.contains(r#""ja4":"#));
//! assert_eq!(hellos.count(), 6);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod alert;
mod certificate;
mod page;
mod plan;
mod sensor_record;
mod table;
mod values;
mod writer;
#[doc(hidden)]
pub mod zeek;

use std::fmt;
use std::str;

use serde_json::Value;

pub use self::page::formats_page;
use self::plan::{FormatPlan, Target};
#[doc(hidden)]
pub use self::sensor_record::{PacketTotals, SensorRecord, SensorRecordKind};
use crate::Event;

huginn_net_core::table_enum! {
    /// A format of another tool. Each event is one JSON object.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum EventFormat {
        /// EVE of Suricata 8.
        Eve: "EVE";
        /// Logs of Zeek, with their name in `_path`.
        Zeek: "Zeek";
        /// Elastic Common Schema 9.
        Ecs: "ECS";
        /// Open Cybersecurity Schema Framework 1.5.
        Ocsf: "OCSF";
    }
    /// The name of the format in the documentation.
    fn title -> &'static str = 0;
}

impl EventFormat {
    /// The place in [`Self::ALL`].
    const fn number(self) -> usize {
        self as usize
    }

    /// The object of fields that the format does not define.
    const fn own_object(self) -> &'static str {
        match self {
            Self::Ocsf => "unmapped",
            _ => "huginn",
        }
    }

    /// Whether events have a field where [`OwnFields`] would have one with this name.
    pub fn has_own_field(self, name: &str) -> bool {
        FormatPlan::get(self).has_own_field(name)
    }

    /// Whether dots in names separate objects. Zeek has dots in the names of columns.
    const fn has_objects(self) -> bool {
        !matches!(self, Self::Zeek)
    }
}

/// An event in the format of another tool: one JSON object (RFC 8259).
///
/// Absent values are left out. [`Display`](fmt::Display) is the object, in one line.
#[derive(Clone, Copy, Debug)]
pub struct FormattedEvent<'a> {
    format: EventFormat,
    event: &'a Event,
    file: Option<&'a str>,
    interface: Option<&'a str>,
    own_fields: Option<&'a OwnFields>,
}

/// What the user adds to each event in a format: the name of the sensor, and fields with texts.
///
/// ```
/// use huginn_net::record::formats::{EventFormat, FormattedEvent, OwnFields};
/// # use huginn_net::{CaptureReader, Event, HuginnNet};
///
/// let own = OwnFields::new(EventFormat::Ecs, Some("berlin-1"), [("site", "berlin")]);
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
/// # let write = |event: Event| {
/// let line = FormattedEvent::new(EventFormat::Ecs, &event).with_own_fields(&own).to_string();
/// assert!(line.contains(r#""observer":{"name":"berlin-1"}"#) && line.contains(r#""labels":{"site":"berlin"}"#));
/// # };
/// # HuginnNet::builder().build().analyze(CaptureReader::open(path)?, write)?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnFields {
    /// By their object, with a comma before each.
    fields: Vec<(usize, Vec<u8>)>,
}

impl OwnFields {
    /// The name of the sensor, and pairs of a name and a text. No name may be one of a field of events
    /// ([`EventFormat::has_own_field`]).
    pub fn new<'f>(
        format: EventFormat,
        sensor: Option<&str>,
        fields: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Self {
        let plan = FormatPlan::get(format);
        let json =
            |name: &str, text: &str| format!(",{}:{}", Value::from(name), Value::from(text)).into_bytes();
        let sensor = sensor.map(|text| (plan.sensor.object, json(&plan.sensor.name, text)));
        let Target { object, name: pattern, .. } = &plan.own_field;
        let fields = fields.into_iter();
        let fields = fields.map(|(name, text)| (*object, json(&pattern.replace("NAME", name), text)));
        Self { fields: sensor.into_iter().chain(fields).collect() }
    }

    /// Adds the number of a record. `json`: its digits, or what the caller replaces by them later.
    #[doc(hidden)]
    #[must_use]
    pub fn with_sequence(mut self, format: EventFormat, json: &str) -> Self {
        let Target { object, name, .. } = &FormatPlan::get(format).sequence;
        self.fields.push((*object, format!(",{}:{json}", Value::from(name.as_str())).into_bytes()));
        self
    }
}

impl<'a> FormattedEvent<'a> {
    /// An event in a format.
    pub const fn new(format: EventFormat, event: &'a Event) -> Self {
        Self { format, event, file: None, interface: None, own_fields: None }
    }

    /// Names the capture file and the interface, if there are several.
    pub const fn with_names(self, file: Option<&'a str>, interface: Option<&'a str>) -> Self {
        Self { file, interface, ..self }
    }

    /// Adds fields of the user. They must be of the same format.
    pub const fn with_own_fields(self, fields: &'a OwnFields) -> Self {
        Self { own_fields: Some(fields), ..self }
    }

    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        writer::write(self, out);
    }
}

impl fmt::Display for FormattedEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        self.write_to(&mut line);
        f.write_str(str::from_utf8(&line).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests;
