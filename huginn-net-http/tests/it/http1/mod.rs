//! HTTP/1 connections from their bytes: which heads are found in them.
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
mod summary;
