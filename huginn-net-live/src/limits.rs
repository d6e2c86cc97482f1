//! Limits and tuning constants of this crate, each with its unit and its reason.

use std::time::Duration;

/// Interval between updates of the statistics and checks of interfaces that are down or removed.
pub(crate) const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// Coarsest resolution of the kernel timer that retires blocks: one jiffy at 100 Hz.
pub(crate) const KERNEL_TIMER_RESOLUTION: Duration = Duration::from_millis(10);

/// Longest time between the timestamp of a frame and its delivery where the system does not buffer frames.
pub(crate) const MIN_DELIVERY_DELAY: Duration = Duration::from_millis(1);

/// Longest time to drain frames that were captured before the stop. A limit is needed because clocks may step.
pub(crate) const MAX_DRAIN_TIME: Duration = Duration::from_secs(2);

/// A wait shorter than this means that frames arrive in quick succession. The source then sleeps this long before the next
/// read, so that it receives many frames at once. A single frame is received at once.
pub(crate) const COALESCE_DELAY: Duration = Duration::from_micros(500);

/// Number of consecutive wakeups without frames before the source sleeps, so that it does not spin.
pub(crate) const MAX_SPURIOUS_WAKEUPS: u32 = 8;

/// Sleep after too many wakeups without frames; short against the default buffer timeout of 9 ms.
pub(crate) const SPURIOUS_WAKEUP_DELAY: Duration = Duration::from_millis(1);

/// Maximum number of frames per read from libpcap, so that one busy interface does not starve the others.
#[cfg(feature = "libpcap")]
pub(crate) const MAX_FRAMES_PER_READ: usize = 64;

/// Minimum time between two attempts to open an interface with libpcap, so that an interface that fails at once does not
/// keep the source busy.
#[cfg(feature = "libpcap")]
pub(crate) const MIN_REOPEN_INTERVAL: Duration = Duration::from_secs(1);

/// Length of the shortest ring blocks in bytes: a block that the timer retires is used up, however little it contains, so
/// that the number of blocks decides how long the ring lasts with little traffic. A frame lies in one block; this one holds
/// what segmentation offload makes of 45 segments of 1,448 bytes. A multiple of any page size.
#[cfg(target_os = "linux")]
pub(crate) const RING_BLOCK_LEN: usize = 64 << 10;

/// Length of the longest ring blocks in bytes: room for any frame with the default snap length. Several of the longest
/// frames of most interfaces share one.
#[cfg(target_os = "linux")]
pub(crate) const MAX_RING_BLOCK_LEN: usize = 256 << 10;

/// Number of ring blocks from which on they are longer than [`RING_BLOCK_LEN`]: with the default timeout of 9 ms, they last
/// 4.6 s, however few frames arrive. Three quarters of them, 3.4 s, last without loss: beyond, the kernel drops a frame that
/// arrives while it changes blocks.
#[cfg(target_os = "linux")]
pub(crate) const RING_BLOCKS: usize = 512;

/// Bytes of a ring block that a frame cannot use: the headers of block, frame and link layer.
#[cfg(target_os = "linux")]
pub(crate) const RING_BLOCK_OVERHEAD: usize = 256;

/// Minimum number of ring blocks: the kernel writes one while the source reads the other.
#[cfg(target_os = "linux")]
pub(crate) const MIN_RING_BLOCKS: usize = 2;

/// Smallest snap length in bytes: enough for the headers up to TCP.
#[cfg(target_os = "linux")]
pub(crate) const MIN_SNAPLEN: usize = 64;

/// Minimum time between two looks at the interfaces of the system, which the queues of a source share: shorter than
/// [`MAINTENANCE_INTERVAL`], so that each maintenance of a single queue looks.
#[cfg(target_os = "linux")]
pub(crate) const LINK_CHECK_INTERVAL: Duration = Duration::from_millis(750);

/// Time for which a removed interface that patterns match is remembered, since its frames may still be in the ring.
#[cfg(target_os = "linux")]
pub(crate) const REMOVED_INTERFACE_TIME: Duration = Duration::from_secs(5);

/// Maximum number of names of interfaces that patterns match, 16 bits with those of inputs. Beyond, the interface that left first gives
/// its number to a new one: events must have been written by then.
#[cfg(target_os = "linux")]
pub(crate) const MAX_JOINED_NAMES: usize = 1 << 14;

/// Maximum number of notices about interfaces that joined or left in [`CHANGE_NOTICES_INTERVAL`]. One notice counts the others.
#[cfg(target_os = "linux")]
pub(crate) const CHANGE_NOTICES: usize = 30;

/// See [`CHANGE_NOTICES`].
#[cfg(target_os = "linux")]
pub(crate) const CHANGE_NOTICES_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of interfaces whose frames the kernel leaves out. A condition of classic BPF skips at most 255 instructions.
#[cfg(target_os = "linux")]
pub(crate) const MAX_FILTERED_INTERFACES: usize = 250;

/// Time within which a packet on another interface is a copy: far longer than the system takes to pass it on, and shorter than the time
/// after which TCP sends a segment again.
#[cfg(target_os = "linux")]
pub(crate) const COPY_WINDOW: Duration = Duration::from_millis(50);

/// Number of sets of packets that may have copies: with four each, 16,384 packets in 384 KiB for each queue.
#[cfg(target_os = "linux")]
pub(crate) const COPY_SETS: usize = 1 << 12;

/// Maximum number of datagrams per read from a UDP socket, so that one busy socket does not starve the others.
#[cfg(target_os = "linux")]
pub(crate) const DATAGRAMS_PER_READ: usize = 64;

/// Length of the longest datagram of UDP in bytes, without its headers, rounded up.
#[cfg(target_os = "linux")]
pub(crate) const MAX_DATAGRAM_LEN: usize = 64 << 10;

/// Number of batches of a stream that wait for the source, so that the thread that reads the stream may be ahead of it.
#[cfg(unix)]
pub(crate) const STREAM_BATCHES: usize = 4;

/// Number of frames of a stream from which on a batch is full.
#[cfg(unix)]
pub(crate) const STREAM_BATCH_FRAMES: usize = 512;

/// Bytes of a stream from which on a batch is full.
#[cfg(unix)]
pub(crate) const STREAM_BATCH_BYTES: usize = 256 << 10;

/// Time in which a server must accept a connection; the end of the program may wait for it.
#[cfg(unix)]
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Time between two attempts to connect.
#[cfg(unix)]
pub(crate) const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// Time after which a silent connection is left to see whether the program ends.
#[cfg(unix)]
pub(crate) const STREAM_READ_TIMEOUT: Duration = Duration::from_millis(200);

/// Time between two looks at a directory of captures, and at the size of the one that grows.
#[cfg(unix)]
pub(crate) const DIRECTORY_SCAN_INTERVAL: Duration = Duration::from_millis(200);

/// Time between two looks at a directory as a multiple of what one takes: a look at 100,000 files takes long.
#[cfg(unix)]
pub(crate) const SCAN_PAUSE_FACTOR: u32 = 20;

/// Maximum time between two looks at a directory, also if a look took long because the machine is busy.
#[cfg(unix)]
pub(crate) const MAX_SCAN_PAUSE: Duration = Duration::from_secs(5);

/// Maximum number of files in a directory of captures.
#[cfg(unix)]
pub(crate) const MAX_FOLLOWED_FILES: usize = 100_000;

/// Bytes that tell one capture of a ring of files from the next: the header of pcap, and that of its first packet.
#[cfg(unix)]
pub(crate) const CAPTURE_HEAD_LEN: u64 = 64;
