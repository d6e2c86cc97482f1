//! What the stream layer delivers.

/// The next data of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamData<'a> {
    /// Bytes in order, at least one.
    Bytes(&'a [u8]),
    /// A number of bytes that the capture lacks and that will not come.
    Gap(u64),
}
