//! Integration tests of `huginn-net-http`.

mod http1;
mod http2;
mod http2_recordings;
#[cfg(feature = "packets")]
mod observer;
mod p0f_heads;
