//! Errors of capture files.

use std::io;
use std::num::NonZeroU32;

use super::{Compression, file_type};
use huginn_net_core::Truncated;

/// Number of first bytes of an unknown file that an error contains.
pub(super) const HEAD_LEN: usize = 16;

/// Error of reading a capture.
///
/// `packet` is the number, from 1, of the packet that could not be read. `offset` is the start of its record or
/// block, or of the damaged one before it, in the uncompressed capture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The path could not be opened.
    #[error("{name}: cannot be opened: {source}")]
    Open {
        /// The path.
        name: String,
        /// The reason.
        source: io::Error,
    },
    /// The path is a directory.
    #[error("{name}: is a directory, not a capture file")]
    IsDirectory {
        /// The path.
        name: String,
    },
    /// The input is empty.
    #[error("{name}: is empty")]
    Empty {
        /// The name of the capture.
        name: String,
    },
    /// The input has no known capture format.
    #[error("{name}: is not a capture file: {}", file_type::describe(*.compression, .head))]
    NotACapture {
        /// The name of the capture.
        name: String,
        /// The compression of the input, if any.
        compression: Option<Compression>,
        /// The first uncompressed bytes, 16 at most.
        head: Vec<u8>,
    },
    /// The capture is truncated or invalid.
    #[error("{name}: packet {packet} at byte {offset}: {defect}")]
    Damaged {
        /// The name of the capture.
        name: String,
        /// The packet that could not be read.
        packet: u64,
        /// Offset of its record or block.
        offset: u64,
        /// The defect.
        defect: Defect,
    },
    /// Decompression failed. All data before the error was used, except up to 32 KiB if the data is corrupt rather
    /// than truncated.
    #[error(
        "{name}: packet {packet} at byte {offset}: \
         {compression} data cannot be decompressed past byte {reached}: {source}"
    )]
    Decompress {
        /// The name of the capture.
        name: String,
        /// The packet that could not be read.
        packet: u64,
        /// Offset of its record or block.
        offset: u64,
        /// The compression of the capture.
        compression: Compression,
        /// Number of bytes decompressed.
        reached: u64,
        /// The reason.
        source: io::Error,
    },
    /// Decompressed data is longer than its compressed form allows, as in a decompression bomb; see
    /// [`max_compression_ratio`](crate::CaptureReader::max_compression_ratio). All data before was used.
    #[error(
        "{name}: packet {packet} at byte {offset}: \
         {compression} data expands to more than {max_ratio} times its length"
    )]
    CompressionRatio {
        /// The name of the capture.
        name: String,
        /// The packet that was not read.
        packet: u64,
        /// Offset of its record or block.
        offset: u64,
        /// The compression of the capture.
        compression: Compression,
        /// Maximum ratio of decompressed to compressed bytes.
        max_ratio: NonZeroU32,
    },
    /// Reading failed.
    #[error("{name}: packet {packet} at byte {offset}: cannot be read: {source}")]
    Io {
        /// The name of the capture.
        name: String,
        /// The packet that could not be read.
        packet: u64,
        /// Offset of its record or block.
        offset: u64,
        /// The reason.
        source: io::Error,
    },
}

impl CaptureError {
    /// The number, from 1, of the packet that could not be read, and the offset of its record or block; `None` if the
    /// capture could not be opened.
    pub fn position(&self) -> Option<(u64, u64)> {
        match *self {
            Self::Open { .. } | Self::IsDirectory { .. } | Self::Empty { .. } | Self::NotACapture { .. } => {
                None
            }
            Self::Damaged { packet, offset, .. }
            | Self::Decompress { packet, offset, .. }
            | Self::CompressionRatio { packet, offset, .. }
            | Self::Io { packet, offset, .. } => Some((packet, offset)),
        }
    }
}

