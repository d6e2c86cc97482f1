//! Decoding of frames to segments, through the public API.

mod device_vectors;
mod fragments;
mod hostile;
mod ip;
mod link_vectors;
mod links;
mod processes;
mod tunnel_vectors;
mod tunnels;
mod udp_vectors;
mod wire;
