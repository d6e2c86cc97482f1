//! What is learned about those who talk.

use std::sync::Arc;

use huginn_net_db::{Distance, Label, TcpMatch, TcpParams};
use huginn_net_tcp::{Mtu, TcpSignature};
use huginn_net_tls::{TlsClient, TlsServer};

/// Something learned from a flow, with the flow and the moment.
pub type Event = huginn_net_core::Event<Finding>;

/// What was learned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A SYN tells the operating system of a client, a SYN+ACK that of a server.
    Tcp(TcpFinding),
    /// The maximum segment size tells the kind of link.
    Mtu(MtuFinding),
    /// A ClientHello tells the TLS client, over TCP, QUIC or DTLS.
    TlsClient(TlsClient),
    /// A ServerHello tells what a TLS server chose.
    TlsServer(TlsServer),
}

/// A TCP/IP signature, and what the database says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpFinding {
    /// What was observed; its [`handshake`](TcpSignature::handshake) says whether in a SYN or a SYN+ACK.
    pub signature: TcpSignature,
    /// The entry of the database that it matches, if any.
    pub matched: Option<TcpMatch>,
    /// How far away the sender is.
    pub distance: Distance,
    /// Remarks on the match and the packet.
    pub params: TcpParams,
    /// Whether it is of a probe of p0f's tool `p0f-sendsyn`, or of the answer to one.
    pub sendsyn: bool,
}

impl TcpFinding {
    /// A signature and what the database says of it.
    pub fn new(signature: TcpSignature, matched: Option<TcpMatch>, sendsyn: bool) -> Self {
        let distance = matched.as_ref().map_or_else(|| Distance::guess(&signature), |found| found.distance);
        let params = TcpParams::of(&signature, matched.as_ref());
        Self { signature, matched, distance, params, sendsyn }
    }

    /// The label that the database gives it, if any.
    pub fn label(&self) -> Option<&Label> {
        self.matched.as_ref().map(|found| &*found.label)
    }
}

/// A maximum transmission unit, and what the database says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MtuFinding {
    /// Bytes of the largest IP packet that the sender can take.
    pub mtu: Mtu,
    /// The kind of link that has this MTU, if known.
    pub link: Option<Arc<str>>,
}
