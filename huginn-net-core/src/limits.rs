//! Limits and tuning constants of this crate, each with its unit and its reason.

use std::time::Duration;

/// Default bytes of captured frames per block; see [`Builder::block_bytes`](crate::Builder::block_bytes). A block and
/// its analysis fit in a core's L2 cache, and filling one costs few system calls.
pub(crate) const BLOCK_BYTES: usize = 512 << 10;

/// Maximum number of frames per block, so that the records of very short frames take no more memory than the frames.
pub(crate) const MAX_BLOCK_FRAMES: usize = 1 << 14;

/// Maximum number of blocks in the ring: how far the fastest worker may run ahead of the slowest.
pub(crate) const RING_BLOCKS: usize = 8;

/// Ring length, in blocks, at which a congested ring has recovered: half of the ring, so that its state does not
/// change with every block.
pub(crate) const RING_RECOVERED_BLOCKS: usize = RING_BLOCKS / 2;

/// How long the ring may stay full before the slowest worker skips a block of a live capture. Meanwhile the kernel
/// buffers frames.
pub(crate) const RING_CONGESTED_TIMEOUT: Duration = Duration::from_millis(200);

/// Queue depth for the outputs of one worker: two for each block of the ring, because a block may cause several.
pub(crate) const OUTPUT_QUEUE_LEN: usize = 2 * RING_BLOCKS;

/// Events and updates in an output after which a worker sends it, so that merging starts before the block is done.
pub(crate) const MAX_OUTPUT_EVENTS: usize = 256;

/// Maximum number of partitions of the flow table. Each has its part of the limits and belongs to one worker, so
/// evictions do not depend on the number of workers. It exceeds usual worker counts, so that workers get equal parts.
pub(crate) const MAX_FLOW_PARTITIONS: usize = 64;

/// Minimum capacity of a partition in flows, so that a small table is not split into tiny partitions.
pub(crate) const MIN_PARTITION_FLOWS: usize = 1024;

/// Frames between two checks for snapshot requests in sequential analysis: many, so that checks cost little, and few
/// enough for an answer within a millisecond.
pub(crate) const FRAMES_BETWEEN_REQUESTS: u32 = 256;

/// Frames between a prefetch and its use: about the latency of main memory at 10 to 20 ns a frame.
pub(crate) const PREFETCH_DISTANCE: usize = 16;

/// Distance between two prefetches of one frame in bytes: a cache line. Most headers span two lines.
pub(crate) const CACHE_LINE_LEN: usize = 64;

/// Out-of-order bytes buffered per TCP direction, overhead included (128 KiB): twice the largest unscaled window, so a
/// lost segment is bridged until its retransmission on all but very fast paths.
pub(crate) const MAX_OUT_OF_ORDER_BYTES: usize = 1 << 17;

/// Longest first segment, in bytes, that a connection can be rebuilt from without buffering: more than the payload of an
/// Ethernet frame of 1518 bytes, less than two of them.
pub(crate) const MAX_FIRST_SEGMENT_LEN: usize = 2048;

/// Maximum number of parsers in one set that can be rebuilt from a first segment: more than this family of crates has. A
/// larger set keeps its parsers from the start.
pub(crate) const MAX_RESUMABLE_PARSERS: usize = 8;

/// Smallest IP total length that fills an Ethernet frame without padding, in bytes: the minimum payload of an Ethernet
/// frame (IEEE 802.3, clause 4A.4.2: 64 bytes less header and checksum).
pub(crate) const MIN_ETHERNET_PAYLOAD_LEN: usize = 46;

/// Maximum number of tags and tunnels that the decoder follows in a frame. Packets with more are counted as `too_deep`.
/// A path is an array of this length, so it needs no heap memory.
pub const MAX_TUNNEL_LAYERS: usize = 8;

/// Maximum number of headers that the decoder follows in a frame; tags, tunnels and reassembled datagrams count. Some
/// headers add no tunnel layer, so that [`MAX_TUNNEL_LAYERS`] alone would not bound the time per frame.
pub(crate) const MAX_PROTOCOL_HEADERS: u8 = 64;

/// Maximum number of extension headers of an IP packet: more than twice the seven that RFC 8200, section 4.1, lists in
/// its recommended order. The limit bounds the time per packet.
pub(crate) const MAX_EXTENSION_HEADERS: usize = 16;

/// Default maximum number of incomplete datagrams. With all of them, the default memory limit leaves 4 KiB for each.
pub(crate) const DEFAULT_MAX_FRAGMENT_DATAGRAMS: usize = 4_096;

/// Default maximum memory of incomplete datagrams, in bytes: about 256 datagrams of the maximum length.
pub(crate) const DEFAULT_MAX_FRAGMENT_BYTES: usize = 16 << 20;

/// Default reassembly timeout: that of Linux (`net.ipv4.ipfrag_time`).
pub(crate) const DEFAULT_FRAGMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Default maximum number of flows: room for 1,700 new flows per second, each kept for the default idle timeout.
pub(crate) const DEFAULT_MAX_FLOWS: usize = 1 << 19;

/// Default idle timeout of a flow: that of TCP connections in Zeek (`tcp_inactivity_timeout`).
pub(crate) const DEFAULT_FLOW_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Default time in which a repeated SYN counts as a retransmission. With its default `tcp_syn_retries`, Linux abandons a
/// connection attempt after 127 seconds.
pub(crate) const DEFAULT_SYN_LIFETIME: Duration = Duration::from_secs(130);

/// Default maximum heap memory of all flows, in bytes: 512 for each of the default maximum number of flows. Data in
/// order needs no buffer.
pub(crate) const DEFAULT_MAX_FLOW_BUFFER_BYTES: usize = 256 << 20;

/// Number of reorder intervals per idle timeout, as a power of two: 256. An entry moves to the front of its list at most
/// once per interval, so the order of eviction is exact to within 1/256 of the timeout.
pub(crate) const REORDER_INTERVALS_PER_TIMEOUT_LOG2: u32 = 8;

/// Upper bound of the interval between two moves of an entry to the front, in nanoseconds: one second, so that the order
/// of eviction stays precise with long timeouts.
pub(crate) const MAX_REORDER_INTERVAL_NANOS: u64 = 1_000_000_000;

/// Maximum number of entries per check that are refreshed because packet time stepped back. The limit bounds the cost
/// of a capture whose time steps back repeatedly.
pub(crate) const MAX_REFRESHES_PER_CHECK: u32 = 4;

/// Maximum length of a datagram: the range of an IP length field, in bytes.
pub(crate) const MAX_DATAGRAM_LEN: usize = 65_535;

/// Number of counters of packets that the decoder could not read, each of which has an example.
pub(crate) const DECODER_EXAMPLES: usize = 13;
