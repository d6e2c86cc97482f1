//! Passive TLS fingerprints: JA4 and JA3 of whoever says hello over TCP, QUIC and DTLS.
//!
//! From bytes, as a proxy has them: [`ClientHello::from_records`] reads what a TLS stream begins with, [`HelloReader`]
//! the same in pieces, [`ClientHello::from_message`] a handshake message alone, [`quic::ClientInitials`] the datagrams
//! of a QUIC client. A hello gives its fingerprints; text is made when one is displayed.
//!
//! ```
//! use huginn_net_tls::{ClientHello, Ja4, Version};
//!
//! // What curl 7.88.1 with OpenSSL 3.0 sends.
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));
//! let hello = ClientHello::from_records(bytes)?.expect("a whole hello");
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
//! From packets: [`HuginnNetTls`] finds the hellos of both sides in frames, wherever in its first 64 KiB a TCP stream
//! turns to TLS, in whatever pieces and order they come.

mod client_family;
mod client_hello;
mod computed;
mod datagram;
mod decimal;
mod dtls;
mod error;
mod extension;
mod fingerprints;
mod grease;
mod handshake;
mod hello;
mod hello_reader;
mod hello_search;
mod ja3;
mod ja4;
mod memo;
pub mod names;
mod observer;
mod openvpn;
mod packet_order;
mod packet_stream;
mod parser;
pub mod quic;
mod rdpudp;
mod record;
mod server_hello;
mod sorted;
mod sslv2;
mod transport;
mod udp;
mod version;

pub use client_family::ClientFamily;
pub use client_hello::ClientHello;
pub use error::{Error, Field};
pub use extension::{AlpnList, Extension, Extensions, U16List, extension_type};
pub use grease::is_grease;
pub use hello_reader::HelloReader;
pub use ja3::{Ja3, Ja3Hash, Ja3s};
pub use ja4::{Ja4, Ja4Field, Ja4Form, Ja4Hash, Ja4Head, Ja4ParseError, Ja4Raw};
pub use observer::{
    DatagramCounters, HelloCounters, HuginnNetTls, SearchCounters, TlsClient, TlsCounters, TlsEvent, TlsFlow,
    TlsObserver, TlsServer,
};
pub use parser::TlsParser;
pub use server_hello::ServerHello;
pub use transport::Transport;
pub use udp::{TlsUdpFlow, TlsUdpObserver};
pub use version::Version;
