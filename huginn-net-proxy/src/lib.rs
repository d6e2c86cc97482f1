//! Fingerprints of clients where their connections end: in proxies, gateways and servers.
//!
//! - [`Recording`] finds the end of a ClientHello or of an HTTP request head in bytes, without I/O, and [`Recorder`] does
//!   so around a stream.
//! - [`SavedSyn`] is the SYN of a connection, which Linux saves for a listener.
//! - [`Fingerprinter`] computes the [`ClientFingerprint`] of these bytes.

mod fingerprint;
mod fingerprinter;
#[cfg(feature = "http")]
mod headers;
mod limits;
mod recorder;
mod recording;
mod saved_syn;

pub use fingerprint::{ClientFingerprint, ClientVerdict, HttpFingerprint, TcpFingerprint, TlsFingerprint};
pub use fingerprinter::Fingerprinter;
#[cfg(feature = "http")]
pub use headers::{FingerprintField, FingerprintHeaders};
pub use limits::{MAX_RECORDED_BYTES, MAX_TEXT_LEN};
pub use recorder::{Recorder, RecordingHandle};
pub use recording::{Recording, RecordingStatus};
pub use saved_syn::SavedSyn;
