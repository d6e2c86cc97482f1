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
    /// How many bytes of a frame are kept (default 262,144, all of any frame but those of IPv6 jumbograms); 64 at least.
    pub snaplen: u32,
    /// How many bytes of frames the kernel holds for each interface until they are read (default 32 MiB). It allocates
    /// them when the interface is opened.
    ///
    /// [`Backend::Packet`] rounds it up to blocks of 256 KiB, two at least; a frame takes up some 85 bytes more than it
    /// is long.
    pub buffer_bytes: usize,
    /// How long the kernel may collect frames before it hands them over (default 5 ms), in whole milliseconds.
    ///
    /// So it hands over many at once, packed densely. On Linux each time takes up a block of the buffer, mostly of 256
    /// KiB, however little came: frames that come singly fill the buffer of 32 MiB in 128 times as long. What is held
    /// back is handed over within twice the time, which older kernels round up to a tick of their clock, 1 to 10 ms.
    ///
    /// For [`Backend::Packet`] less than 1 ms is 1 ms. [`Backend::Pcap`] with zero hands each frame over at once; then
    /// each takes up as much of the buffer as the longest would, on Linux mostly 64 KiB, and much fits in only with a
    /// small [`snaplen`](Self::snaplen).
    pub buffer_timeout: Duration,
    /// Only frames that this expression selects, in the language of `pcap-filter(7)`; [`Backend::Pcap`] alone knows
    /// any.
    pub expression: Option<String>,
}

impl Default for LiveOptions {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            promiscuous: true,
            snaplen: 1 << 18,
            buffer_bytes: 32 << 20,
            buffer_timeout: Duration::from_millis(5),
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
