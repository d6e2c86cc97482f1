//! Integration tests of `huginn-net-ssh`.

#[cfg(feature = "packets")]
mod observer;
#[path = "../../../captures/tools/parser_tests.rs"]
mod parser_tests;
mod parsers;
mod reader;
