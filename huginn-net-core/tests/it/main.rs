//! Integration tests of the decoder, the engine, the stream layer and parallel analysis.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod decode;
mod engine;
#[path = "../packet/mod.rs"]
mod packet;
mod streams;
mod workers;
