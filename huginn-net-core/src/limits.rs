//! Tuning constants of the engine, each with its unit and its reason.

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

/// Frames between two looks at snapshot requests in sequential analysis.
pub(crate) const FRAMES_BETWEEN_REQUESTS: u32 = 256;

/// Frames between a prefetch and its use: about the latency of main memory at 10 to 20 ns a frame.
pub(crate) const PREFETCH_DISTANCE: usize = 16;

/// Bytes from a prefetch to the next one of the same frame: the length of a cache line, across which most headers reach.
pub(crate) const CACHE_LINE_LEN: usize = 64;
