//! From frames to segments, through the public interface.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "in a test, a panic is a failure"
)]

mod fragments;
mod hostile;
mod ip;
mod link_vectors;
mod links;
mod tunnel_vectors;
mod tunnels;
mod wire;
