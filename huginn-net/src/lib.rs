//! Passive network fingerprinting: who is talking, from packets alone.
//!
//! [`HuginnNet`] analyses capture files, or frames from anywhere, and says which operating system, over which
//! kind of link and at what distance sent them, with the semantics of p0f v3, which browser and which server, by HTTP/1
//! and HTTP/2, and which TLS client, by JA4 and JA3. It remembers [hosts](hosts::Hosts): for how long they have been up, whether
//! they change, whether several share an address, and, where [asked](Observers::profiles), all that was seen of each.
//!
//! ```
//! use huginn_net::{CaptureReader, Event, Finding, HuginnNet};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/curl-nginx.pcap");
//! let mut analyzer = HuginnNet::builder().build();
//! let mut events: Vec<Event> = Vec::new();
//! let counters = analyzer.analyze(CaptureReader::open(path)?, &mut events)?;
//! assert_eq!(counters.events, events.len() as u64);
//! assert!(matches!(&events[0].kind, Finding::Tcp(syn) if syn.label().is_some_and(|label| &*label.name == "Linux")));
//! # Ok::<_, huginn_net::AnalysisError<huginn_net::CaptureError>>(())
//! ```
//!
//! With [`Builder::workers`] several threads do it, with the same events in the same order.
//!
//! The same, frame by frame, where frames come from elsewhere: [`HuginnNet::push`](core::Analyzer::push). To read one
//! packet without flows or a database, see the crate `huginn-net-tcp` (here as [`tcp`]); to read a
//! ClientHello from bytes, `huginn-net-tls` (here as [`tls`]).

mod community_id;
pub mod finding;
pub mod hosts;
pub mod json;
mod observers;
pub mod p0f;
mod p0f_flow;
#[cfg(feature = "serde")]
mod serialize;
mod system_check;

pub use community_id::CommunityId;
pub use finding::{Event, Finding};
/// Capture files: pcap and pcapng, plain or compressed.
pub use huginn_net_capture as capture;
pub use huginn_net_capture::{CaptureError, CaptureReader};
/// Frames, flows and the engine.
pub use huginn_net_core as core;
pub use huginn_net_core::{
    AnalysisError, Builder, CancelToken, Counters, Escaped, Filter, Frame, LinkType, NextFrame, Side, Sink,
    Source, Timestamp,
};
/// The signature database and its matching.
pub use huginn_net_db as db;
pub use huginn_net_db::{Database, DatabaseError, Label};
/// HTTP/1 and HTTP/2: requests, responses, signatures.
pub use huginn_net_http as http;
/// SSH: identification strings, HASSH and HASSHServer.
pub use huginn_net_ssh as ssh;
/// TCP/IP signatures.
pub use huginn_net_tcp as tcp;
/// TLS over TCP, QUIC and DTLS: hellos, JA4 and JA3.
pub use huginn_net_tls as tls;
pub use observers::{FlowState, Observers, ProtocolCounters, Scope};

/// The analyzer of all protocols over one decode and one flow table.
pub type HuginnNet = huginn_net_core::Analyzer<Observers>;
