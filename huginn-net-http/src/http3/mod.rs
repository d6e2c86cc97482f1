//! HTTP/3 (RFC 9114): heads and the fingerprint of the client, from the streams of a QUIC connection.
//!
//! ```
//! use huginn_net_http::Role;
//! use huginn_net_http::http3::{Http3Connection, Http3Event};
//!
//! let mut connection = Http3Connection::new();
//! let mut found = Vec::new();
//! let control = [0x00, 0x04, 0x07, 0x01, 0x80, 0x01, 0x00, 0x00, 0x21, 0x03]; // SETTINGS
//! let head = [0x01, 0x05, 0x00, 0x00, 0xd1, 0xd7, 0xc1]; // HEADERS: GET, https, /
//! for (stream, bytes) in [(2, &control[..]), (0, &head)] {
//!     connection.push(Role::Request, stream, bytes, &mut |event| found.push(event));
//! }
//! let [Http3Event::Request { fingerprint: Some(fingerprint), .. }] = found.as_slice() else { panic!() };
//! assert_eq!(fingerprint.to_string(), "1:65536;GREASE|m,s,p");
//! ```

mod connection;
mod fingerprint;
mod frame;
mod qpack;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

pub use connection::{Http3Connection, Http3Event};
pub use fingerprint::{Http3Fingerprint, Http3Setting};
