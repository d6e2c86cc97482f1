//! How interfaces are captured from.

use std::time::Duration;

/// How interfaces are captured from; see [`LiveSource::open`](crate::LiveSource::open).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveOptions {
    /// What captures.
    pub backend: Backend,
    /// Whether the interface is asked to receive also what is sent to others (default yes).
    pub promiscuous: bool,
    /// How many bytes of a frame are kept (default 262,144, which is all of any frame); 64 at least.
    pub snaplen: u32,
    /// How many bytes of frames the kernel holds for each interface until they are read (default 32 MiB).
    ///
    /// For [`Backend::Packet`] this is a limit, in which each frame counts with what it occupies in the kernel (768 bytes
    /// and more); [`Backend::Pcap`] allocates so much.
    pub buffer_bytes: usize,
    /// How long [`Backend::Pcap`] may collect frames before it hands them over (default 10 ms); with zero each is handed over
    /// at once.
    ///
    /// While it may collect them it packs them densely into its buffer. Handed over at once, each takes as much of it as
    /// the longest frame would, on Linux mostly 64 KiB: then much fits in only with a small [`snaplen`](Self::snaplen).
    pub hold_back: Duration,
    /// Only frames that this expression selects, in the language of `pcap-filter(7)`; [`Backend::Pcap`] alone knows any.
    pub expression: Option<String>,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            promiscuous: true,
            snaplen: 1 << 18,
            buffer_bytes: 32 << 20,
            hold_back: Duration::from_millis(10),
            expression: None,
        }
    }
}

/// What captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// `AF_PACKET` sockets (`packet(7)`) of Linux, without a system library.
    Packet,
    /// libpcap, on every system that it knows; needs the feature `libpcap`.
    Pcap,
}

impl Default for Backend {
    /// [`Packet`](Self::Packet) on Linux, [`Pcap`](Self::Pcap) elsewhere.
    fn default() -> Self {
        if cfg!(target_os = "linux") { Self::Packet } else { Self::Pcap }
    }
}
