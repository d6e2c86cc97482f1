//! Integration tests of `huginn-net`, over the captures of `captures/`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod blind_spots;
#[path = "../../../captures/tools/captures.rs"]
mod captures;
mod connection;
mod consistency;
mod fingerprint_list;
mod goldens;
mod p0f_answers;
mod p0f_hosts;
mod parallel;
mod profiles;
mod public_names;
#[cfg(feature = "serde")]
mod serialize;
mod software;
#[cfg(feature = "serde")]
mod stages;
