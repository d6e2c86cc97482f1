//! `Serialize` and `Deserialize` for signatures, and checks of clocks that are read.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use crate::{Clock, ClockReading, Handshake, TcpSignature};

/// The text of a signature, and what the text lacks.
#[derive(serde::Serialize, serde::Deserialize)]
struct SignatureShape {
    raw_sig: String,
    handshake: Handshake,
    // The text may have a multiple instead of the window, which may be one of the peer's segment size.
    window: u16,
    has_multiple: bool,
    traffic_class: u8,
    timestamp: u32,
}

impl Serialize for TcpSignature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { handshake, window, traffic_class, timestamp, .. } = *self;
        let (raw_sig, has_multiple) = (self.to_string(), self.window_multiple.is_some());
        SignatureShape { raw_sig, handshake, window, has_multiple, traffic_class, timestamp }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TcpSignature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shape = SignatureShape::deserialize(deserializer)?;
        let SignatureShape { handshake, window, traffic_class, timestamp, .. } = shape;
        let parsed: Self = shape.raw_sig.parse().map_err(D::Error::custom)?;
        let window_multiple = parsed.window_multiple.filter(|_| shape.has_multiple);
        Ok(Self { handshake, window, window_multiple, traffic_class, timestamp, ..parsed })
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Shape {
            reading: ClockReading,
            ticks: u32,
            millis: u32,
        }
        let Shape { reading, ticks, millis } = Shape::deserialize(deserializer)?;
        Self::measured(reading, ticks, millis).ok_or_else(|| D::Error::custom("no clock has this frequency"))
    }
}
