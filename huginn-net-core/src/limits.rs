//! Limits and tuning constants of this crate, each with its unit and its reason.

use std::time::Duration;

/// Default bytes of captured frames per block and worker; see [`Builder::block_bytes`](crate::Builder::block_bytes). The share of
/// a worker in a block fits in a core's L2 cache, and takes longer than to wake the worker.
pub(crate) const BLOCK_BYTES_PER_WORKER: usize = 256 << 10;

/// Number of addresses of each version of IP whose [mapped](crate::AddressMap) ones a decoder remembers: the hosts of a network, in 44 KiB.
pub(crate) const MAPPED_ADDRESSES: usize = 1024;

/// Maximum default bytes of captured frames per block: eight blocks of 16 workers take 32 MiB.
pub(crate) const MAX_BLOCK_BYTES: usize = 4 << 20;

/// Bytes of captured frames per block of a channel.
pub(crate) const CHANNEL_BLOCK_BYTES: usize = 512 << 10;

/// Number of full blocks in a channel of frames: 4 MiB, which bridge 3 ms at 10 Gbps.
pub(crate) const MAX_CHANNEL_BLOCKS: usize = 8;

/// Longest wait for a block of a channel of frames, so that the analysis notices when it is cancelled.
pub(crate) const CHANNEL_WAIT: Duration = Duration::from_millis(500);

/// Maximum number of frames per block, so that the records and tasks of very short frames take at most 2 MiB. A block that is filled from a
/// chunk has all frames of the chunk, eight times as many at most.
pub(crate) const MAX_BLOCK_FRAMES: usize = 1 << 14;

/// Bytes that a lent frame counts for in a block: what its analysis reads of most frames, so that a block of 512 KiB holds 4,096.
pub(crate) const LENT_FRAME_BYTES: usize = 128;

/// Maximum number of blocks in the ring: how far the fastest worker may run ahead of the slowest.
pub(crate) const RING_BLOCKS: usize = 8;

/// Number of workers with a processor each from which several read a file at once: four take as long to analyse a block as one takes to read
/// it.
pub(crate) const MIN_READING_WORKERS: usize = 5;

/// Ring length, in blocks, at which a congested ring has recovered: half of the ring, so that its state does not
/// change with every block.
pub(crate) const RING_RECOVERED_BLOCKS: usize = RING_BLOCKS / 2;

/// How long the ring may stay full before the slowest worker skips a block of a live capture. Meanwhile the kernel
/// buffers frames.
pub(crate) const RING_CONGESTED_TIMEOUT: Duration = Duration::from_millis(200);

/// Queue depth for the outputs of one worker: two for each block of the ring, because a block may cause several.
pub(crate) const OUTPUT_QUEUE_LEN: usize = 2 * RING_BLOCKS;

/// Longest wait of an event for earlier ones of an idle source, in nanoseconds of capture time: longer than a source needs to state
/// that none follows. A greater difference means that a clock was set back.
pub(crate) const MAX_ORDER_WAIT_NANOS: u64 = 1_000_000_000;

/// Longest time for which a full channel of a live source is not noticed, while its events wait for those of others: less than the buffer
/// of the kernel bridges.
pub(crate) const MAX_FULL_QUEUE_WAIT: Duration = Duration::from_millis(10);

/// Frames after which a worker with a source of its own sends its output: few enough that merging waits for less than a millisecond,
/// many enough that a packet costs nothing more.
pub(crate) const FRAMES_PER_QUEUE_OUTPUT: u32 = 1024;

/// Events and updates in an output after which a worker sends it, so that merging starts before the block is done.
pub(crate) const MAX_OUTPUT_EVENTS: usize = 256;

/// Unread events of a [`Run`](crate::Run) at which the analysis waits: enough that a reader that is as fast on average never stops it.
pub(crate) const MAX_UNREAD_EVENTS: usize = 1024;

/// Unread events of a [`Run`](crate::Run) at which the analysis waits although a query does: the block that delays the answer fits, if it has
/// two events for each of its frames, and queries beside a reader that never reads cannot fill the memory.
pub(crate) const MAX_UNREAD_EVENTS_OF_QUERIES: usize = 2 * MAX_BLOCK_FRAMES;

/// Maximum number of partitions of the flow table. Each has its part of the limits and belongs to one worker, so
/// evictions do not depend on the number of workers. It exceeds usual worker counts, so that workers get equal parts.
pub(crate) const MAX_FLOW_PARTITIONS: usize = 64;

/// Minimum capacity of a partition in flows, so that a small table is not split into tiny partitions.
pub(crate) const MIN_PARTITION_FLOWS: usize = 1024;

