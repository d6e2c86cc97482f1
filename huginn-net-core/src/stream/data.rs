//! Data that the stream layer delivers.

/// The next data of one direction: bytes or a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamData<'a> {
    /// Bytes in order, at least one.
    Bytes(&'a [u8]),
    /// A gap: the number of bytes that the capture lacks and that will not be retransmitted.
    Gap(u64),
}
