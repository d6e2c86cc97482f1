//! Integration tests: run the program and check its output and exit status.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod anonymize;
mod baseline;
#[path = "../../../captures/tools/captures.rs"]
mod captures;
mod circles;
mod db;
mod diff;
mod event_limits;
mod explain;
mod extract;
mod follow;
mod generate;
mod hostile_texts;
mod hosts;
#[cfg(target_os = "linux")]
mod hosts_join;
mod http;
mod inexact;
#[cfg(target_os = "linux")]
mod interfaces;
mod inventory;
mod learn;
mod learn_programs;
mod lists;
#[cfg(target_os = "linux")]
mod live;
#[cfg(all(target_os = "linux", feature = "parquet"))]
mod live_tables;
mod long_capture;
mod many_captures;
mod options;
mod output;
mod p0f_command;
mod program;
mod report;
mod ssh;
mod structure;
#[cfg(feature = "parquet")]
mod tables;
mod tls_output;
#[cfg(all(target_os = "linux", feature = "tls"))]
mod tls_outputs;
mod tools;
#[cfg(unix)]
mod watch;
