//! `Serialize` for fingerprints, and `Deserialize` for JA4.

use huginn_net_wire::{deserialize_from_text, serialize_as_text};

use crate::{ClientFamily, Ja3, Ja3Hash, Ja3s, Ja4, Ja4Hash, Ja4Head, Ja4Raw, Transport, Version};

serialize_as_text!(Ja4, Ja4Hash, Ja4Head, Ja4Raw, Ja3, Ja3s, Ja3Hash);
serialize_as_text!(ClientFamily, Transport, Version);
deserialize_from_text!(Ja4);
