//! Forms in which serde stores parts of hosts and updates.

use std::borrow::Cow;
use std::str;

use huginn_net_core::{Timestamp, TunnelLayer, TunnelPath};
use huginn_net_http::language as languages;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::MAX_SOFTWARE_LEN;
use crate::observation::StaticText;

/// Whether a field need not be stored.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a list of at most `MAX` values, without room for more.
pub(super) fn at_most<'de, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let mut values = Vec::deserialize(deserializer)?;
    values.truncate(MAX);
    values.shrink_to_fit();
    Ok(values)
}

/// Reads the name of a language that the table has.
pub(super) fn language<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StaticText>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.as_deref().and_then(languages::known))
}

/// A time by its nanoseconds since the Unix epoch, and the decimals of a second that are shown.
pub(super) mod time {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        ts: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        (ts.as_nanos(), ts.digits()).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        Deserialize::deserialize(deserializer).map(|(nanos, digits)| Timestamp::from_nanos(nanos, digits))
    }
}

/// A tunnel by its layers and the word of its key.
pub(super) mod tunnel {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        tunnel: &Option<Box<TunnelPath>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        tunnel.as_deref().map(|path| (path.layers(), path.key_word())).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Box<TunnelPath>>, D::Error> {
        let Some((layers, key_word)) = Option::<(Vec<TunnelLayer>, u64)>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let path = TunnelPath::with_key_word(&layers, key_word);
        path.map(|path| Some(Box::new(path)))
            .ok_or_else(|| D::Error::invalid_length(layers.len(), &"fewer layers"))
    }
}

/// Bytes, as text if they are UTF-8.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Bytes<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        str::from_utf8(bytes).map_or(Self::Bytes(bytes.into()), |text| Self::Text(text.into()))
    }

    pub(super) fn to_boxed_slice(&self) -> Box<[u8]> {
        match self {
            Self::Text(text) => text.as_bytes().into(),
            Self::Bytes(bytes) => (**bytes).into(),
        }
    }
}

/// Bytes, as text if they are UTF-8.
pub(super) mod bytes {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &impl AsRef<[u8]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Bytes::new(bytes.as_ref()).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u8]>, D::Error> {
        let bytes = Bytes::deserialize(deserializer)?.to_boxed_slice();
        match bytes.len() {
            len if len > MAX_SOFTWARE_LEN => Err(D::Error::invalid_length(len, &"a shorter text")),
            _ => Ok(bytes),
        }
    }
}
