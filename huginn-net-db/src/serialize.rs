//! `Serialize` for labels and matches.

use huginn_net_core::serialize_as_text;
use serde::{Serialize, Serializer};

use crate::{
    ClientMatch, Difference, Distance, HttpMatch, HttpParams, Label, MatchKind, System, TcpMatch, TcpParams,
};

serialize_as_text!(System, TcpParams, HttpParams, MatchKind, Difference);

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

/// Serializes `library`, `application`, `versions`, `candidates`, `match` and, for a structural match, `nearest`.
impl Serialize for ClientMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            library: Option<&'a str>,
            application: Option<&'a str>,
            versions: Option<&'a str>,
            candidates: Vec<&'a str>,
            r#match: MatchKind,
            #[serde(skip_serializing_if = "Option::is_none")]
            nearest: Option<Nearest<'a>>,
        }
        #[derive(Serialize)]
        struct Nearest<'a> {
            ja4_s1: String,
            name: String,
            difference: &'a Difference,
        }
        let Self { software, kind, nearest } = self;
        Shape {
            library: software.library.as_deref(),
            application: software.application.as_deref(),
            versions: software.versions.as_deref(),
            candidates: software.candidates.iter().map(|text| &**text).collect(),
            r#match: *kind,
            nearest: nearest.as_ref().map(|nearest| Nearest {
                ja4_s1: nearest.ja4_s1.to_string(),
                name: nearest.software.to_string(),
                difference: &nearest.difference,
            }),
        }
        .serialize(serializer)
    }
}
