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
mod changes;
mod connection;
mod consistency;
mod evasion;
mod event_limits;
mod examples;
mod findings;
mod goldens;
mod heads;
mod loss;
mod mutants;
mod one_device;
mod other_formats;
mod own_protocols;
mod p0f_answers;
mod p0f_hosts;
mod packet;
mod parallel;
mod prefixes;
mod profiles;
mod public_names;
mod records;
mod scans;
mod servers;
mod software;
mod stages;
mod time_steps;
mod tls_handshakes;
mod tools;
mod watch_lists;
