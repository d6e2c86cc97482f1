//! Passive HTTP fingerprints: p0f's signatures of requests and responses.

mod headers;
pub mod language;
mod message;
mod signature;

pub use headers::{Header, Headers};
pub use message::{HttpVersion, Request, Response, Role};
pub use signature::HttpSignature;
