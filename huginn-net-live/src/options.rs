//! Options of a live capture.

use std::time::Duration;

/// Options of a live capture; see [`LiveSource::open`](crate::LiveSource::open).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveOptions {
    /// The capture mechanism.
    pub backend: Backend,
    /// Whether to capture in promiscuous mode (default true).
    pub promiscuous: bool,
    /// Snap length in bytes (default 262,144, more than any frame but an IPv6 jumbogram); at least 64.
    pub snaplen: u32,
    /// Size of the kernel's capture buffer per interface and [queue](crate::LiveSource::open_queues), in bytes (default 32 MiB). The
    /// kernel allocates it when the interface is opened.
    ///
    /// [`Backend::Packet`] rounds it up to blocks of 64 KiB, at least two; from 64 MiB on, blocks have 128 KiB, from
    /// 128 MiB on 256 KiB. A frame takes about 85 bytes more than its length, and is cut to what a block holds: with blocks
    /// of 64 KiB to 65,400 bytes, unless the MTU of the interface is longer.
    pub buffer_bytes: usize,
    /// How long the kernel may buffer frames before it delivers them (default 9 ms), in whole milliseconds.
    ///
    /// A batch of frames is packed densely. On Linux each delivery uses up a block of the buffer, however few frames it
    /// contains: isolated frames fill a buffer of 32 MiB with blocks of 64 KiB in 512 times this timeout, which is 4.6 s.
    /// Buffered frames are delivered within twice the timeout; older kernels round it up to a timer tick of 1 to 10 ms.
    ///
    /// [`Backend::Packet`] uses at least 1 ms. [`Backend::Pcap`] with zero delivers each frame at once (immediate
    /// mode). Each frame then takes as much of the buffer as the longest one would, on Linux mostly 64 KiB, so reduce
    /// [`snaplen`](Self::snaplen) as well.
    pub buffer_timeout: Duration,
    /// Processors, from 0, one for each queue (default: none; Linux only). The thread that reads the first frame of a queue stays on
    /// its processor, and the buffer lies in the memory of that processor's node. A source that several threads read must have none.
    pub cpus: Vec<usize>,
    /// Whether to wait for interfaces that do not exist yet (default false; [`Backend::Packet`] only).
    pub wait: bool,
    /// Filter expression in the language of `pcap-filter(7)`; [`Backend::Pcap`] only.
    pub expression: Option<String>,
}

huginn_net_core::setters!(LiveOptions {
    backend: Backend,
    promiscuous: bool,
    snaplen: u32,
    buffer_bytes: usize,
    buffer_timeout: Duration,
    cpus: Vec<usize>,
    wait: bool,
    expression: impl Into<Option<String>>,
});

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            promiscuous: true,
            snaplen: 1 << 18,
            buffer_bytes: 32 << 20,
            buffer_timeout: Duration::from_millis(9),
            cpus: Vec::new(),
            wait: false,
            expression: None,
        }
    }
}

/// A capture mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// `AF_PACKET` sockets (`packet(7)`) of Linux; needs no system library.
    Packet,
    /// libpcap, on every system that it supports; needs the feature `libpcap`.
    Pcap,
}

impl Default for Backend {
    /// Returns [`Packet`](Self::Packet) on Linux, [`Pcap`](Self::Pcap) elsewhere.
    fn default() -> Self {
        if cfg!(target_os = "linux") { Self::Packet } else { Self::Pcap }
    }
}
