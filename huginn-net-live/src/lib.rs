//! Live network interfaces as sources of frames for the Huginn-Net passive fingerprinters.
//!
//! A [`LiveSource`] captures from one or several interfaces and is a [`Source`](huginn_net_core::Source) for any analyzer.
//! On Linux it needs no system library ([`Backend::Packet`]); with the feature `libpcap` it captures with that on every
//! system that it knows ([`Backend::Pcap`]), and takes filter expressions. [`interfaces`] says what there is to capture
//! from.
//!
//! Nothing is lost silently: [`LiveStats`] tells, from any thread, what was received, what the kernel dropped and what the
//! interface dropped. Interfaces that go down or vanish are waited for, and [`Notice`]s tell of it.
//!
//! To capture is a matter of rights: on Linux of `CAP_NET_RAW`, which can be given up when the source is open.
//!
//! ```no_run
//! use huginn_net::{Event, HuginnNet};
//! use huginn_net_live::{LiveOptions, LiveSource};
//!
//! let mut source = LiveSource::open(&["eth0"], &LiveOptions::default())?;
//! source.on_notice(|notice| eprintln!("{notice}"));
//! let (stopper, stats) = (source.stopper(), source.stats());
//! std::thread::spawn(move || {
//!     std::thread::sleep(std::time::Duration::from_secs(60));
//!     stopper.stop();
//! });
//! HuginnNet::builder().build().analyze(source, &mut |event: Event| {
//!     println!("{} {}", event.ts, event.subject_addr());
//! })?;
//! println!("{:?}", stats.interfaces());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod backend;
mod device_drops;
mod error;
mod frame_batch;
mod interface;
mod interfaces;
#[cfg(feature = "libpcap")]
mod libpcap;
mod notice;
mod options;
#[cfg(target_os = "linux")]
mod packet;
mod queues;
mod source;
mod stats;
mod stopper;
mod poll;

pub use error::LiveError;
pub use interface::{Interface, interfaces};
pub use notice::{Notice, NoticeKind};
pub use options::{Backend, LiveOptions};
/// For the fuzz target.
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use packet::{BlockFrame, BlockFrames};
pub use source::LiveSource;
pub use stats::{InterfaceState, InterfaceStats, LiveStats};
pub use stopper::Stopper;
