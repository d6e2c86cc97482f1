//! Fingerprints of clients where their connections end: in proxies, gateways and servers.
//!
//! - [`Recording`] finds the end of a ClientHello or of an HTTP request head in bytes, without I/O, and [`Recorder`] does
//!   so around a stream.
//! - [`QuicHelloRecorder`] records the ClientHellos of the connections of a quinn server.
//! - [`SavedSyn`] is the SYN of a connection, which Linux saves for a listener.
//! - [`Fingerprinter`] computes the [`ClientFingerprint`] of these bytes, and [`ConnectionFingerprint`] does so when a
//!   request needs it. It judges each request of the connection.
//! - [`SniRoutes`] chooses an upstream by server name.
//!
//! ```
//! use huginn_net_consistency::ClientBytes;
//! use huginn_net_proxy::{Fingerprinter, Progress, Recording};
//!
//! // Sent by curl 7.88.1 with OpenSSL 3.0, in pieces as a socket may have them.
//! let sent = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
//! let mut recording = Recording::tls();
//! for piece in sent.chunks(100) {
//!     if let Progress::Done(_) = recording.push(piece) {
//!         break;
//!     }
//! }
//! let client = ClientBytes::default().tls(recording.complete().expect("a complete ClientHello"));
//! let fingerprint = Fingerprinter::default().fingerprint(&client);
//! assert_eq!(fingerprint.tls.expect("a ClientHello").ja4.to_string(), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
//! ```
//!
//! `docs/proxy.md` shows a complete proxy, the headers, and what is measured.
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `axum` | [`FingerprintListener`], which serves axum applications over TLS; includes `rustls` and `tower` |
//! | `http` | [`FingerprintHeaders`] |
//! | `proxy-protocol` | [`ProxyHeader`], PROXY protocol version 2; includes `serde` |
//! | `quinn` | [`QuicHelloRecorder`], the ClientHellos of the connections of a quinn server |
//! | `rustls` | [`FingerprintAcceptor`], which ends TLS with tokio-rustls; includes `tokio` |
//! | `serde` | `Serialize` and `Deserialize` for [`ClientFingerprint`] |
//! | `tokio` | `AsyncRead` and `AsyncWrite` for [`Recorder`] |
//! | `tower` | [`FingerprintLayer`], a layer for axum, hyper and other tower services; includes `http` |
//!
//! None is on by default.
#![cfg_attr(
    not(all(feature = "axum", feature = "proxy-protocol", feature = "quinn")),
    allow(rustdoc::broken_intra_doc_links, reason = "the docs link to items that this build lacks")
)]

#[cfg(feature = "rustls")]
mod acceptor;
#[cfg(feature = "serde")]
mod as_text;
mod connection;
mod fingerprint;
mod fingerprinter;
#[cfg(feature = "http")]
mod headers;
#[cfg(feature = "tower")]
mod layer;
mod layers;
mod limits;
#[cfg(feature = "proxy-protocol")]
mod proxy_header;
#[cfg(feature = "quinn")]
mod quic;
mod recorder;
mod recording;
mod saved_syn;
#[cfg(feature = "axum")]
mod serve;
mod sni_routes;

#[cfg(feature = "rustls")]
pub use acceptor::{FailedHandshake, FingerprintAcceptor, RecordedTlsStream};
pub use connection::{ConnectionFingerprint, ConnectionParts};
pub use fingerprint::{
    ClientFingerprint, ClientVerdict, HttpFingerprint, JoinedNames, JoinedReasons, TcpFingerprint,
    TlsFingerprint,
};
pub use fingerprinter::Fingerprinter;
#[cfg(feature = "http")]
pub use headers::{FingerprintField, FingerprintHeaders};
pub use huginn_net_wire::{Parsed, Progress};
#[cfg(feature = "tower")]
pub use layer::{FingerprintLayer, FingerprintService};
pub use layers::ConnectionLayers;
#[cfg(feature = "proxy-protocol")]
pub use limits::MAX_TLV_LEN;
pub use limits::{MAX_RECORDED_BYTES, MAX_TEXT_LEN};
#[cfg(feature = "proxy-protocol")]
pub use proxy_header::{FINGERPRINT_TLV, ProxyHeader, ProxyHeaderError};
#[cfg(feature = "quinn")]
pub use quic::{QuicHandshake, QuicHelloRecorder};
pub use recorder::{Recorder, RecordingHandle};
pub use recording::{Recording, RecordingStatus};
pub use saved_syn::SavedSyn;
#[cfg(feature = "axum")]
pub use serve::{FingerprintListener, FingerprintMakeService, FingerprintedAddr, ListenerCounters};
pub use sni_routes::SniRoutes;

/// Tests the programs of docs/proxy.md.
#[cfg(all(doctest, feature = "axum", feature = "proxy-protocol"))]
#[doc = include_str!("../../docs/proxy.md")]
struct ProxyExamples;
