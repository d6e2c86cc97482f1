//! Events as JSON Lines.

mod flow;

use std::fmt;
use std::str;

use super::describe::write_object;
use super::event::{EventNames, add_event};
use crate::Event;

/// An event as one flat JSON object (RFC 8259): its [record](crate::record::EventRecord).
///
/// Absent values are `null`, or left out where the record says so. [`Display`](fmt::Display) is the object, in one line.
///
/// ```
/// use huginn_net::record::JsonEvent;
/// use huginn_net::{CaptureReader, Event, HuginnNet};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
/// let mut print = |event: Event| println!("{}", JsonEvent::new(&event));
/// HuginnNet::builder().build().analyze(CaptureReader::open(path)?, &mut print)?;
/// # Ok::<_, huginn_net::AnalysisError<huginn_net::CaptureError>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JsonEvent<'a> {
    /// The event.
    pub event: &'a Event,
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
}

impl<'a> JsonEvent<'a> {
    /// Describes an event.
    pub fn new(event: &'a Event) -> Self {
        Self { event, file: None }
    }

    /// Names the capture file, if several are read.
    #[must_use]
    pub fn file(self, file: impl Into<Option<&'a str>>) -> Self {
        Self { file: file.into(), ..self }
    }

    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let Self { event, file } = *self;
        Self::write_with(event, EventNames { file, ..EventNames::default() }, out);
    }

    /// Appends the object of an event with these names, in UTF-8 and without a newline.
    #[inline]
    pub fn write_with(event: &Event, names: EventNames<'_>, out: &mut Vec<u8>) {
        write_object::<false>(out, |object| {
            add_event(event, names, object, |object| flow::add(object, &event.flow))
        });
    }
}

impl fmt::Display for JsonEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        self.write_to(&mut line);
        f.write_str(str::from_utf8(&line).map_err(|_| fmt::Error)?)
    }
}
