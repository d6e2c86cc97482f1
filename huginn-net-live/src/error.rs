//! Errors of live captures.

use std::io;

/// Error of a live capture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// No interface was named.
    #[error("no interface to capture from")]
    NoInterface,
    /// No interface of this name exists.
    #[error("{name}: there is no such interface; there are: {}", .known.join(", "))]
    UnknownInterface {
        /// The name.
        name: String,
        /// The names of all interfaces.
        known: Vec<String>,
    },
    /// An interface was named more than once, which would duplicate its frames.
    #[error("{name}: named twice")]
    DuplicateInterface {
        /// The name.
        name: String,
    },
    /// libpcap captures from interfaces that are named, or from `any`.
    #[error(
        "{name}: patterns of interfaces need the backend packet: leave --backend libpcap out, or name the interfaces"
    )]
    PatternNeedsPacket {
        /// The pattern.
        name: String,
    },
    /// A name with `udp:` has no port or address.
    #[error("{name}: not a UDP socket: expected udp:PORT or udp:ADDRESS:PORT")]
    InvalidUdpSocket {
        /// The name.
        name: String,
    },
    /// A name with `tcp:` has no host or port.
    #[error("{name}: not a TCP server: expected tcp:HOST:PORT")]
    InvalidTcpServer {
        /// The name.
        name: String,
    },
    /// The port of a UDP socket is not that of a tunnel, so that its datagrams have no packets.
    #[error(
        "{name}: {port} is not the port of a tunnel, such as 4789 (VXLAN), 6081 (Geneve) or 37008 (TZSP)"
    )]
    NoTunnelPort {
        /// The name.
        name: String,
        /// The port.
        port: u16,
    },
    /// Sockets and streams are not for filter expressions.
    #[error("{name}: filter expressions are for interfaces")]
    ExpressionNeedsInterface {
        /// The name.
        name: String,
    },
    /// The kernel cannot divide the packets of this interface among several queues, only those of packet sockets and of UDP sockets for
    /// VXLAN, Geneve or TZSP.
    #[error("{name}: its packets cannot be divided among several queues")]
    NoQueues {
        /// The name.
        name: String,
    },
    /// A thread cannot run on this processor.
    #[error("processor {cpu}: {source}")]
    Processor {
        /// The number of the processor, from 0.
        cpu: usize,
        /// The error of the system.
        source: io::Error,
    },
    /// The program lacks the privileges to capture (on Linux `CAP_NET_RAW`).
    #[error("{name}: no permission to capture: {source}")]
    PermissionDenied {
        /// The interface.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The interface could not be opened for another reason.
    #[error("{name}: cannot be opened: {source}")]
    Open {
        /// The interface.
        name: String,
        /// The error of the system or libpcap.
        source: io::Error,
    },
    /// The link type of the interface is not supported.
    #[error("{name}: unsupported hardware type {hardware}")]
    UnknownLinkType {
        /// The interface.
        name: String,
        /// The type: an `ARPHRD_` number of Linux, or with libpcap a `DLT_` number.
        hardware: i32,
    },
    /// This build or system does not have the backend.
    #[error("this build lacks the backend: {}", if cfg!(feature = "libpcap") {
        "AF_PACKET exists only on Linux"
    } else {
        "it was built without libpcap: install libpcap-dev and build with `--features libpcap`"
    })]
    NoBackend,
    /// The backend does not support filter expressions.
    #[error("filter expressions need the libpcap backend")]
    ExpressionNeedsLibpcap,
    /// The filter expression is invalid.
    #[error("filter expression '{expression}': {reason}")]
    Expression {
        /// The expression.
        expression: String,
        /// The error of libpcap.
        reason: String,
    },
    /// Reading from an interface failed permanently.
    #[error("{name}: capture failed: {source}")]
    Receive {
        /// The interface.
        name: String,
        /// The error of the system or libpcap.
        source: io::Error,
    },
    /// All interfaces are lost.
    #[error("no interface is left to capture from")]
    NoInterfaceLeft,
    /// A system call failed while listing or waiting for interfaces.
    #[error("{operation}: {source}")]
    System {
        /// The operation that failed.
        operation: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}
