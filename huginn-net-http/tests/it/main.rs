//! Integration tests of `huginn-net-http`.

mod http1;
mod http2;
mod http2_recordings;
#[cfg(feature = "packets")]
mod observer;
mod p0f_heads;
#[path = "../../../captures/tools/parser_tests.rs"]
mod parser_tests;
mod parsers;
