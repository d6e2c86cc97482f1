//! HTTP/2 (RFC 9113): heads and the Akamai fingerprint from the bytes of either side.
//!
//! ```
//! use huginn_net_http::http2::{Http2Event, Http2Reader};
//!
//! // What curl 7.88.1 sends, decrypted, as a proxy has it.
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/http2/curl.bin"));
//! let mut reader = Http2Reader::client();
//! let mut found = Vec::new();
//! for piece in bytes.chunks(7) {
//!     reader.push(piece, &mut |event| found.push(event))?;
//! }
//! let [Http2Event::Akamai(akamai), Http2Event::Request { request, .. }] = found.as_slice() else { panic!() };
//! assert_eq!(akamai.to_string(), "3:100;4:33554432;2:0|33488897|0|m,p,s,a");
//! assert_eq!(akamai.hash().to_string(), "fd07c74c4990fc43ef9f4b3277cf3cf2");
//! assert_eq!(request.user_agent(), Some(&b"curl/7.88.1"[..]));
//! # Ok::<(), huginn_net_http::http2::Http2Error>(())
//! ```

mod akamai;
mod connection;
mod error;
pub(crate) mod fields;
mod frame;
pub(crate) mod hpack;
mod priority;
mod pseudo_header;
mod reader;
mod settings;

pub use akamai::{Akamai, AkamaiHash, AkamaiHashParseError, AkamaiReader};
pub use error::Http2Error;
#[cfg(feature = "packets")]
pub(crate) use frame::begins_with_settings;
pub use hpack::HpackError;
pub use priority::StreamPriority;
pub use pseudo_header::{PseudoHeader, PseudoHeaders};
pub use reader::{Http2Event, Http2Reader, PREFACE};
pub use settings::Setting;
