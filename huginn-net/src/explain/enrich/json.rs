//! Values of JSON lines, at the paths that other tools have.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::names::{ASKED, LineValues, ValueKind};
use crate::clients::ClientValueKind;

const JA4: ValueKind = ValueKind::Fingerprint(ClientValueKind::Ja4);
const JA3: ValueKind = ValueKind::Fingerprint(ClientValueKind::Ja3);
const HASSH: ValueKind = ValueKind::Fingerprint(ClientValueKind::Hassh);
const USER_AGENT: ValueKind = ValueKind::UserAgent;
const OWN: ValueKind = ValueKind::Own;

/// Paths of the values: EVE, Zeek, ECS, OCSF. `[]` is each element of a list. Dots separate objects, or are part of a name.
const PATHS: [(&str, ValueKind); 24] = [
    ("ja4", JA4),
    ("tls.ja4", JA4),
    ("quic.ja4", JA4),
    ("tls.client.ja4", JA4),
    ("ja3", JA3),
    ("ja3_hash", JA3),
    ("tls.ja3", JA3),
    ("tls.ja3.hash", JA3),
    ("quic.ja3.hash", JA3),
    ("tls.client.ja3", JA3),
    ("ja4_fingerprint_list.[].value", JA4),
    ("tls.ja3_hash.value", JA3),
    ("client_hassh.fingerprint.value", HASSH),
    ("http_request.user_agent", USER_AGENT),
    ("hassh", HASSH),
    ("ssh.client.hassh.hash", HASSH),
    ("http.http_user_agent", USER_AGENT),
    ("http_user_agent", USER_AGENT),
    ("user_agent", USER_AGENT),
    ("user_agent.original", USER_AGENT),
    ("http.user_agent", USER_AGENT),
    ("huginn", OWN),
    ("huginn.event", OWN),
    ("huginn.software", OWN),
];

/// The paths as a tree of names.
#[derive(Debug, Default)]
pub(super) struct Paths(Node);

#[derive(Debug, Default)]
struct Node {
    children: Vec<(Box<str>, Node)>,
    kind: Option<ValueKind>,
}

impl Node {
    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|(known, _)| **known == *name).map(|(_, child)| child)
    }

    fn add(&mut self, names: &[&str], kind: ValueKind) {
        let Some((first, others)) = names.split_first() else {
            self.kind = Some(kind);
            return;
        };
        if self.child(first).is_none() {
            self.children.push(((*first).into(), Self::default()));
        }
        if let Some((_, child)) = self.children.iter_mut().find(|(known, _)| **known == **first) {
            child.add(others, kind);
        }
    }
}

impl Paths {
    /// The known paths, and that of a column.
    pub(super) fn new(column: Option<&str>) -> Self {
        let mut root = Node::default();
        for (path, kind) in PATHS.into_iter().chain(column.map(|path| (path, ASKED))) {
            let names: Vec<&str> = path.split('.').collect();
            root.add(&names, kind);
            root.add(&[path], kind);
        }
        Self(root)
    }

    /// Reads the values of an object. Returns whether it is one, and not one that has names.
    pub(super) fn read(&self, object: &[u8], seen: &mut LineValues) -> bool {
        let mut reader = serde_json::Deserializer::from_slice(object);
        let values = Values { node: &self.0, seen };
        values.deserialize(&mut reader).is_ok() && reader.end().is_ok() && !seen.is_own
    }
}

/// Reads a value and those in it.
struct Values<'n, 's> {
    node: &'n Node,
    seen: &'s mut LineValues,
}

impl<'de> DeserializeSeed<'de> for Values<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Returns the methods for values that are not used.
macro_rules! ignored {
    ($($method:ident: $value:ty),+) => {$(
        fn $method<E>(self, _: $value) -> Result<(), E> {
            Ok(())
        }
    )+};
}

impl<'de> Visitor<'de> for Values<'_, '_> {
    type Value = ();

    ignored! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64 }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if let Some(kind) = self.node.kind {
            self.seen.take(kind, text);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let Self { node, seen } = self;
        match node.child("[]") {
            Some(node) => while values.next_element_seed(Values { node, seen })?.is_some() {},
            None => while values.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { node, seen } = self;
        while let Some(child) = fields.next_key_seed(Name(node))? {
            match child {
                Some(node) => {
                    seen.note(node.kind);
                    fields.next_value_seed(Values { node, seen })?;
                }
                None => _ = fields.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// Reads the name of a field: the node that it leads to.
struct Name<'n>(&'n Node);

impl<'de, 'n> DeserializeSeed<'de> for Name<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Name<'n> {
    type Value = Option<&'n Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.child(name))
    }
}
