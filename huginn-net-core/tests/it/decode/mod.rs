//! Decoding of frames to segments, through the public API.

mod fragments;
mod hostile;
mod ip;
mod link_vectors;
mod links;
mod tunnel_vectors;
mod tunnels;
mod wire;
