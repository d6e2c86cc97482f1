//! From frames to segments, through the public interface.

mod fragments;
mod hostile;
mod ip;
mod link_vectors;
mod links;
mod tunnel_vectors;
mod tunnels;
mod wire;
