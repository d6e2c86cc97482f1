//! Passive network fingerprinting: who is talking, from packets alone.
//!
//! [`HuginnNet`] analyses capture files, or frames from anywhere, and says which operating system, over which
//! kind of link and at what distance sent them, with the semantics of p0f v3, which browser and which server, by HTTP/1
//! and HTTP/2, and which TLS client, by JA4 and JA3. It remembers [`Hosts`]: for how long they have been up, whether
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
//! The same, frame by frame, where frames come from elsewhere: [`HuginnNet::push`](Analyzer::push). To read one
//! packet without flows or a database, see the crate `huginn-net-tcp` (here as [`tcp`]); to read a
//! ClientHello from bytes, `huginn-net-tls` (here as [`tls`]).

mod community_id;
mod escaped;
mod finding;
mod hosts;
mod json;
mod observers;
mod p0f_flow;
mod p0f_log;
mod p0f_query;
mod system_check;

pub use community_id::CommunityId;
pub use escaped::Escaped;
pub use finding::{
    ChangeFinding, Event, Finding, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding,
    TcpFinding, UptimeFinding,
};
pub use hosts::{
    Activity, Cause, Claim, Contradiction, Counted, Evidence, Explanation, Findings, Grade, HostCounters,
    HostId, HostLimits, HostNote, HostProfile, Hosts, Latest, Layer, LinkSeen, Mismatch, Reasons, Sightings,
    SoftwareSeen, Statement, SystemSeen, TlsClientSeen, Verdict,
};
/// Frames, flows and the engine: all that the types here are made of.
pub use huginn_net_core as core;
pub use huginn_net_core::{
    AnalysisError, Analyzer, Builder, CancelToken, CaptureError, CaptureReader, Counters, DecodeConfig,
    Filter, FlowId, FlowLimits, Frame, Frames, Glimpse, Inspector, IpNet, LinkType, MemoryFrames, Overflow,
    Side, Sink, Source, Timestamp, TransportKind, TunnelLayer, TunnelPath, Watcher,
};
#[cfg(feature = "libpcap")]
pub use huginn_net_core::{Bpf, BpfError};
/// The signature database and its matching.
pub use huginn_net_db as db;
pub use huginn_net_db::{Database, Error as DatabaseError, Label};
/// HTTP/1 and HTTP/2: requests, responses, signatures.
pub use huginn_net_http as http;
/// SSH: identification strings, HASSH and HASSHServer.
pub use huginn_net_ssh as ssh;
pub use huginn_net_ssh::SshPeer;
/// TCP/IP signatures.
pub use huginn_net_tcp as tcp;
/// TLS over TCP, QUIC and DTLS: hellos, JA4 and JA3.
pub use huginn_net_tls as tls;
pub use huginn_net_tls::{TlsClient, TlsServer};
pub use json::{JsonEvent, JsonHost};
pub use observers::{FlowState, Observers, ProtocolCounters, Scope};
pub use p0f_log::P0fLine;
pub use p0f_query::{P0fAnswer, P0fHost, P0fQuery, P0fText};
pub use system_check::SystemCheck;

/// The analyzer of all protocols over one decode and one flow table.
pub type HuginnNet = Analyzer<Observers>;