/// Frames between two checks for snapshot requests in sequential analysis: many, so that checks cost little, and few
/// enough for an answer within a millisecond.
pub(crate) const FRAMES_BETWEEN_REQUESTS: u64 = 256;

/// Frames that the caller's thread analyses before several workers start, and between two decisions to start them: as many take it
/// longer than to start threads and to allocate blocks.
pub(crate) const FRAMES_IN_CALLER: u64 = 2048;

/// Workers that run at once, up to which more of them make more frames worth their while. With `n` of them, frames in memory are divided
/// if more than one in `2 (n - 1)` yields a segment that a protocol analyses: one in 22 does of long TCP connections, one in six of long
/// HTTP connections, one in three of short TCP ones, and more than half of short ones with HTTP or TLS.
pub(crate) const MAX_GAINING_WORKERS: u64 = 5;

/// Surplus, in frames, at which an analysis is divided: that of two windows in which every frame is analysed, or of more that are less dense. One
/// dense window in sparse traffic does not divide it.
pub(crate) const DIVISION_SURPLUS: u64 = FRAMES_IN_CALLER;

/// Frames between a prefetch and its use: about the latency of main memory at 10 to 20 ns a frame.
pub(crate) const PREFETCH_DISTANCE: usize = 16;

/// Distance between two prefetches of one frame in bytes: a cache line. Most headers span two lines.
pub(crate) const CACHE_LINE_LEN: usize = 64;

/// Last byte of a frame that names the flow of most: Ethernet, IPv4 without options, and the ports of TCP.
pub(crate) const LAST_FLOW_BYTE: usize = 37;

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

/// Smallest IP total length that fills an Ethernet frame with one VLAN tag or MPLS label without padding, in bytes.
pub(crate) const MIN_TAGGED_PAYLOAD_LEN: usize = MIN_ETHERNET_PAYLOAD_LEN - 4;

/// Maximum number of tags and tunnels that the decoder follows in a frame. Packets with more are counted as `too_deep`.
/// A path is an array of this length, so it needs no heap memory.
pub(crate) const MAX_TUNNEL_LAYERS: usize = 8;

/// Maximum number of headers that the decoder follows in a frame; tags, tunnels and reassembled datagrams count. Some
/// headers add no tunnel layer, so that [`MAX_TUNNEL_LAYERS`] alone would not bound the time per frame.
pub(crate) const MAX_PROTOCOL_HEADERS: u8 = 64;

/// Maximum number of protocols that are counted by number: more than public captures of mixed networks show. A search
/// through all of them costs little for each packet that is not analysed.
pub(crate) const MAX_PROTOCOL_COUNTS: usize = 32;

/// Default maximum number of incomplete datagrams. With all of them, the default memory limit leaves 4 KiB for each.
pub(crate) const DEFAULT_MAX_FRAGMENT_DATAGRAMS: usize = 4_096;

/// Default maximum memory of incomplete datagrams, in bytes: about 256 datagrams of the maximum length.
pub(crate) const DEFAULT_MAX_FRAGMENT_BYTES: usize = 16 << 20;

/// Default reassembly timeout: that of Linux (`net.ipv4.ipfrag_time`).
pub(crate) const DEFAULT_FRAGMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Default maximum number of flows: room for 1,700 new flows per second that stay open for the default idle timeout.
pub(crate) const DEFAULT_MAX_FLOWS: usize = 1 << 19;

/// Default idle timeout of a flow: that of TCP connections in Zeek (`tcp_inactivity_timeout`).
pub(crate) const DEFAULT_FLOW_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Number of expiry steps for which a connection stays after its end: its last acknowledgements and repeated segments belong to it.
pub(crate) const ENDED_STEPS: u64 = 2;

/// Idle timeout of a connection that one side has closed, in nanoseconds: the rest may have been lost.
pub(crate) const CLOSING_NANOS: u64 = 30_000_000_000;

/// Idle timeout of a connection that only one side has opened, in nanoseconds: Linux repeats its SYN for 127 s.
pub(crate) const OPENING_NANOS: u64 = 130_000_000_000;

/// Idle timeout of UDP, in nanoseconds: RFC 4787, section 4.3, wants at least two minutes of a NAT.
pub(crate) const DATAGRAMS_NANOS: u64 = 120_000_000_000;

/// Default time in which a repeated SYN counts as a retransmission. With its default `tcp_syn_retries`, Linux abandons a
/// connection attempt after 127 seconds.
pub(crate) const DEFAULT_SYN_LIFETIME: Duration = Duration::from_secs(130);

