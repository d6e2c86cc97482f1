//! Passive TLS fingerprints: JA4 and JA3 of clients and servers over TCP, QUIC and DTLS.
//!
//! # From bytes
//! [`ClientHello::from_records`] parses the start of a TLS stream, and [`HelloReader`] does so from pieces.
//! [`ServerHello::from_records`] parses the answer. `from_message` parses a handshake message. [`quic::ClientInitials`]
//! parses the datagrams of a QUIC client. A hello computes its fingerprints on demand.
//!
//! ```
//! use huginn_net_tls::{ClientHello, Ja4, Version};
//!
//! // Sent by curl 7.88.1 with OpenSSL 3.0.
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));
//! let hello = ClientHello::from_records(bytes)?.expect("a complete hello").value;
//! assert_eq!(hello.version(), Version::TLS_1_3);
//! assert_eq!(hello.alpn().next(), Some(&b"h2"[..]));
//!
//! let ja4 = hello.ja4();
//! assert_eq!(ja4.to_string(), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
//! assert_eq!("t13d3112h2_e8f1e7e78f70_b26ce05bbdd6".parse::<Ja4>()?, ja4);
//! assert!(hello.ja4_r().to_string().starts_with("t13d3112h2_002f,0033,0035,"));
//! assert_eq!(hello.ja3_hash().to_string(), "0149f47eabf9a20d0893e2a44e5a6323");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From packets
//! [`HuginnNetTls`] finds the hellos of both sides in frames. TLS may start anywhere in the first 64 KiB of a TCP
//! stream; segments may have any size and order.
//!
//! # Features
//! Features add dependencies and items; they never change a type.
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `certificates` | yes | [`Certificate`] and the messages of TLS 1.2 that carry it, with the crate `x509-parser` |
//! | `packets` | yes | [`HuginnNetTls`] and its events, over the engine `huginn-net-core`; includes `quic` |
//! | `quic` | yes | [`quic::ClientInitials`], with the RustCrypto crates that open Initial packets |
//! | `self-signed` | no | [`Certificate::is_self_signed`], with the RustCrypto crates of RSA, ECDSA and Ed25519 |
//! | `serde` | no | `Serialize` for fingerprints, versions, transports, times and counters; `Deserialize` for [`Ja4`], [`ClientFamily`], [`CertificateTime`] and [`Transport`] |
//!
//! A program without packets, such as a TLS proxy, needs none of them:
//!
//! ```toml
//! huginn-net-tls = { path = "../huginn-net/huginn-net-tls", default-features = false }
//! ```
#![cfg_attr(
    not(all(feature = "certificates", feature = "packets", feature = "self-signed")),
    allow(rustdoc::broken_intra_doc_links, reason = "the docs link to items that this build lacks")
)]

#[cfg(feature = "certificates")]
mod certificate;
mod computed;
#[cfg(feature = "packets")]
mod counters;
mod datagram;
mod error;
#[cfg(feature = "packets")]
mod event;
mod fingerprint;
#[cfg(feature = "packets")]
mod follower;
mod hello;
mod limits;
pub mod names;
#[cfg(feature = "packets")]
mod observer;
#[cfg(feature = "packets")]
mod parser;
#[cfg(feature = "quic")]
mod quic_peers;
mod record;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "packets")]
mod settings;
#[cfg(all(test, feature = "packets", target_pointer_width = "64"))]
#[path = "../../huginn-net-core/src/sizes.rs"]
mod sizes;
pub mod strength;
mod transport;

#[cfg(feature = "certificates")]
pub use certificate::{
    AlternativeName, AlternativeNames, AuthorityName, AuthorityNames, Certificate, CertificateFields,
    CertificateList, CertificateMessage, CertificateRequest, CertificateTime, CertificateTimeParseError,
};
#[cfg(feature = "packets")]
pub use counters::{DatagramCounters, HandshakeCounters, HelloCounters, SearchCounters, TlsCounters};
pub use datagram::quic;
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use datagram::{TlsUdpFlow, TlsUdpObserver};
pub use error::{TlsError, TlsField};
#[cfg(feature = "packets")]
pub use event::{
    KeyExchange, Resumption, TlsAlert, TlsCertificates, TlsClient, TlsEvent, TlsHandshake, TlsServer,
};
pub use fingerprint::{
    ClientFamily, Ja3, Ja3Hash, Ja3HashParseError, Ja3s, Ja4, Ja4Field, Ja4Form, Ja4Hash, Ja4Head,
    Ja4ParseError, Ja4Raw, QuicFingerprint,
};
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use follower::DecryptedHandshake;
pub use hello::{
    AlpnList, ClientHello, Ech, Extension, Extensions, Grease, GreaseList, KeyShare, KeyShares, OuterEch,
    PskIdentities, PskIdentity, QuicVersion, ServerHello, TransportParameter, TransportParameters,
    TrustAnchorId, TrustAnchors, U16List, Version, VersionParseError, is_grease,
};
#[doc(hidden)]
pub use hello::{extension_type, transport_parameter_id};
pub use huginn_net_wire::{Parsed, Progress};
#[doc(hidden)]
pub use limits::MAX_LISTED_PARAMETERS;
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use observer::TlsFlow;
#[cfg(feature = "packets")]
pub use observer::{HuginnNetTls, TlsObserver};
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use parser::TlsParser;
pub use record::HelloReader;
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use settings::TlsParserSettings;
pub use transport::Transport;
