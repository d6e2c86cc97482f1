//! `Serialize` for fingerprints and events.

use huginn_net_core::serialize_as_text;
use serde::{Serialize, Serializer};

use crate::{Clock, Handshake, IpVersion, Mtu, OptionLayout, Quirks, TcpEvent, TcpSignature, WindowMultiple};

serialize_as_text!(TcpSignature, Quirks, OptionLayout, WindowMultiple);

/// Serializes as the number of bytes.
impl Serialize for Mtu {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

/// Serializes as 4 or 6.
impl Serialize for IpVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Self::V4 => 4,
            Self::V6 => 6,
        })
    }
}

/// Serializes as `syn` or `syn_ack`.
impl Serialize for Handshake {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
        })
    }
}

/// Serializes `minutes`, `modulo_days`, `frequency_hz` and `raw_frequency_hz`.
impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            minutes: u32,
            modulo_days: u32,
            frequency_hz: u32,
            raw_frequency_hz: f64,
        }
        Shape {
            minutes: self.uptime_minutes(),
            modulo_days: self.modulo_days(),
            frequency_hz: self.frequency(),
            raw_frequency_hz: self.raw_frequency(),
        }
        .serialize(serializer)
    }
}

/// Serializes `event` (`tcp_syn`, `tcp_syn_ack`, `mtu`, `sendsyn_probe`, `sendsyn_response` or `clock`), and `sig`,
/// `mtu` or the fields of the [clock](Clock).
impl Serialize for TcpEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        enum Shape<'a> {
            TcpSyn { sig: &'a TcpSignature },
            TcpSynAck { sig: &'a TcpSignature },
            Mtu { mtu: Mtu },
            SendsynProbe { sig: &'a TcpSignature },
            SendsynResponse { sig: &'a TcpSignature },
            Clock(&'a Clock),
        }
        match self {
            Self::Syn(sig) => Shape::TcpSyn { sig },
            Self::SynAck(sig) => Shape::TcpSynAck { sig },
            Self::Mtu(mtu) => Shape::Mtu { mtu: *mtu },
            Self::SendsynProbe(sig) => Shape::SendsynProbe { sig },
            Self::SendsynResponse(sig) => Shape::SendsynResponse { sig },
            Self::Clock(clock) => Shape::Clock(clock),
        }
        .serialize(serializer)
    }
}
