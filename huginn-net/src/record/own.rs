//! The fields of events of protocols of the caller's own, which are known at run time.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use super::describe::{FieldInfo, Fields, OWN_NAME, Object, OwnFields, ValueType};
use super::text::LimitedTexts;
use crate::observation::OwnObservation;

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
