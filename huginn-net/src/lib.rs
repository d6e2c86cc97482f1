//! Passive OS, HTTP, TLS and SSH fingerprinting.
//!
//! | you have | use | crate |
//! |---|---|---|
//! | bytes: a ClientHello, a request head, one IP packet | parsers from bytes: [`tls::ClientHello::from_records`], [`http::Request::parse`], [`ssh::SshReader`], [`tcp::TcpSignature::from_ip_packet`] | `huginn-net-tls`, `-http`, `-ssh`, `-tcp` |
//! | frames that your program captures itself | [`push`](core::Analyzer::push), or a [channel](core::frame_channel) for several workers | `huginn-net` |
//! | a capture file, a reader, an interface | [`analyze`](core::Analyzer::analyze), or [`spawn`](core::Analyzer::spawn) to go on with other work | `huginn-net`, `huginn-net-live` |
//! | live traffic, with several workers | `LiveSource::open_queues` and [`analyze_queues`](core::Analyzer::analyze_queues) | `huginn-net`, `huginn-net-live` |
//! | connections that your program ends | `Recorder`, `Fingerprinter`, or a layer for axum | `huginn-net-proxy` |
//!
//! `docs/library.md` explains each. [`HuginnNet`] analyses capture files, interfaces, or frames that the caller supplies. It identifies:
//!
//! - operating systems, link types and distances, with the semantics of p0f v3,
//! - browsers and servers by HTTP/1 and HTTP/2,
//! - TLS clients and servers by JA4 and JA3,
//! - SSH clients and servers by HASSH.
//!
//! [`Hosts`](hosts::Hosts) keeps state across connections: uptime, changes, shared addresses, and with
//! [`Configure::profiles`] a profile of each host.
//!
//! ```
//! use huginn_net::{CaptureReader, Event, Observation, HuginnNet};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
//! let mut analyzer = HuginnNet::builder().build();
//! let mut events: Vec<Event> = Vec::new();
//! let counters = analyzer.analyze(CaptureReader::open(path)?, |event| events.push(event))?;
//! assert_eq!(counters.events, events.len() as u64);
//! assert!(matches!(&events[0].kind, Observation::Tcp(syn) if syn.label().is_some_and(|label| &*label.name == "Linux")));
//! # Ok::<_, huginn_net::AnalysisError<huginn_net::CaptureError>>(())
//! ```
//!
//! The trait [`Configure`] adds the settings of the protocols to the builder: `HuginnNet::builder().profiles(true)`.
//! [`core::Builder::workers`] sets the number of worker threads; events and their order stay the same.
//! [`HuginnNet::spawn`](core::Analyzer::spawn) analyses a source in a thread of its own, and returns a [`Run`] with its events and counters.
//! [`HuginnNet::push`](core::Analyzer::push) analyses one frame at a time. The modules [`tcp`], [`http`], [`tls`] and
//! [`ssh`] contain the parsers; they need neither flows nor a database.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `capture` | yes | [`CaptureReader`]: capture files, with their formats and compressions |
//! | `find` | no | `capture::find_in_directory`: the captures that a directory or a pattern names |
//! | `decrypt` | yes | `Configure::secrets`: HTTP inside TLS and QUIC, with logged secrets |
//! | `anonymize` | no | `anonymize::Anonymizer`: pseudonyms that keep prefixes take the place of addresses |
//! | `bpf` | no | filter expressions of pcap-filter(7), run by the libpcap of the system, which is loaded at run time |
//! | `self-signed` | no | `tls::Certificate::is_self_signed`, for certificates that [`Configure::certificate_bytes`] keeps |
//! | `stream` | no | [`Run`] as a `Stream` of events, for tokio and any other executor |
//!
//! Items that these pages leave out are for the crates of the family: they may change at any time.

mod addresses;
pub mod alert;
#[cfg(feature = "anonymize")]
pub mod anonymize;
pub mod blind_spots;
#[cfg(test)]
#[path = "../../captures/tools/captures.rs"]
mod captures;
pub mod clients;
mod community_id;
#[cfg(feature = "decrypt")]
pub mod decrypt;
mod event_limits;
pub mod explain;
mod header_text;
pub mod hosts;
mod json;
mod limits;
pub mod observation;
pub mod observers;
pub mod p0f;
mod p0f_flow;
mod parse_time;
mod parser_events;
pub mod record;
mod scope;
pub mod select;
#[cfg(all(test, target_pointer_width = "64"))]
#[path = "../../huginn-net-core/src/sizes.rs"]
mod sizes;
mod text_limit;
pub mod watch;

/// Capture files: pcap and pcapng, plain or compressed.
#[cfg(feature = "capture")]
pub use huginn_net_capture as capture;
#[cfg(feature = "capture")]
pub use huginn_net_capture::{CaptureError, CaptureReader};
/// What does not fit together in one connection or request.
pub use huginn_net_consistency as consistency;
/// Frames, flows and the engine.
pub use huginn_net_core as core;
pub use huginn_net_core::{AnalysisError, Counters, Frame, LinkType, Run, Side, Source, Timestamp};
/// The signature database and its matching.
pub use huginn_net_db as db;
pub use huginn_net_db::{ClientDatabase, Database, Label};
/// HTTP/1 and HTTP/2: requests, responses, signatures.
pub use huginn_net_http as http;
/// SSH: identification strings, HASSH and HASSHServer.
pub use huginn_net_ssh as ssh;
/// TCP/IP signatures.
pub use huginn_net_tcp as tcp;
/// TLS over TCP, QUIC and DTLS: hellos, JA4 and JA3.
pub use huginn_net_tls as tls;
pub use observation::{Event, Observation};
pub use observers::{Configure, Observers};

/// What most programs use: `use huginn_net::prelude::*;`. It has no modules, whose names `core` and `http` may be taken.
pub mod prelude {
    pub use huginn_net_core::{
        CancelToken, Counters, Frame, LinkType, Run, Side, Source, Timestamp, frame_channel,
    };

    #[cfg(feature = "capture")]
    pub use crate::CaptureReader;
    pub use crate::observation::OwnEvent;
    pub use crate::observers::Scope;
    pub use crate::record::JsonEvent;
    pub use crate::{
        ClientDatabase, Configure, Database, Event, HuginnNet, Label, Observation, Observers, own_event,
    };
}

/// The analyzer of all protocols over one decode and one flow table.
pub type HuginnNet = huginn_net_core::Analyzer<Observers>;

/// Tests the Rust programs of docs/guide.md.
#[cfg(all(doctest, feature = "capture"))]
#[doc = include_str!("../../docs/guide.md")]
struct GuideExamples;

/// Tests the Rust programs of docs/stopping.md.
#[cfg(all(doctest, feature = "capture"))]
#[doc = include_str!("../../docs/stopping.md")]
struct StoppingExamples;

/// Tests the Rust programs of docs/library.md.
#[cfg(all(doctest, feature = "capture"))]
#[doc = include_str!("../../docs/library.md")]
struct LibraryExamples;
