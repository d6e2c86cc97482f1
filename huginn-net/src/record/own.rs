//! The fields of events of protocols of the caller's own, which are known at run time.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use super::EVENT_NAMES;
use super::describe::{FieldInfo, Fields, OWN_NAME, Object, OwnFields, ValueType};
use super::text::LimitedTexts;
use crate::observation::{OwnEvent, OwnObservation};

/// Fields that all events have: an own field of such a name gets `own_` before it.
const TAKEN: [&str; 15] = [
    "v",
    "ts",
    "event",
    "subject",
    "packet",
    "file",
    "interface",
    "connection_id",
    "conflict",
    "transport",
    "client",
    "server",
    "tunnel",
    "community_id",
    "cut",
];

/// An event of a protocol of the caller's own: the fields of its kind, which JSON has beside those of all events. In tables, one column
/// has them as JSON.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OwnRecord<'a> {
    /// The fields.
    pub fields: Cow<'a, Map<String, Json>>,
}

impl<'a> OwnRecord<'a> {
    pub(super) const FIELDS: &'static [FieldInfo] = &[FieldInfo {
        name: OWN_NAME.as_str(),
        column: OWN_NAME.as_str(),
        meaning: "Fields of an event of an own protocol, as JSON",
        value_type: ValueType::Text,
        is_nullable: false,
        is_optional: false,
    }];

    pub(super) fn new(own: &'a OwnObservation, texts: &mut LimitedTexts<'a, '_>) -> Self {
        texts.cut.extend(own.cut().map(Into::into));
        Self { fields: Cow::Borrowed(own.fields()) }
    }
}

impl Fields for OwnRecord<'_> {
    fn add_to<O: Object>(&self, object: &mut O) -> Result<(), O::Error> {
        object.add_own(&OwnFields(&self.fields))
    }
}

impl<'de> Deserialize<'de> for OwnRecord<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|fields| Self { fields: Cow::Owned(fields) })
    }
}

impl OwnObservation {
    /// Describes an event. One that serde does not serialize as a struct or a map has the field `value`.
    pub fn new<T: OwnEvent>(event: T) -> Self {
        const { assert!(is_free(T::NAME), "the name of an own event is that of a built-in one") };
        let fields = match serde_json::to_value(&event) {
            Ok(Json::Object(fields)) => fields,
            Ok(value) => Map::from_iter([("value".to_owned(), value)]),
            Err(error) => Map::from_iter([("error".to_owned(), Json::String(error.to_string()))]),
        };
        let free = |(name, value): (String, Json)| {
            let is_taken = TAKEN.contains(&&*name);
            (if is_taken { format!("own_{name}") } else { name }, value)
        };
        let fields = fields.into_iter().map(free).collect();
        Self { name: T::NAME, event: Arc::new(event), fields, cut: Vec::new() }
    }
}

/// Whether no built-in event has this name.
const fn is_free(name: &str) -> bool {
    let mut names: &[&str] = EVENT_NAMES;
    while let [taken, rest @ ..] = names {
        if are_equal(taken.as_bytes(), name.as_bytes()) {
            return false;
        }
        names = rest;
    }
    true
}

const fn are_equal(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([first, a_rest @ ..], [second, b_rest @ ..]) = (a, b) {
        if *first != *second {
            return false;
        }
        (a, b) = (a_rest, b_rest);
    }
    a.is_empty() && b.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_built_in_events_are_not_free() {
        assert!(EVENT_NAMES.iter().copied().all(|name| !is_free(name)));
        assert!(["login", "tcp", "tcp_syn2", ""].into_iter().all(is_free));
    }
}
