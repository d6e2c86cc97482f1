//! Limits of this crate, each with its unit and its reason.

/// Out-of-order bytes buffered per TCP direction, overhead included (128 KiB): twice the largest unscaled window, so a
/// lost segment is bridged until its retransmission on all but very fast paths.
pub(crate) const MAX_OUT_OF_ORDER_BYTES: usize = 1 << 17;

/// Bytes that a buffered chunk costs beside its data: its share of a tree node, and the waste of an allocation.
pub(crate) const CHUNK_OVERHEAD: usize = 64;

/// Longest first segment, in bytes, that a connection can be rebuilt from without buffering: more than the payload of an
/// Ethernet frame of 1518 bytes, less than two of them.
pub(crate) const MAX_FIRST_SEGMENT_LEN: usize = 2048;

/// Parsers in one set that can be rebuilt from a first segment; a larger set keeps its parsers from the start.
pub(crate) const MAX_RESUMABLE_PARSERS: usize = 8;

/// Smallest IP total length that fills an Ethernet frame without padding, in bytes: the minimum payload of an Ethernet
/// frame (IEEE 802.3, clause 4A.4.2: 64 bytes less header and checksum).
pub(crate) const MIN_ETHERNET_PAYLOAD_LEN: usize = 46;
