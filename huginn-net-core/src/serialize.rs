//! `Serialize` for times, flows and examples.

use std::net::{IpAddr, SocketAddr};

use serde::{Serialize, Serializer};

use huginn_net_wire::{deserialize_from_text, serialize_as_text};

use crate::{Addresses, Example, FlowId, Timestamp, TransportKind, TunnelLayer, TunnelPath};

serialize_as_text!(TunnelLayer);
deserialize_from_text!(Timestamp, TunnelLayer);

impl Serialize for Timestamp {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(self.text().as_ref()).unwrap_or_default())
    }
}

/// Serializes as `tcp` or `udp`.
impl Serialize for TransportKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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

/// Serializes as `client` and `server` (`ip`, `port`), `transport` (`tcp`, `udp`), and `tunnel` if there is one.
impl Serialize for FlowId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            client: Endpoint,
            server: Endpoint,
            transport: TransportKind,
            #[serde(skip_serializing_if = "Option::is_none")]
            tunnel: Option<&'a TunnelPath>,
        }
        let Self { client, server, transport, tunnel } = self;
        let (client, server) = ((*client).into(), (*server).into());
        Shape { client, server, transport: *transport, tunnel: tunnel.as_deref() }.serialize(serializer)
    }
}

/// `ts`, `frame`, the fields of the [flow](FlowId), and `source` and `destination` of a fragment; absent ones are left out.
impl Serialize for Example {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            ts: Timestamp,
            #[serde(skip_serializing_if = "Option::is_none")]
            frame: Option<u64>,
            #[serde(flatten)]
            flow: Option<&'a FlowId>,
            #[serde(skip_serializing_if = "Option::is_none")]
            source: Option<IpAddr>,
            #[serde(skip_serializing_if = "Option::is_none")]
            destination: Option<IpAddr>,
        }
        let (source, destination) = self.addresses.map(Addresses::ends).unzip();
        let Self { ts, frame, flow, .. } = self;
        Shape { ts: *ts, frame: *frame, flow: flow.as_ref(), source, destination }.serialize(serializer)
    }
}
