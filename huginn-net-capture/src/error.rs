//! What can be wrong with a capture file.

use std::fmt;
use std::io;

use super::foreign;
use huginn_net_core::Truncated;

/// How many bytes of a foreign file an error keeps.
pub(super) const HEAD_LEN: usize = 16;

/// Why a capture cannot be read, or not any further.
///
/// `packet` is the number, from 1, of the packet that could not be had; `offset` is where its record or block, or
/// the one in its way, begins in the uncompressed capture.
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
    /// The path is that of a directory.
    #[error("{name}: is a directory, not a capture file")]
    IsDirectory {
        /// The path.
        name: String,
    },
    /// There is not one byte.
    #[error("{name}: is empty")]
    Empty {
        /// What the capture is called.
        name: String,
    },
    /// The first bytes are those of no capture format.
    #[error("{name}: is not a capture file: {}", foreign::describe(*.compression, .head))]
    NotACapture {
        /// What the capture is called.
        name: String,
        /// How it was compressed.
        compression: Option<Compression>,
        /// The first uncompressed bytes, 16 at most.
        head: Vec<u8>,
    },
    /// The capture is cut, or says what cannot be.
    #[error("{name}: packet {packet} at byte {offset}: {defect}")]
    Damaged {
        /// What the capture is called.
        name: String,
        /// The packet that could not be had.
        packet: u64,
        /// Where its record or block begins.
        offset: u64,
        /// What is wrong.
        defect: Defect,
    },
    /// Decompression failed; what could be decompressed before has been used, but for up to 32 KiB where the data
    /// are not cut but wrong.
    #[error(
        "{name}: packet {packet} at byte {offset}: \
         {compression} data cannot be decompressed past byte {reached}: {source}"
    )]
    Decompress {
        /// What the capture is called.
        name: String,
        /// The packet that could not be had.
        packet: u64,
        /// Where its record or block begins.
        offset: u64,
        /// How the capture is compressed.
        compression: Compression,
        /// How many bytes could be decompressed.
        reached: u64,
        /// The reason.
        source: io::Error,
    },
    /// Reading failed.
    #[error("{name}: packet {packet} at byte {offset}: cannot be read: {source}")]
    Io {
        /// What the capture is called.
        name: String,
        /// The packet that could not be had.
        packet: u64,
        /// Where its record or block begins.
        offset: u64,
        /// The reason.
        source: io::Error,
    },
}

/// What is wrong with a record or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// The capture ends within it.
    #[error("{part} is cut: {needed} bytes needed, {left} left")]
    Cut {
        /// What is incomplete.
        part: Part,
        /// Its length in bytes.
        needed: u64,
        /// How many of them there are.
        left: u64,
    },
    /// The version of the format is not known.
    #[error("format version {major}.{minor} is not supported")]
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// A frame is longer than any capture tool makes it.
    #[error("frame of {len} bytes is longer than the greatest possible, {max}")]
    FrameLength {
        /// The stated length in bytes.
        len: u32,
        /// The greatest accepted.
        max: usize,
    },
    /// A pcapng packet block is too short for the frame that it announces.
    #[error("frame of {len} bytes does not fit its block, which has room for {room}")]
    FrameBeyondBlock {
        /// The stated length of the frame in bytes.
        len: u32,
        /// What the block has room for.
        room: usize,
    },
    /// A pcapng block is shorter than its fixed fields.
    #[error("block length {len} is below the least possible, {min}")]
    BlockLength {
        /// The stated length in bytes.
        len: u32,
        /// The least for its type.
        min: usize,
    },
    /// A pcapng block that must be held in memory is too long for that.
    #[error("block of {len} bytes is longer than the greatest accepted, {max}")]
    BlockTooLong {
        /// The stated length in bytes.
        len: u32,
        /// The greatest accepted.
        max: usize,
    },
    /// The two lengths of a pcapng block differ.
    #[error("block states its length as {len} at its beginning and as {trailer} at its end")]
    BlockTrailer {
        /// The length before its body.
        len: u32,
        /// The length behind it.
        trailer: u32,
    },
    /// A pcapng section header has no byte-order magic.
    #[error("section header has byte-order magic {found:#010x}")]
    ByteOrderMagic {
        /// The value, read with the most significant byte first.
        found: u32,
    },
    /// An option of a pcapng interface description has a length that it cannot have.
    #[error("option {code} of an interface description has length {len} where {left} bytes are left")]
    OptionLength {
        /// The option's code.
        code: u16,
        /// The stated length in bytes.
        len: u16,
        /// How many bytes of the block follow.
        left: usize,
    },
    /// A pcapng packet names an interface that its section does not describe.
    #[error("packet of interface {id} in a section that describes {known} so far")]
    UnknownInterface {
        /// The interface, counted from 0.
        id: u32,
        /// How many were described.
        known: usize,
    },
    /// A pcapng section describes more interfaces than are accepted.
    #[error("section describes more than {max} interfaces")]
    TooManyInterfaces {
        /// The greatest number accepted.
        max: usize,
    },
}

/// A piece of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The header of a pcap file.
    FileHeader,
    /// The header of a pcap record.
    RecordHeader,
    /// The frame of a pcap record.
    Record,
    /// The first fields of a pcapng block.
    BlockHeader,
    /// A pcapng block.
    Block,
}

/// What a capture is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Compression {
    /// How many bytes [`probe`](Self::probe) wants to see.
    pub(super) const PROBE_LEN: u64 = 4;

    /// Tells the compression by the first bytes.
    pub(super) fn probe(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileHeader => "file header",
            Self::RecordHeader => "record header",
            Self::Record => "record",
            Self::BlockHeader => "block header",
            Self::Block => "block",
        })
    }
}

impl Defect {
    pub(super) fn cut(part: Part, needed: usize, left: usize) -> Self {
        Self::Cut { part, needed: needed as u64, left: left as u64 }
    }
}

/// Why reading ends; the reader adds where.
pub(super) enum Stop {
    Defect(Defect),
    Read(io::Error),
}

impl From<Defect> for Stop {
    fn from(defect: Defect) -> Self {
        Self::Defect(defect)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<Truncated> for Stop {
    /// Lengths are checked before fields are read; should one be too short all the same, its block is.
    fn from(truncated: Truncated) -> Self {
        Self::Defect(Defect::cut(Part::Block, truncated.needed, truncated.left))
    }
}
