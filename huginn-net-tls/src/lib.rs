//! Passive TLS fingerprints.

mod client_hello;
mod error;
mod extension;
mod grease;
mod handshake;
mod hello;
mod ja3;
mod ja4;
pub mod names;
mod observer;
pub mod quic;
mod record;
mod server_hello;
mod sslv2;
mod stream;
mod tcp;
mod transport;
mod version;

pub use client_hello::ClientHello;
pub use error::{Error, Field};
pub use extension::{AlpnList, Extension, Extensions, U16List, extension_type};
pub use grease::is_grease;
pub use ja3::{Ja3, Ja3Hash, Ja3s};
pub use ja4::{Ja4, Ja4Field, Ja4Form, Ja4Hash, Ja4Head, Ja4ParseError, Ja4Raw};
pub use observer::{
    HelloCounters, HuginnNetTls, TlsClient, TlsCounters, TlsEvent, TlsFlow, TlsObserver, TlsServer,
};
pub use server_hello::ServerHello;
pub use tcp::StreamCounters;
pub use transport::Transport;
pub use version::Version;
