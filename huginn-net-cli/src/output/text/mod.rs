//! Events as text.

mod blocks;
mod certificates;
mod days;
mod fields;
mod lines;
#[cfg(unix)]
mod syslog;
mod writer;

#[cfg(unix)]
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use huginn_net::Event;
use huginn_net::p0f::P0fLine;
#[cfg(unix)]
use huginn_net::record::formats::SensorRecord;
use huginn_net::record::formats::{self, EventFormat, FormattedEvent};
use huginn_net::record::{EventNames, JsonEvent};
use huginn_net_live::InterfaceNames;

use self::blocks::Blocks;
pub(crate) use self::blocks::{certificate_problems, certificate_remarks};
pub(crate) use self::certificates::RepeatedCertificates;
pub(crate) use self::days::DayHeadings;
use self::fields::Fields;
pub(crate) use self::lines::{Lines, certificates_in_words, handshake_in_words};
#[cfg(unix)]
pub(crate) use self::syslog::{Syslog, SyslogForm};
pub(crate) use self::writer::TextWriter;
use super::own_fields::{OwnFields, add_to_object};
use super::{Selected, Zone};

/// What a text has in place of its number. No JSON has this byte, which texts escape.
const NUMBER_MARK: &str = "\0";

/// Formats of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// A readable line.
    Lines,
    /// A readable block.
    Blocks,
    Json,
    Csv,
    Tsv,
    /// Objects of another tool.
    Other(EventFormat),
    /// Lines of p0f's log.
    P0fLog,
    /// Blocks of p0f's output.
    P0fBlocks,
}

/// How events are written as text.
#[derive(Clone, Debug)]
pub(crate) struct TextOptions {
    pub(crate) format: TextFormat,
    /// The events that are written.
    pub(crate) selected: Selected,
    /// Paths of the columns of CSV and TSV, and of the fields of JSON; all fields if empty.
    pub(crate) fields: Vec<String>,
    pub(crate) own_fields: OwnFields,
    /// Whether JSON has the identifier of the connection.
    pub(crate) connection_ids: bool,
    /// Whether JSON has a certificate completely each time, and not only once in a file.
    pub(crate) repeats_certificates: bool,
    pub(crate) has_colour: bool,
    pub(crate) zone: Zone,
    /// Whether JSON has a place for the number of the record in its output.
    pub(crate) is_numbered: bool,
    /// How events are framed as messages of syslog, if they are.
    #[cfg(unix)]
    pub(crate) syslog: Option<Syslog>,
}

#[cfg(unix)]
impl TextOptions {
    /// All events with all that the format has.
    pub(crate) fn new(format: TextFormat) -> Self {
        Self {
            format,
            selected: Selected::default(),
            fields: Vec::new(),
            own_fields: OwnFields::default(),
            connection_ids: false,
            repeats_certificates: true,
            has_colour: false,
            zone: Zone::new(false),
            is_numbered: false,
            syslog: None,
        }
    }

    /// Whether an event that both write has the same text in both.
    pub(crate) fn has_text_of(&self, other: &Self) -> bool {
        let Self {
            format,
            selected: _,
            fields,
            own_fields,
            connection_ids,
            repeats_certificates: _,
            has_colour,
            zone,
            is_numbered,
            syslog,
        } = self;
        *format == other.format
            && *fields == other.fields
            && *own_fields == other.own_fields
            && *connection_ids == other.connection_ids
            && *has_colour == other.has_colour
            && zone.name() == other.zone.name()
            && *is_numbered == other.is_numbered
            && *syslog == other.syslog
    }
}

/// Renders events as text.
pub(crate) struct Renderer {
    options: TextOptions,
    blocks: Blocks,
    lines: Lines,
    fields: Fields,
    /// What the user adds to JSON, with a comma before each field.
    own_json: String,
    /// What the user adds to the format of another tool.
    own_formatted: Option<formats::OwnFields>,
    /// Names of the interfaces, by their index; empty unless events name theirs.
    interfaces: InterfaceNames,
    file: Option<String>,
}

impl Renderer {
    pub(crate) fn new(mut options: TextOptions) -> Self {
        let fields = std::mem::take(&mut options.fields);
        let number = options.is_numbered.then_some(NUMBER_MARK);
        let own_formatted = match options.format {
            TextFormat::Other(format) => options.own_fields.formatted(format, number),
            _ => None,
        };
        let own_json =
            options.own_fields.json() + &number.map_or_else(String::new, |mark| format!(",\"seq\":{mark}"));
        let own_fields = options.own_fields.iter().map(|(name, text)| (name.to_owned(), text.to_owned()));
        Self {
            blocks: Blocks::new(options.has_colour, options.zone.clone()),
            lines: Lines::new(options.has_colour, options.zone.clone()),
            fields: Fields::new(fields, own_fields.collect(), options.format == TextFormat::Tsv),
            own_json,
            own_formatted,
            options,
            interfaces: InterfaceNames::default(),
            file: None,
        }
    }

    /// Names the interface of each event. `names`: by their index; empty unless events name theirs.
    #[cfg(unix)]
    pub(crate) fn with_interfaces(self, names: InterfaceNames) -> Self {
        Self { interfaces: names, ..self }
    }

