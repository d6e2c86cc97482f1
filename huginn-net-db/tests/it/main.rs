//! Integration tests of `huginn-net-db`.

mod browser_fields;
mod builtin;
mod client_variants;
mod clients;
mod lint;
mod matching;
mod matching_http;
mod software;
mod syntax;
mod systems;
mod unreachable;
mod unreachable_http;
