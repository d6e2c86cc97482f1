//! `Serialize` for labels and matches.

use huginn_net_core::serialize_as_text;
use serde::{Serialize, Serializer};

use crate::{Distance, HttpMatch, HttpParams, Label, System, TcpMatch, TcpParams};

serialize_as_text!(System, TcpParams, HttpParams);

/// Serializes `class` (`!` for software that is not part of a system), `name`, `flavor` and `generic`.
impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            class: &'a str,
            name: &'a str,
            flavor: Option<&'a str>,
            generic: bool,
        }
        Shape {
            class: self.class.as_deref().unwrap_or("!"),
            name: &self.name,
            flavor: self.flavor.as_deref(),
            generic: self.generic,
        }
        .serialize(serializer)
    }
}

/// Serializes `hops` and `at_most`.
impl Serialize for Distance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            hops: u8,
            at_most: bool,
        }
        Shape { hops: self.hops, at_most: self.at_most }.serialize(serializer)
    }
}

/// Serializes `label`, `fuzzy`, `distance` and `line`.
impl Serialize for TcpMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            label: &'a Label,
            fuzzy: bool,
            distance: Distance,
            line: u32,
        }
        let Self { label, fuzzy, distance, line } = self;
        Shape { label, fuzzy: *fuzzy, distance: *distance, line: *line }.serialize(serializer)
    }
}

/// Serializes `label`, `dishonest` and `line`.
impl Serialize for HttpMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            label: &'a Label,
            dishonest: bool,
            line: u32,
        }
        let Self { label, dishonest, line } = self;
        Shape { label, dishonest: *dishonest, line: *line }.serialize(serializer)
    }
}
