//! The fields of events of protocols of the caller's own, which are known at run time.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

use super::describe::{FieldInfo, FieldName, Fields, Object, Value, ValueType, ValueVisitor, field_name};
use super::text::LimitedTexts;
use crate::json;
use crate::observation::OwnObservation;

/// The name of the column of all fields.
pub(super) const OWN_NAME: FieldName = field_name!(own);

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

/// Fields that are known at run time.
#[derive(Clone, Copy)]
pub(crate) struct OwnFields<'a>(pub(crate) &'a Map<String, Json>);

impl OwnFields<'_> {
    /// Appends each field, with a comma before it.
    pub(crate) fn write_fields<const SPARSE: bool>(self, out: &mut Vec<u8>) {
        for (name, value) in self.0.iter().filter(|(_, value)| !SPARSE || !value.is_null()) {
            out.push(b',');
            json::write_text(out, name);
            out.push(b':');
            append(out, value);
        }
    }
}

fn append(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to memory does not fail, and names of fields are texts.
    let _ = serde_json::to_writer(out, value);
}

impl fmt::Display for OwnFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for OwnFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Value for OwnFields<'_> {
    const TYPE: ValueType = ValueType::Text;

    fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
        visitor.display(self);
    }

    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
        append(out, self.0);
    }
}