/// Packets between two searches of p0f 3.09b for flows that are too old.
pub(crate) const P0F_EXPIRY_PACKETS: u64 = 50;

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Distance above the number of a connection's SYN, in bytes, within which another SYN may have the number of its data: then
/// only a SYN+ACK shows that this SYN starts another connection.
pub(crate) const MAX_CONNECTION_BYTES: u32 = 256 << 20;

/// Distance from a SYN in the middle of a connection, in bytes, within which a segment continues it: the most that is sent
/// before the server answers, with room for lost segments.
pub(crate) const MAX_CANDIDATE_BYTES: u32 = 1 << 20;

/// Default maximum heap memory of all flows, in bytes: 512 for each of the default maximum number of flows. Data in
/// order needs no buffer.
pub(crate) const DEFAULT_MAX_FLOW_BUFFER_BYTES: usize = 256 << 20;

/// Number of reorder intervals per idle timeout, as a power of two: 256. An entry moves to the front of its list at most
/// once per interval, so the order of eviction is exact to within 1/256 of the timeout.
pub(crate) const REORDER_INTERVALS_PER_TIMEOUT_LOG2: u32 = 8;

/// Upper bound of the interval between two moves of an entry to the front, in nanoseconds: one second, so that the order
/// of eviction stays precise with long timeouts.
pub(crate) const MAX_REORDER_INTERVAL_NANOS: u64 = 1_000_000_000;

/// Greatest distance between two timestamps of one capture clock, as a fraction of the idle timeout: a 32nd, which is
/// 9 seconds of the default timeout. Shorter distances need no confirmation.
pub(crate) const CLOCK_TOLERANCES_PER_TIMEOUT: u64 = 32;

/// Greatest idle time that one pause or step of the capture counts as, as a fraction of the idle timeout: a twelfth, so
/// that one step (25 s) expires no connection that one side has closed (30 s), four in a row none that only one side has opened
/// (130 s), and flows still expire in a capture that consists of pauses.
pub(crate) const STEPS_PER_TIMEOUT: u64 = 12;

/// Maximum number of capture clocks that packet time follows besides the current one: interfaces that disagree, each
/// before and after a pause.
pub(crate) const MAX_CAPTURE_CLOCKS: usize = 8;

/// Maximum number of entries per check that are refreshed because packet time stepped back. The limit bounds the cost
/// of a capture whose time steps back repeatedly.
pub(crate) const MAX_REFRESHES_PER_CHECK: u32 = 4;

/// Maximum length of a datagram: the range of an IP length field, in bytes.
pub(crate) const MAX_DATAGRAM_LEN: usize = 65_535;

/// Number of counters of packets that the decoder could not read, each of which has an example.
pub(crate) const DECODER_EXAMPLES: usize = 16;

/// Maximum distance between the next byte of a TCP direction and a segment, in bytes: the largest window
/// (RFC 7323, section 2.3).
pub(crate) const MAX_TCP_WINDOW: u64 = 1 << 30;

/// Maximum distance of an acknowledgement after the last captured byte that is believed, in bytes: a forged one may be anywhere.
pub(crate) const MAX_ACKNOWLEDGED_AHEAD: u64 = 1 << 20;

/// Maximum copy of delivered bytes that is kept after all parsers are done, in bytes per TCP connection: first segments
/// that are not a message of any protocol.
pub(crate) const MAX_WATCHED_BYTES: usize = 1 << 12;

/// Maximum copy of delivered bytes that the receiver has not acknowledged, in bytes per TCP connection: a request head or
/// a ClientHello, of the greatest length that parsers read. Of longer data, only the newest are compared with their
/// retransmissions.
pub(crate) const MAX_UNSETTLED_BYTES: usize = 1 << 16;

/// Maximum number of further pieces of that copy: heads of pipelined requests with bodies.
pub(crate) const MAX_UNSETTLED_PIECES: usize = 15;

/// Number of times that a connection may reach [`MAX_ALTERNATIVES`] for the same bytes before the comparison ends:
/// each time costs a parser for each content.
pub(crate) const MAX_TIMES_FULL: u8 = 4;

/// Maximum number of contents that compete with the delivered one: all combinations of three segments with two contents.
pub(crate) const MAX_ALTERNATIVES: usize = 7;

/// Maximum memory of all contents that compete with the delivered one, in bytes per TCP connection.
pub(crate) const MAX_ALTERNATIVE_BYTES: usize = 1 << 16;

/// Maximum number of ranges in such a content: out-of-order segments of a hello in small pieces.
pub(crate) const MAX_ALTERNATIVE_RANGES: usize = 64;
