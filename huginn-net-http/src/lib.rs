//! Passive HTTP fingerprinting of clients and servers, from cleartext or decrypted heads.
//!
//! Parsers of bytes:
//!
//! - [`Request::parse`] and [`Response::parse`] parse a head.
//! - [`HttpSignature`] is the p0f v3 signature of a head.
//! - [`http1::Http1Connection`] parses both directions of a connection.
//! - [`http2::Akamai`] is the fingerprint of an HTTP/2 client, from its first bytes, which a proxy has too.
//! - [`http3::Http3Connection`] parses the streams of an HTTP/3 connection.
//!
//! The crate `huginn-net-db` matches signatures against a database; this crate computes them.
//!
//! ```
//! use huginn_net_http::{HttpSignature, Request};
//!
//! let head = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";
//! let request = Request::parse(head)?.expect("a complete head").value;
//! assert_eq!(request.host(), Some(&b"example.org"[..]));
//! assert_eq!(
//!     HttpSignature::from_request(&request).raw_sig(|_| false).to_string(),
//!     "1:Host,User-Agent,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/8.5.0"
//! );
//! # Ok::<(), huginn_net_http::HttpError>(())
//! ```
//!
//! For packets, [`HuginnNetHttp`] reports every request and response of each connection, on any port.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `packets` | yes | [`HuginnNetHttp`] and its events, over the engine `huginn-net-core` |
//! | `serde` | no | `Serialize` for counters; `Serialize` and `Deserialize` for [`Role`] |

#![cfg_attr(
    not(feature = "packets"),
    allow(rustdoc::broken_intra_doc_links, reason = "the crate docs link to items of the `packets` feature")
)]

mod error;
mod header_name;
mod headers;
pub mod http1;
pub mod http2;
pub mod http3;
#[doc(hidden)]
pub mod language;
mod limits;
mod message;
#[cfg(feature = "packets")]
mod observer;
mod p0f;
#[cfg(feature = "packets")]
mod parser;
mod signature;
#[cfg(all(test, feature = "packets", target_pointer_width = "64"))]
#[path = "../../huginn-net-core/src/sizes.rs"]
mod sizes;

pub use error::HttpError;
pub use header_name::HeaderName;
pub use headers::{Header, Headers};
pub use huginn_net_wire::{Parsed, Progress};
#[doc(hidden)]
pub use message::without_port;
pub use message::{HttpVersion, HttpVersionParseError, Request, Response, Role};
#[cfg(feature = "packets")]
pub use observer::{HttpCounters, HttpEvent, HttpObserver, HttpRequest, HttpResponse, HuginnNetHttp};
#[cfg(feature = "packets")]
#[doc(hidden)]
pub use p0f::P0fConnection;
#[cfg(feature = "packets")]
pub use parser::HttpParser;
pub use signature::HttpSignature;
