//! TLS in datagrams: QUIC, DTLS, OpenVPN and RDP.

#[cfg(feature = "packets")]
mod dtls;
#[cfg(feature = "packets")]
pub(crate) mod flow;
#[cfg(feature = "packets")]
mod found;
#[cfg(feature = "packets")]
pub(crate) mod openvpn;
#[cfg(feature = "packets")]
mod packet_stream;
pub mod quic;
#[cfg(feature = "packets")]
mod rdpudp;
#[cfg(feature = "packets")]
mod reorder_buffer;
#[cfg(feature = "quic")]
mod stream_copies;
#[cfg(feature = "packets")]
mod udp;

#[cfg(feature = "packets")]
pub use self::udp::{TlsUdpFlow, TlsUdpObserver};
