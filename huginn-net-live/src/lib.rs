//! Live network interfaces as sources of frames for the Huginn-Net passive fingerprinters.
//!
//! A [`LiveSource`] captures from one or several interfaces and is a [`Source`](huginn_net_core::Source) for any analyzer.
//! On Linux it captures with AF_PACKET sockets and needs no system library ([`Backend::Packet`]). With the feature
//! `libpcap` it captures with libpcap on every system that libpcap supports ([`Backend::Pcap`]), and accepts filter
//! expressions. [`interfaces`] lists the interfaces.
//!
//! [`LiveSource::open_queues`] divides the packets of an interface or of a mirror among several sources, for
//! [`Analyzer::analyze_queues`](huginn_net_core::Analyzer::analyze_queues): no frame then crosses threads.
//!
//! [`LiveStats`] counts, for any thread, the frames received, dropped by the kernel and dropped by the interface. The
//! source waits for interfaces that go down or are removed, and reports each change with a [`Notice`].
//!
//! A name such as `udp:4789` is a UDP socket that receives mirrored traffic (VXLAN, Geneve, TZSP), which needs no privilege.
//! `tcp:HOST:PORT` reads a capture that a server sends, and `file:DIR` the captures of a directory, while they grow.
//!
//! `any` and patterns such as `veth*` and `!lo` stand for all interfaces that match, also for those that appear later (Linux).
//!
//! Capturing from an interface needs privileges, on Linux `CAP_NET_RAW`, which the program may drop once the source is open.
//!
//! ```no_run
//! use huginn_net::HuginnNet;
//! use huginn_net_live::{LiveOptions, LiveSource};
//!
//! let mut source = LiveSource::open(&["eth0"], &LiveOptions::default().promiscuous(false))?;
//! source.on_notice(|notice| eprintln!("{notice}"));
//! let (stopper, stats) = (source.stopper(), source.stats());
//! std::thread::spawn(move || {
//!     std::thread::sleep(std::time::Duration::from_secs(60));
//!     stopper.stop();
//! });
//! HuginnNet::builder().build().analyze(source, |event| {
//!     println!("{} {}", event.ts, event.subject_addr());
//! })?;
//! println!("{:?}", stats.interfaces());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A directory of captures needs none:
//!
//! ```
//! use huginn_net::HuginnNet;
//! use huginn_net_live::{LiveOptions, LiveSource};
//!
//! # let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
//! # let directory = std::env::temp_dir().join(format!("huginn-net-live-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # std::fs::copy(captures, directory.join("now.pcap"))?;
//! let source = LiveSource::open(&[format!("file:{}", directory.display())], &LiveOptions::default())?;
//! let mut run = HuginnNet::builder().build().spawn(source);
//! let event = run.next().expect("a capture with events");
//! println!("{} {}", event.ts, event.subject_addr());
//! run.stop();
//! let (_, counters) = run.finish();
//! assert!(counters?.events > 0);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `libpcap` | `Backend::Pcap`, which captures with libpcap, and filter expressions |
//! | `serde` | `Serialize` for statistics |
//!
//! None is on by default.
mod backend;
mod device_drops;
mod error;
#[cfg(target_os = "linux")]
mod fanout;
mod frame_batch;
mod inputs;
mod interface;
mod interfaces;
#[cfg(feature = "libpcap")]
mod libpcap;
mod limits;
#[cfg(target_os = "linux")]
mod matched;
mod names;
mod notice;
mod options;
#[cfg(target_os = "linux")]
mod packet;
mod pattern;
mod poll;
mod processor;
mod queues;
#[cfg(target_os = "linux")]
mod settings;
mod source;
mod stats;
mod stopper;
#[cfg(unix)]
mod stream;
mod targets;
#[cfg(target_os = "linux")]
mod udp;

pub use error::LiveError;
pub use interface::{Interface, interfaces};
pub use names::InterfaceNames;
pub use notice::{Notice, NoticeKind};
pub use options::{Backend, LiveOptions};
/// Public for the fuzz target `ring_block` only.
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use packet::{BlockFrame, BlockFrames};
pub use pattern::{is_pattern, matching};
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use settings::{InterfaceSettings, clock_error};
pub use source::LiveSource;
pub use stats::{InterfaceState, InterfaceStats, LiveStats, QueueStats};
pub use stopper::Stopper;
