//! Integration tests: run the program and check its output and exit status.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../../captures/tools/captures.rs"]
mod captures;
mod db;
mod explain;
mod generate;
mod http;
#[cfg(target_os = "linux")]
mod interfaces;
mod learn;
mod lists;
#[cfg(target_os = "linux")]
mod live;
#[cfg(all(target_os = "linux", feature = "parquet"))]
mod live_tables;
mod long_capture;
mod many_captures;
mod output;
mod p0f_command;
mod program;
mod report;
mod ssh;
mod summary;
#[cfg(feature = "parquet")]
mod tables;
mod tls_output;