    /// Headings between the events, if they are lines and not messages.
    pub(crate) fn day_headings(&self) -> Option<DayHeadings> {
        #[cfg(unix)]
        if self.options.syslog.is_some() {
            return None;
        }
        (self.options.format == TextFormat::Lines).then(|| DayHeadings::new(self.options.zone.clone()))
    }

    /// Shortens repeated certificates in the output, if they are written once.
    pub(crate) fn repeated_certificates(&self) -> Option<RepeatedCertificates> {
        (!self.options.repeats_certificates).then(RepeatedCertificates::default)
    }

    /// Sets the file that the next events come from; `None` unless events name their file.
    pub(crate) fn set_file(&mut self, name: Option<String>) {
        self.file = name;
    }

    /// The line of headings of a table; empty in other formats.
    pub(crate) fn headings(&self) -> Vec<u8> {
        let mut line = Vec::new();
        if matches!(self.options.format, TextFormat::Csv | TextFormat::Tsv) {
            // Writing to memory does not fail.
            let _ = self.fields.write_headings(&mut line);
        }
        line
    }

    /// Appends an event as text that stands for itself, whatever is written before and after.
    #[cfg(unix)]
    pub(crate) fn render_live(&self, event: &Event, text: &mut Vec<u8>) {
        let before = text.len();
        self.render(event, text);
        if text.len() == before {
            return;
        }
        if let Some(syslog) = &self.options.syslog {
            let event_text = text.split_off(before);
            syslog.write(event, &event_text, text);
        } else if self.options.format == TextFormat::Blocks {
            text.push(b'\n');
        }
    }

    /// Appends a record of the sensor; nothing where the format has none for it.
    #[cfg(unix)]
    pub(crate) fn render_record(&self, record: &SensorRecord, text: &mut Vec<u8>) {
        let mut line = Vec::new();
        match self.options.format {
            TextFormat::Json => {
                record.write_json(&mut line);
                add_to_object(&mut line, &self.own_json);
            }
            TextFormat::Other(format) => {
                let sensor = self.options.own_fields.sensor.as_deref();
                record.write_to(format, sensor, self.own_formatted.as_ref(), &mut line);
            }
            _ => {}
        }
        if line.is_empty() {
            return;
        }
        line.push(b'\n');
        match &self.options.syslog {
            Some(syslog) => syslog.write_record(record, &line, text),
            None => text.extend_from_slice(&line),
        }
    }

    /// Appends an event as text; nothing where the format has none for it.
    pub(crate) fn render(&self, event: &Event, text: &mut Vec<u8>) {
        if !self.selects(event) {
            return;
        }
        // Writing to memory does not fail.
        match self.options.format {
            TextFormat::Lines => self.lines.write(text, event, self.interface(event).as_deref()),
            TextFormat::Blocks => self.blocks.write(text, event, self.file.as_deref()),
            TextFormat::Json if self.fields.is_empty() => {
                self.write_json(event, text);
                add_to_object(text, &self.own_json);
                text.push(b'\n');
            }
            TextFormat::Json => {
                let mut json = Vec::new();
                self.write_json(event, &mut json);
                let _ = self.fields.write_json(&json, text);
                add_to_object(text, &self.own_json);
                text.push(b'\n');
            }
            TextFormat::Csv | TextFormat::Tsv => {
                let mut json = Vec::new();
                self.write_json(event, &mut json);
                let _ = self.fields.write(&json, text);
            }
            TextFormat::Other(format) => {
                let formatted = FormattedEvent::new(format, event);
                let interface = self.interface(event);
                let mut formatted = formatted.with_names(self.file.as_deref(), interface.as_deref());
                if let Some(own) = &self.own_formatted {
                    formatted = formatted.with_own_fields(own);
                }
                formatted.write_to(text);
                text.push(b'\n');
            }
            TextFormat::P0fLog => {
                for line in P0fLine::lines_from_event(event) {
                    let _ = writeln!(text, "{line}");
                }
            }
            TextFormat::P0fBlocks => {
                for line in P0fLine::lines_from_event(event) {
                    let _ = write!(text, "{}", line.block());
                }
            }
        }
    }

    /// Whether an event is written.
    pub(crate) fn selects(&self, event: &Event) -> bool {
        self.options.selected.contains(event, self.file.as_deref(), self.interface(event).as_deref())
    }

    fn write_json(&self, event: &Event, text: &mut Vec<u8>) {
        let interface = self.interface(event);
        let names = EventNames {
            file: self.file.as_deref(),
            interface: interface.as_deref(),
            connection_id: self.options.connection_ids,
        };
        JsonEvent::write_with(event, names, text);
    }

    /// The name of the interface that captured the packet, if events name it.
    fn interface(&self, event: &Event) -> Option<Arc<str>> {
        self.interfaces.get(event.ts.interface())
    }
}

/// A text with its number. A text of options without numbers has none.
#[cfg(unix)]
pub(crate) fn with_number(text: &[u8], number: u64) -> Cow<'_, [u8]> {
    // Most formats have it near their end.
    let is_mark = |byte: &u8| NUMBER_MARK.as_bytes() == [*byte];
    match text.iter().rposition(is_mark).and_then(|at| text.split_at_checked(at)) {
        Some((before, rest)) => {
            let after = rest.get(NUMBER_MARK.len()..).unwrap_or_default();
            Cow::Owned([before, number.to_string().as_bytes(), after].concat())
        }
        None => Cow::Borrowed(text),
    }
}
