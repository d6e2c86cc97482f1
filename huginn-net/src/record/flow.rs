//! The flow of an event.

use std::net::{IpAddr, SocketAddr};
use std::str;

use huginn_net_core::{FlowId, deserialize_from_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::describe::{impl_described, records};
use super::text::Text;
use crate::community_id::CommunityId;

records! {
    /// An end of a flow.
    pub struct EndpointRecord {
        /// IP address.
        ip: Ip,
        /// Port.
        port: u16,
    }

    /// The flow of an event.
    pub struct FlowRecord<'a> {
        /// Client of the connection
        client: EndpointRecord,
        /// Server of the connection
        server: EndpointRecord,
        /// VLAN tags and tunnels around the packets, the outermost first
        #[serde(default)]
        tunnel[omitted]: Vec<Text<'a>>,
        /// Community ID of the flow, version 1
        community_id: CommunityId,
    }
}

impl<'a> From<&'a FlowId> for FlowRecord<'a> {
    fn from(flow: &'a FlowId) -> Self {
        let layers = flow.tunnel.as_ref().map_or(&[][..], |tunnel| tunnel.layers());
        Self {
            client: flow.client.into(),
            server: flow.server.into(),
            tunnel: layers.iter().map(Text::of).collect(),
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

impl_described!(Ip, CommunityId);

/// Length of the longest IPv4 address, in bytes, with a period before it.
const MAX_V4: usize = 16;

impl Serialize for Ip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let IpAddr::V4(v4) = self.0 else { return serializer.collect_str(&self.0) };
        let mut text = [0; MAX_V4];
        let mut len = 0_usize;
        let mut push = |byte| {
            if let Some(place) = text.get_mut(len) {
                *place = byte;
            }
            len = len.saturating_add(1);
        };
        for octet in v4.octets() {
            push(b'.');
            if octet >= 100 {
                push(b'0'.wrapping_add(octet / 100));
            }
            if octet >= 10 {
                push(b'0'.wrapping_add(octet / 10 % 10));
            }
            push(b'0'.wrapping_add(octet % 10));
        }
        serializer.serialize_str(str::from_utf8(text.get(1..len).unwrap_or_default()).unwrap_or_default())
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
