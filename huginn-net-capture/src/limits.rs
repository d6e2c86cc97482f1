//! Limits and tuning constants of this crate, each with its unit and its reason.

/// Maximum frame length in bytes: libpcap's maximum snap length, which no capture tool exceeds.
pub(crate) const MAX_FRAME_LEN: usize = 262_144;

/// Initial buffer length in bytes; measured, see `docs/decisions/002-capture-file-reader.md`.
pub(crate) const BUFFER_LEN: usize = 256 * 1024;

/// Maximum length in bytes of a buffer for a block of frames, or of a chunk of a file, which bounds the memory of the reader: a chunk and the
/// rest of the one before it share a buffer.
pub(crate) const MAX_BUFFER_LEN: usize = 1 << 20;

/// Bytes of compressed data per read: large, so that there are few system calls.
pub(crate) const COMPRESSED_READ_LEN: usize = 64 * 1024;

/// Default for the maximum ratio of decompressed to compressed bytes, against decompression bombs. DEFLATE cannot exceed
/// 1032: 258 bytes for two bits. Measured with `gzip -9` and `zstd -19`: captures of the project's tests reach 73 and 117,
/// floods of one repeated packet 264 and 616. Records cost some bytes even if their payload costs none, because their
/// times differ; so zeros in frames of 1,500 bytes reach 104 and 250, in frames of 64 KiB, as segmentation offload makes
/// them, 635 and 4,221. A header followed by zeros reaches 1,029 and 32,132. Only the bombs, and zeros in such long frames
/// under Zstandard, exceed the limit.
pub(crate) const MAX_COMPRESSION_RATIO: u32 = 1000;

/// Decompressed bytes without a limit of the ratio: they take a fraction of a second, and short captures may be of
/// anything.
pub(crate) const UNCHECKED_LEN: u64 = 64 << 20;

/// Decompressed bytes between two checks of the ratio: often enough that a bomb ends at once.
pub(crate) const RATIO_CHECK_LEN: u64 = 1 << 20;

/// Maximum number of decompressed blocks in the queue: a few, so that neither thread waits for the other at each block.
pub(crate) const READ_AHEAD_BLOCKS: usize = 3;

/// Bytes per decompressed block: large, so that hand-overs between threads are rare.
pub(crate) const READ_AHEAD_BLOCK_LEN: usize = 512 * 1024;

/// Space in bytes before a decompressed block or a chunk, for the unread rest of the block before it: longer than most records, so
/// that those are not copied twice.
pub(crate) const PREFIX_ROOM: usize = 64 * 1024;

/// Maximum length of a buffered block in bytes: the longest frame and its options. Other blocks are skipped, whatever
/// their length.
pub(crate) const MAX_BUFFERED_BLOCK_LEN: usize = 1 << 20;

/// Maximum length of a Decryption Secrets Block that is read, in bytes: the key log of 30,000 connections with TLS 1.3.
pub(crate) const MAX_SECRETS_BLOCK_LEN: usize = 32 << 20;

/// Maximum number of blocks after the last packet that are searched for secrets: files end with a few blocks of statistics and
/// names.
pub(crate) const MAX_TRAILING_BLOCKS: usize = 64;

/// Maximum number of interfaces per section: the range of the interface field in the obsolete packet block.
pub(crate) const MAX_INTERFACES: usize = 1 << 16;

/// Maximum number of processes per section that are read: more than the programs of one machine, while their names take at
/// most 16 MiB.
pub(crate) const MAX_PROCESSES: usize = 1 << 16;

/// Maximum length of the name of a process, in bytes; longer ones are cut. macOS has names of at most 32 bytes.
pub(crate) const MAX_PROCESS_NAME_LEN: usize = 255;

/// Maximum length of an uncompressed pcapng file that is searched for blocks of secrets between its packets, in bytes: some milliseconds.
pub const MAX_SEARCHED_LEN: u64 = 64 << 20;

/// Number of first records of a pcap file that show the length of record headers: a wrong length passes one by chance, hardly four.
pub(crate) const CHECKED_RECORDS: usize = 4;
