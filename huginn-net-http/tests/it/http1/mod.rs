//! Heads that the parser finds in HTTP/1 connections.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod bodies;
mod heads;
mod malformed;
mod other_protocols;
mod properties;
mod recorder;
mod resync;
