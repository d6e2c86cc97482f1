//! Passive TCP/IP fingerprints: signature, link MTU and distance of each sender of a SYN or SYN+ACK.
//!
//! Semantics and text formats follow p0f v3. One packet is enough for a [`TcpSignature`]; [`HuginnNetTcp`] finds the
//! relevant packets in a capture. The crate `huginn-net-db` maps signatures to operating systems.
//!
//! ```
//! use huginn_net_tcp::{Handshake, Quirks, TcpSignature, WindowMultiple};
//!
//! // An IPv4 packet with the SYN of a Linux system.
//! let packet = [
//!     0x45, 0, 0, 60, 0x1c, 0x46, 0x40, 0, 61, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
//!     0xdc, 0xe2, 0, 80, 0x52, 0x4d, 0x98, 0x43, 0, 0, 0, 0, 0xa0, 2, 0x72, 0x10, 0, 0, 0, 0, // TCP
//!     2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0x2e, 0x6b, 0xc4, 0, 0, 0, 0, 1, 3, 3, 7, // options
//! ];
//! let parsed = TcpSignature::from_ip_packet(&packet)?.expect("a complete packet");
//! assert_eq!(parsed.consumed, packet.len());
//! let signature = parsed.value;
//! assert_eq!(signature.to_string(), "4:61+3:0:1460:mss*20,7:mss,sok,ts,nop,ws:df,id+:0");
//! assert_eq!(signature.handshake, Handshake::Syn);
//! assert_eq!(signature.window_multiple, Some(WindowMultiple::Mss(20)));
//! assert_eq!(signature.quirks, Quirks::DF | Quirks::ID_NONZERO);
//! assert_eq!(signature.distance(), 3);
//! # Ok::<(), huginn_net_tcp::TcpError>(())
//! ```
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `packets` | yes | signatures of IP packets and [`HuginnNetTcp`], over the engine `huginn-net-core` |
//! | `serde` | no | `Serialize` and `Deserialize` for signatures, clocks and MTUs |
#![cfg_attr(
    not(feature = "packets"),
    allow(rustdoc::broken_intra_doc_links, reason = "the docs link to items that this build lacks")
)]

mod clock;
mod distance;
mod error;
#[doc(hidden)]
pub mod kind;
mod layout;
mod limits;
mod mtu;
#[cfg(feature = "packets")]
mod observer;
#[cfg(feature = "packets")]
mod options;
#[cfg(feature = "packets")]
mod packet;
mod quirks;
mod raw_sig;
#[cfg(feature = "serde")]
mod serialize;
mod signature;
mod window;

/// Types of the engine that a [`TcpObserver`] runs in: frames, flows and events.
#[cfg(feature = "packets")]
pub use huginn_net_core as core;
pub use huginn_net_wire::Parsed;

pub use clock::Uptime;
#[doc(hidden)]
pub use clock::{Clock, ClockReading, Measurement};
#[doc(hidden)]
pub use distance::{distance, initial_ttl};
pub use error::{ParseError, TcpField};
pub use layout::{LayoutError, OptionLayout};
pub use limits::MAX_DISTANCE;
pub use mtu::Mtu;
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use observer::TcpFlow;
#[cfg(feature = "packets")]
pub use observer::{HuginnNetTcp, TcpEvent, TcpObserver};
#[cfg(feature = "packets")]
pub use packet::TcpError;
pub use quirks::{Quirks, UnknownQuirk};
pub use signature::{Handshake, IpVersion, TcpSignature};
pub use window::WindowMultiple;
