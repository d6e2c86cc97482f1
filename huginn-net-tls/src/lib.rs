//! Passive TLS fingerprints.

mod client_hello;
mod error;
mod extension;
mod grease;
#[allow(dead_code)]
mod handshake;
mod server_hello;
mod transport;
mod version;

pub use client_hello::ClientHello;
pub use error::{Error, Field};
pub use extension::{AlpnList, Extension, Extensions, U16List, extension_type};
pub use grease::is_grease;
pub use server_hello::ServerHello;
pub use transport::Transport;
pub use version::Version;
