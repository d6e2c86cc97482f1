//! The C interface of Huginn-Net, as a shared and a static library. `docs/c.md` explains it, `include/huginn_net.h` declares
//! it.
//!
//! - `huginn_fingerprinter` has the databases. Threads may share one.
//! - `huginn_client` takes the first bytes of one connection: SYN, ClientHello, first request. One thread uses it at a time.
//! - Texts are written to buffers of the caller. There is no global state, and no panic crosses the FFI boundary.
//!
//! Rust programs use `huginn-net-proxy` instead. `docs/c.md` has a program in C; this one makes the same calls:
//!
//! ```
//! use std::ffi::CStr;
//!
//! use huginn_net_ffi::{
//!     HuginnField, HuginnStatus, huginn_client_fingerprint, huginn_client_free, huginn_client_new,
//!     huginn_client_push_tls, huginn_client_value, huginn_fingerprinter_free, huginn_fingerprinter_new,
//! };
//!
//! // Sent by curl 7.88.1 with OpenSSL 3.0.
//! let hello = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
//! let (fingerprinter, mut client, mut text) = (huginn_fingerprinter_new(), huginn_client_new(), [0_u8; 64]);
//! // SAFETY: the lengths are those of the hello and of the text.
//! let status = unsafe {
//!     huginn_client_push_tls(client.as_deref_mut(), hello.as_ptr(), hello.len(), None);
//!     huginn_client_fingerprint(client.as_deref_mut(), fingerprinter.as_deref());
//!     let field = HuginnField::Ja4 as u32;
//!     huginn_client_value(client.as_deref(), field, text.as_mut_ptr().cast(), text.len(), None)
//! };
//! assert_eq!(status, HuginnStatus::Ok);
//! assert_eq!(CStr::from_bytes_until_nul(&text)?.to_str()?, "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
//! huginn_client_free(client);
//! huginn_fingerprinter_free(fingerprinter);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate has no features.

mod client;
mod exports;
mod field;
mod fingerprinter;
mod pointers;
mod status;

pub use client::HuginnClient;
pub use exports::*;
pub use field::HuginnField;
pub use fingerprinter::HuginnFingerprinter;
pub use status::HuginnStatus;
