//! Passive HTTP fingerprints: p0f's signatures of requests and responses.

mod connection;
mod error;
mod headers;
pub mod http1;
pub mod http2;
pub mod language;
mod message;
mod observer;
mod p0f;
mod signature;

pub use error::Error;
pub use headers::{Header, Headers};
pub use message::{HttpVersion, Request, Response, Role};
pub use observer::{
    HttpCounters, HttpEvent, HttpFlow, HttpObserver, HttpRequest, HttpResponse, HuginnNetHttp,
};
pub use signature::HttpSignature;
