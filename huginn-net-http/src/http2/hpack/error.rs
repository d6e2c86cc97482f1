//! Errors of HPACK.

use huginn_net_wire::Truncated;

use crate::limits::MAX_HPACK_TABLE_SIZE;

/// An invalid field block. Later blocks cannot be decoded either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HpackError {
    /// The block ends within a field.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// A number exceeds 32 bits.
    #[error("an integer of more than 32 bits")]
    Integer,
    /// A string contains the EOS symbol or invalid padding.
    #[error("a string that is not in the Huffman code")]
    Huffman,
    /// An index is in neither table.
    #[error("no field has the index {0}")]
    Index(u32),
    /// The table size exceeds the limit.
    #[error("a table of {0} bytes: the largest that is kept has {MAX_HPACK_TABLE_SIZE}")]
    TableSize(u32),
}
