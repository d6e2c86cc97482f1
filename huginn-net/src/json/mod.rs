//! Events and hosts as JSON Lines.

mod escape;
mod flow;
mod object;
mod serializer;

use std::fmt;
use std::str;

pub(crate) use self::object::{
    Buffer, write_display, write_if_plain, write_list, write_number, write_plain, write_record, write_text,
    write_with,
};
pub(crate) use self::serializer::{append, append_present, is_absent};
use crate::Event;
use crate::hosts::HostProfile;
use crate::record::{HostRecord, add_event};

/// An event as one flat JSON object (RFC 8259): its [record](crate::record::EventRecord).
///
/// Absent values are `null`, or left out where the record says so. [`Display`](fmt::Display) is the object, in one line.
#[derive(Clone, Copy, Debug)]
pub struct JsonEvent<'a> {
    /// The event.
    pub event: &'a Event,
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
}

impl JsonEvent<'_> {
    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write(None, out);
    }

    /// As [`write_to`](Self::write_to), with the name of the interface that captured the packet.
    pub fn write_with_interface(&self, interface: &str, out: &mut Vec<u8>) {
        self.write(Some(interface), out);
    }

    #[inline]
    fn write(&self, interface: Option<&str>, out: &mut Vec<u8>) {
        let Self { event, file } = *self;
        object::write_object(out, |object| {
            add_event(event, file, interface, object, |object| flow::add(object, &event.flow))
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

/// A host profile and its verdict as an event `host`: one JSON object (RFC 8259), its [record](HostRecord).
///
/// Absent values are `null`, or left out where the record says so. [`Display`](fmt::Display) is the object, in one line.
#[derive(Clone, Copy, Debug)]
pub struct JsonHost<'a> {
    /// The host.
    pub host: &'a HostProfile,
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
}

impl JsonHost<'_> {
    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        append(out, &HostRecord::new(self.host, self.file));
    }
}

impl fmt::Display for JsonHost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        self.write_to(&mut line);
        f.write_str(str::from_utf8(&line).map_err(|_| fmt::Error)?)
    }
}
