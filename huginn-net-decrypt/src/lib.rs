//! Decrypts TLS and QUIC with logged secrets.
//!
//! [`Secrets`] holds what programs write to `SSLKEYLOGFILE`, and what Decryption Secrets Blocks of pcapng files contain.
//! [`TlsDecryptor`] reads both sides of a connection, in pieces of any length, and passes the plaintext to a
//! [`PlaintextReader`]. [`QuicDecryptor`] reads the datagrams of a connection, and passes the bytes of its streams to a
//! [`QuicReader`]. The crate knows no fingerprint.
//!
//! TLS 1.2 and TLS 1.3, with AES-GCM, AES-CCM, ChaCha20-Poly1305 and AES-CBC. Every record is authenticated, except those whose
//! content is not read: see [`PlaintextReader::skippable`].
//!
//! ```
//! use huginn_net_decrypt::{PlaintextReader, Secrets, Side, TlsDecryptor};
//!
//! /// Collects what the client sends.
//! #[derive(Default)]
//! struct Requests(Vec<u8>);
//!
//! impl PlaintextReader for Requests {
//!     fn on_data(&mut self, side: Side, bytes: &[u8]) {
//!         if side == Side::Client {
//!             self.0.extend_from_slice(bytes);
//!         }
//!     }
//! }
//!
//! // A connection of OpenSSL and nginx with TLS 1.3: what each side sends, and the key log of the client.
//! let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/tls13");
//! let read = |name: &str| std::fs::read(format!("{folder}/{name}"));
//! let secrets = Secrets::new();
//! secrets.add_key_log(&read("keys.log")?);
//! let (mut decryptor, mut requests) = (TlsDecryptor::new(), Requests::default());
//! for (side, name) in [(Side::Client, "client"), (Side::Server, "server")] {
//!     decryptor.push(side, &read(name)?, &secrets, &mut requests)?;
//! }
//! assert!(requests.0.starts_with(b"GET /new-tls1_3 HTTP/1.1\r\nHost: www.example.test\r\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate has no features.

mod limits;
mod quic;
mod secrets;
mod tls;

pub use huginn_net_wire::Side;
pub use quic::{QuicDecryptor, QuicReader};
#[doc(hidden)]
pub use secrets::SessionConnection;
pub use secrets::{KeyLogReader, KeyLogSummary, SecretLabel, Secrets};
pub use tls::{PlaintextReader, Stop, TlsDecryptor};
#[doc(hidden)]
pub use tls::{SessionReader, decompress_certificate};