/// A defect of a record or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// The capture ends within the record or block.
    #[error("{part} is cut: {needed} bytes needed, {left} left")]
    Cut {
        /// The truncated part.
        part: Part,
        /// Its length in bytes.
        needed: u64,
        /// Bytes available.
        left: u64,
    },
    /// The format version is not supported.
    #[error("format version {major}.{minor} is not supported")]
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// The frame length exceeds the maximum.
    #[error("frame of {len} bytes is longer than the greatest possible, {max}")]
    FrameLength {
        /// The stated length in bytes.
        len: u32,
        /// The maximum.
        max: usize,
    },
    /// The frame does not fit in its pcapng packet block.
    #[error("frame of {len} bytes does not fit its block, which has room for {room}")]
    FrameBeyondBlock {
        /// The stated length of the frame in bytes.
        len: u32,
        /// Space in the block, in bytes.
        room: usize,
    },
    /// A pcapng block is shorter than its fixed fields.
    #[error("block length {len} is below the least possible, {min}")]
    BlockLength {
        /// The stated length in bytes.
        len: u32,
        /// The minimum length of its type.
        min: usize,
    },
    /// A pcapng block that must be buffered is too long.
    #[error("block of {len} bytes is longer than the greatest accepted, {max}")]
    BlockTooLong {
        /// The stated length in bytes.
        len: u32,
        /// The maximum.
        max: usize,
    },
    /// The two lengths of a pcapng block differ.
    #[error("block states its length as {len} at its beginning and as {trailer} at its end")]
    BlockTrailer {
        /// The length before its body.
        len: u32,
        /// The length after its body.
        trailer: u32,
    },
    /// A pcapng section header has no byte-order magic.
    #[error("section header has byte-order magic {found:#010x}")]
    ByteOrderMagic {
        /// The value, read with the most significant byte first.
        found: u32,
    },
    /// An option of a pcapng block has an invalid length.
    #[error("option {code} has length {len} where {left} bytes are left")]
    OptionLength {
        /// The option's code.
        code: u16,
        /// The stated length in bytes.
        len: u16,
        /// Bytes left in the block.
        left: usize,
    },
    /// A pcapng packet names an interface that its section does not describe.
    #[error("packet of interface {id} in a section that describes {known} so far")]
    UnknownInterface {
        /// The interface, counted from 0.
        id: u32,
        /// Number of interfaces described so far.
        known: usize,
    },
    /// A pcapng packet names a process that its section does not describe.
    #[error("packet of process {index} in a section that describes {known} so far")]
    UnknownProcess {
        /// The process, counted from 0.
        index: u32,
        /// Number of processes described so far.
        known: usize,
    },
    /// A pcapng section describes more processes than the limit.
    #[error("section describes more than {max} processes")]
    TooManyProcesses {
        /// The limit.
        max: usize,
    },
    /// A pcapng section describes more interfaces than the limit.
    #[error("section describes more than {max} interfaces")]
    TooManyInterfaces {
        /// The limit.
        max: usize,
    },
}

huginn_net_core::named! {
    /// A part of a capture file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Part {
        /// The header of a pcap file.
        FileHeader = "file header",
        /// The header of a pcap record.
        RecordHeader = "record header",
        /// The frame of a pcap record.
        Record = "record",
        /// The first fields of a pcapng block.
        BlockHeader = "block header",
        /// A pcapng block.
        Block = "block",
    }
}

impl Defect {
    pub(super) fn cut(part: Part, needed: usize, left: usize) -> Self {
        Self::Cut { part, needed: needed as u64, left: left as u64 }
    }
}

/// An error without its position, which the reader adds.
pub(super) enum ReadError {
    Defect(Defect),
    Read(io::Error),
}

impl From<Defect> for ReadError {
    fn from(defect: Defect) -> Self {
        Self::Defect(defect)
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<Truncated> for ReadError {
    /// Callers check lengths before they read fields, so this conversion should not be reached.
    fn from(truncated: Truncated) -> Self {
        Self::Defect(Defect::cut(Part::Block, truncated.needed, truncated.left))
    }
}
