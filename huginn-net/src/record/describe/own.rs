//! The fields of events of protocols of the caller's own.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use super::{FieldName, Value, ValueType, ValueVisitor, field_name};
use crate::json;

/// The name of the column of all fields.
pub(crate) const OWN_NAME: FieldName = field_name!(own);

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
