//! Integration tests of `huginn-net-tls`.

#[cfg(feature = "packets")]
mod against_tls_parser;
#[cfg(feature = "packets")]
#[path = "../../../captures/tools/captures.rs"]
mod captures;
#[cfg(feature = "packets")]
mod client_family;
mod client_hello;
mod ja4_vectors;
#[path = "../../../captures/tools/parser_tests.rs"]
mod parser_tests;
mod parsers;
mod quic_vectors;
#[cfg(feature = "packets")]
mod streams;
#[cfg(feature = "packets")]
mod udp_flows;
