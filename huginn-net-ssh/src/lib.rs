//! Passive SSH fingerprints: identification strings, HASSH, HASSHServer and the algorithms that both sides agree on.
//!
//! HASSH is the MD5 of the algorithms that a client offers in its SSH_MSG_KEXINIT; HASSHServer is the same for a server.
//! Both messages are sent unencrypted. [`Negotiation`] is what client and server agree on by them: key exchange method, host
//! key algorithm, ciphers, MACs and compression.
//!
//! A proxy, which has the bytes of a connection, parses them directly: [`Identification::parse`] parses the first line of
//! a side, and [`KexInit::parse`] the packets after it. Both return the number of bytes consumed. [`SshReader`] parses
//! the same incrementally.
//!
//! ```
//! use huginn_net_ssh::{Hassh, HasshAlgorithms, Identification, KexInit, Parsed};
//!
//! // The first bytes that Dropbear 2022.83 sends as a client.
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/streams/dropbear-client.bin"));
//! let Parsed { value: identification, consumed } = Identification::parse(bytes)?.expect("a complete line");
//! assert_eq!(identification.as_bytes(), b"SSH-2.0-dropbear_2022.83");
//!
//! let kex_init = KexInit::parse(&bytes[consumed..])?.expect("a complete message").value;
//! assert!(HasshAlgorithms::from_client(&kex_init).to_string().starts_with("curve25519-sha256,"));
//! assert_eq!(Hassh::from_client(&kex_init).to_string(), "16574631849ea8d13c926c9905839928");
//! # Ok::<(), huginn_net_ssh::SshError>(())
//! ```
//!
//! [`strength`] names weak methods and the documents that advise against them.
//!
//! [`HuginnNetSsh`] analyses packets: it reports both sides of the SSH connections of a capture, and what
//! they agree on, on any port.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `packets` | yes | [`HuginnNetSsh`] and its events, over the engine `huginn-net-core` |
//! | `serde` | no | `Serialize` for [`Identification`], [`Hassh`], [`HasshAlgorithms`] and counters |
#![cfg_attr(
    not(feature = "packets"),
    allow(rustdoc::broken_intra_doc_links, reason = "the docs link to items that this build lacks")
)]

mod error;
mod hassh;
mod identification;
mod kex_init;
mod limits;
mod name_list;
mod negotiation;
#[cfg(feature = "packets")]
mod observer;
mod packet;
#[cfg(feature = "packets")]
mod parser;
mod peer;
#[cfg(feature = "packets")]
mod peers;
mod reader;
#[cfg(all(test, feature = "packets", target_pointer_width = "64"))]
#[path = "../../huginn-net-core/src/sizes.rs"]
mod sizes;
pub mod strength;

pub use error::{SshError, SshField};
pub use hassh::{Hassh, HasshAlgorithms};
pub use huginn_net_wire::{Parsed, Progress, Side};
pub use identification::Identification;
pub use kex_init::KexInit;
#[doc(hidden)]
pub use limits::{
    MAX_BYTES_BEFORE_IDENTIFICATION, MAX_LINE_LEN, MAX_LINES_BEFORE_IDENTIFICATION, MAX_PACKET_LEN,
    MAX_PACKETS_BEFORE_KEX_INIT,
};
pub use name_list::NameList;
#[doc(hidden)]
pub use negotiation::IMPLICIT_MAC;
pub use negotiation::{KexGuess, Negotiation};
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use observer::SshFlow;
#[cfg(feature = "packets")]
pub use observer::{HuginnNetSsh, SshCounters, SshEvent, SshObserver, SshParserCounters, SshPeerCounters};
pub use packet::BinaryPacket;
#[doc(hidden)]
pub use packet::message;
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use parser::{SshParser, SshStreamEvent};
pub use peer::SshPeer;
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use peers::SshPeers;
pub use reader::{SshMessage, SshReader};
