//! The JSON Schema of events and hosts.

use serde_json::{Map, Value, json};

use super::describe::{FieldInfo, ValueType};
use super::event::{EVENT_NAMES, fields_of_event};

/// What a sensor says about itself.
const SENSOR_RECORDS: [&str; 2] = ["statistics", "loss"];

/// The JSON Schema (draft 2020-12) of the lines of `--format json`: `docs/events.schema.json`. `host`: the fields of a host,
/// [`fields_of_host`](crate::hosts::fields_of_host).
pub fn events_schema(host: &[FieldInfo]) -> Value {
    let names = EVENT_NAMES.iter().copied().chain(["host"]);
    let mut kinds = Map::new();
    for name in names.clone() {
        let fields = fields_of_event(name).unwrap_or_else(|| host.to_vec());
        let mut schema = object(&fields);
        // The name decides which other fields there are.
        if let Some(event) = schema.pointer_mut("/properties/event") {
            *event = json!({"const": name});
        }
        kinds.insert(name.to_owned(), schema);
    }
    // Lines of `live --statistics`.
    for name in SENSOR_RECORDS {
        let schema = json!({
            "type": "object",
            "required": ["v", "ts", "event", "interval", "seq"],
            "properties": {
                "v": {"type": "integer"},
                "ts": {"type": "string", "format": "date-time"},
                "event": {"const": name},
                "interval": {"type": "object", "description": "What happened since the last record of the kind."},
                "counters": {"type": "object", "description": "Counters since the start of the program."},
                "seq": {"type": "integer", "minimum": 1, "description": "Number of the record in its output."},
            },
        });
        kinds.insert(name.to_owned(), schema);
    }
    let names = names.chain(SENSOR_RECORDS);
    let references: Vec<Value> = names.map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events of huginn-net",
        "description": "A line of --format json. New fields do not change the version v: readers ignore fields that they do not know.",
        "oneOf": references,
        "$defs": kinds,
    })
}

/// An object with these fields, and others of newer versions.
fn object(fields: &[FieldInfo]) -> Value {
    let required: Vec<&str> =
        fields.iter().filter(|field| !field.is_optional).map(|field| field.name).collect();
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let mut schema = value(field.value_type);
            if field.is_nullable {
                schema = json!({"anyOf": [schema, {"type": "null"}]});
            }
            if let Value::Object(schema) = &mut schema {
                schema.insert("description".into(), field.meaning.into());
            }
            (field.name.to_owned(), schema)
        })
        .collect();
    json!({"type": "object", "required": required, "properties": properties})
}

fn value(of: ValueType) -> Value {
    match of {
        ValueType::Text => json!({"type": "string"}),
        ValueType::Bool => json!({"type": "boolean"}),
        ValueType::Integer { bits } => {
            json!({"type": "integer", "minimum": 0, "maximum": u64::MAX >> 64_u32.saturating_sub(bits).min(63)})
        }
        ValueType::Float => json!({"type": "number"}),
        ValueType::Time => json!({"type": "string", "format": "date-time"}),
        ValueType::Object(fields) => object(fields),
        ValueType::List(element) => json!({"type": "array", "items": value(*element)}),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The type of a value in JSON.
    fn json_type(of: ValueType) -> String {
        match of {
            ValueType::Text => "text".to_owned(),
            ValueType::Bool => "truth value".to_owned(),
            ValueType::Integer { .. } => "integer".to_owned(),
            ValueType::Float => "number".to_owned(),
            ValueType::Time => "time".to_owned(),
            ValueType::Object(_) => "object".to_owned(),
            ValueType::List(element) => format!("list of {}", json_type(*element)),
        }
    }

    /// Adds the types of fields and of the fields in them.
    fn add_types(
        before: &str,
        fields: &[FieldInfo],
        event: &'static str,
        types: &mut BTreeMap<String, (&'static str, String)>,
    ) {
        for field in fields {
            let path = format!("{before}{}", field.name);
            add_types(&format!("{path}."), field.value_type.fields(), event, types);
            let found = json_type(field.value_type);
            let (first, known) = types.entry(path).or_insert((event, found.clone()));
            assert_eq!(*known, found, "{before}{} of {first} and of {event}", field.name);
        }
    }

    /// Programs that infer types, and indices of Elasticsearch, have one type for a path.
    #[test]
    fn path_has_the_same_type_in_all_events() {
        let mut types = BTreeMap::new();
        for &event in EVENT_NAMES {
            add_types("", &fields_of_event(event).unwrap(), event, &mut types);
        }
        add_types("", crate::hosts::fields_of_host(), "host", &mut types);
        assert!(types.len() > 100);
    }
}
