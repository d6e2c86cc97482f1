//! `Serialize` for events and their fields.

use std::net::{IpAddr, SocketAddr};

use serde::{Serialize, Serializer};

use huginn_net_wire::serialize_as_text;

use crate::{Event, Example, FlowId, Side, Timestamp, TransportKind, TunnelLayer, TunnelPath};

serialize_as_text!(Timestamp, TunnelLayer);

/// Serializes as `tcp` or `udp`.
impl Serialize for TransportKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// Serializes as a list of texts, the outermost layer first.
impl Serialize for TunnelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.layers())
    }
}

#[derive(Serialize)]
struct Endpoint {
    ip: IpAddr,
    port: u16,
}

impl From<SocketAddr> for Endpoint {
    fn from(addr: SocketAddr) -> Self {
        Self { ip: addr.ip(), port: addr.port() }
    }
}

/// Serializes as `client` and `server` (`ip`, `port`), `proto` (`tcp`, `udp`), and `tunnel` if there is one.
impl Serialize for FlowId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            client: Endpoint,
            server: Endpoint,
            proto: TransportKind,
            #[serde(skip_serializing_if = "Option::is_none")]
            tunnel: Option<&'a TunnelPath>,
        }
        let Self { client, server, transport, tunnel } = self;
        let (client, server) = ((*client).into(), (*server).into());
        Shape { client, server, proto: *transport, tunnel: tunnel.as_deref() }.serialize(serializer)
    }
}

/// `ts`, `frame` and the fields of the [flow](FlowId); absent ones are left out.
impl Serialize for Example {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            ts: Timestamp,
            #[serde(skip_serializing_if = "Option::is_none")]
            frame: Option<u64>,
            #[serde(flatten)]
            flow: Option<&'a FlowId>,
        }
        Shape { ts: self.ts, frame: self.frame, flow: self.flow.as_ref() }.serialize(serializer)
    }
}

/// Serializes as one flat object: `ts`, the fields of the [flow](FlowId), `subject`, `packet`, and the fields of the kind, which
/// must be a structure or a map.
impl<K: Serialize> Serialize for Event<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a, K> {
            ts: Timestamp,
            #[serde(flatten)]
            flow: &'a FlowId,
            subject: Side,
            packet: u64,
            #[serde(flatten)]
            kind: &'a K,
        }
        let Self { ts, packet_number, flow, subject, kind } = self;
        Shape { ts: *ts, flow, subject: *subject, packet: *packet_number, kind }.serialize(serializer)
    }
}
