//! Limits and tuning constants of this crate, each with its unit and its reason.

use std::time::Duration;

/// Bytes of captured frames in a block, unless [`Builder::block_bytes`](crate::Builder::block_bytes) says otherwise: a
/// block and what its analysis touches fit in a core's second-level cache, and filling one costs few system calls.
pub(crate) const BLOCK_BYTES: usize = 512 << 10;

/// Frames in a block at most, so that the records of very short frames take no more memory than the frames.
pub(crate) const MAX_BLOCK_FRAMES: usize = 1 << 14;

/// Blocks in the ring at most: how far the fastest worker runs ahead of the slowest.
pub(crate) const RING_BLOCKS: usize = 8;

/// Ring length down to which a congested ring recovers, in blocks.
pub(crate) const RING_RECOVERED_BLOCKS: usize = RING_BLOCKS / 2;

/// How long the ring may stay congested before the slowest worker skips a block of a live capture. Meanwhile the kernel's
/// buffer keeps what arrives.
pub(crate) const RING_CONGESTED_TIMEOUT: Duration = Duration::from_millis(200);

/// Outputs of one worker that wait to be merged at most.
pub(crate) const OUTPUT_QUEUE_LEN: usize = 2 * RING_BLOCKS;

/// Events and updates in one output of a worker at most, so that the merging thread starts before the block is done.
pub(crate) const MAX_OUTPUT_EVENTS: usize = 256;

/// Partitions of the flow table at most. Each has its part of the limits and belongs to one worker, so that which flow is
/// evicted does not depend on the number of workers; more than workers, so that these get equal parts.
pub(crate) const MAX_FLOW_PARTITIONS: usize = 64;

/// FlowTable that a partition of the flow table holds at least, so that a small table is not divided into tiny ones.
pub(crate) const MIN_PARTITION_FLOWS: usize = 1024;

/// Frames between two looks at snapshot requests in sequential analysis.
pub(crate) const FRAMES_BETWEEN_REQUESTS: u32 = 256;

/// Frames between a prefetch and its use: about the latency of main memory at 10 to 20 ns a frame.
pub(crate) const PREFETCH_DISTANCE: usize = 16;

/// Bytes from a prefetch to the next one of the same frame: the length of a cache line, across which most headers reach.
pub(crate) const CACHE_LINE_LEN: usize = 64;

/// Out-of-order bytes buffered per TCP direction, overhead included (128 KiB): twice the largest unscaled window, so a
/// lost segment is bridged until its retransmission on all but very fast paths.
pub(crate) const MAX_OUT_OF_ORDER_BYTES: usize = 1 << 17;

/// Longest first segment, in bytes, that a connection can be rebuilt from without buffering: more than the payload of an
/// Ethernet frame of 1518 bytes, less than two of them.
pub(crate) const MAX_FIRST_SEGMENT_LEN: usize = 2048;

/// Parsers in one set that can be rebuilt from a first segment; a larger set keeps its parsers from the start.
pub(crate) const MAX_RESUMABLE_PARSERS: usize = 8;

/// Smallest IP total length that fills an Ethernet frame without padding, in bytes: the minimum payload of an Ethernet
/// frame (IEEE 802.3, clause 4A.4.2: 64 bytes less header and checksum).
pub(crate) const MIN_ETHERNET_PAYLOAD_LEN: usize = 46;
