//! The flow of an event.

use std::net::{IpAddr, SocketAddr};
use std::str;

use huginn_net_core::{FlowId, IpText, TransportKind, deserialize_from_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::describe::{Value, ValueType, ValueVisitor, records};
use super::text::Text;
use crate::community_id::CommunityId;
use crate::json;

records! {
    /// An end of a flow.
    pub struct EndpointRecord {
        /// IP address
        ip: Ip,
        /// Port
        port: u16,
    }

    /// The flow of an event.
    pub struct FlowRecord<'a> {
        /// `tcp` or `udp`
        transport: TransportKind,
        /// Client of the connection
        client: EndpointRecord,
        /// Server of the connection
        server: EndpointRecord,
        /// VLAN tags and tunnels around the packets, the outermost first
        tunnel[omitted]: Vec<Text<'a>>,
        /// Community ID of the flow, version 1
        community_id: CommunityId,
    }
}

impl From<&FlowId> for FlowRecord<'_> {
    fn from(flow: &FlowId) -> Self {
        let layers = flow.tunnel.as_ref().map_or(&[][..], |tunnel| tunnel.layers());
        Self {
            transport: flow.transport,
            client: flow.client.into(),
            server: flow.server.into(),
            tunnel: layers.iter().copied().map(Text::owned).collect(),
            community_id: CommunityId::from_flow(flow),
        }
    }
}

impl From<SocketAddr> for EndpointRecord {
    #[inline]
    fn from(address: SocketAddr) -> Self {
        Self { ip: Ip(address.ip()), port: address.port() }
    }
}

/// An IP address: a text in any format, written without the formatting machinery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip(pub IpAddr);

impl Value for Ip {
    const TYPE: ValueType = ValueType::Text;

    fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
        visitor.text(IpText::new(self.0).as_str());
    }

    #[inline]
    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
        json::write_plain(out, IpText::new(self.0).as_bytes());
    }
}

impl Value for CommunityId {
    const TYPE: ValueType = ValueType::Text;

    fn visit<V: ValueVisitor>(&self, visitor: &mut V) {
        visitor.text(str::from_utf8(&self.text()).unwrap_or_default());
    }

    #[inline]
    fn write_json<const SPARSE: bool>(&self, out: &mut Vec<u8>) {
        json::write_plain(out, &self.text());
    }
}

impl Serialize for Ip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(IpText::new(self.0).as_str())
    }
}

impl<'de> Deserialize<'de> for Ip {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IpAddr::deserialize(deserializer).map(Self)
    }
}

impl Serialize for CommunityId {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(str::from_utf8(&self.text()).unwrap_or_default())
    }
}

deserialize_from_text!(CommunityId);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_address_round_trips(address: IpAddr) {
            let text = serde_json::to_string(&Ip(address)).unwrap();
            prop_assert_eq!(&text, &format!("\"{address}\""));
            prop_assert_eq!(serde_json::from_str::<Ip>(&text).unwrap(), Ip(address));
        }
    }
}
