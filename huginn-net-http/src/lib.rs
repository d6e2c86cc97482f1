//! Passive HTTP fingerprints: who asks and who answers, from heads in the clear or decrypted.
//!
//! From bytes: [`Request::parse`] and [`Response::parse`] read a head, [`HttpSignature`] is what p0f v3 makes of it,
//! [`http1::Http1Connection`] reads both directions of a connection, and [`http2::Akamai`] is the fingerprint of an HTTP/2
//! client, from the bytes that it sends first, as a proxy has them. What a signature is the signature of, a database
//! knows, not this crate.
//!
//! ```
//! use huginn_net_http::{HttpSignature, Request};
//!
//! let head = b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";
//! let request = Request::parse(head)?.expect("a whole head").value;
//! assert_eq!(request.host(), Some(&b"example.org"[..]));
//! assert_eq!(
//!     HttpSignature::from_request(&request).raw_sig(|_| false).to_string(),
//!     "1:Host,User-Agent,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/8.5.0"
//! );
//! # Ok::<(), huginn_net_http::HttpError>(())
//! ```
//!
//! From packets: [`HuginnNetHttp`] reports every request and response of each connection, on any port.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `packets` | yes | [`HuginnNetHttp`] and its events, over the engine `huginn-net-core` |
//! | `serde` | no | `Serialize` for the counters |

#![cfg_attr(
    not(feature = "packets"),
    allow(rustdoc::broken_intra_doc_links, reason = "some items are named that this build lacks")
)]

mod error;
mod header_name;
mod headers;
pub mod http1;
pub mod http2;
pub mod language;
mod limits;
mod message;
#[cfg(feature = "packets")]
mod observer;
mod p0f;
#[cfg(feature = "packets")]
mod parser;
#[cfg(feature = "serde")]
mod serialize;
mod signature;

pub use error::HttpError;
pub use header_name::HeaderName;
pub use headers::{Header, Headers};
pub use huginn_net_wire::Parsed;
pub use message::{HttpVersion, Request, Response, Role};
#[cfg(feature = "packets")]
pub use observer::{HttpCounters, HttpEvent, HttpObserver, HttpRequest, HttpResponse, HuginnNetHttp};
#[cfg(feature = "packets")]
pub use p0f::P0fConnection;
#[cfg(feature = "packets")]
pub use parser::HttpParser;
pub use signature::HttpSignature;
