//! The C interface of Huginn-Net, as a shared and a static library. `docs/c.md` explains it, `include/huginn_net.h` declares
//! it.
//!
//! - `huginn_fingerprinter` has the databases. Threads may share one.
//! - `huginn_client` takes the first bytes of one connection: SYN, ClientHello, first request. One thread uses it at a time.
//! - Texts are written to buffers of the caller. There is no global state, and no panic crosses the FFI boundary.
//!
//! Rust programs use `huginn-net-proxy` instead.

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
