//! The process that a capture names as the owner of a frame.

/// The process on the capturing machine that sent or received a frame, as the capture names it.
///
/// [`from_frame`](Self::from_frame) reads it from headers and trailers. The reader of capture files takes it from blocks of
/// a pcapng file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameProcess<'a> {
    /// Name of the program, at least one byte, any bytes but NUL. macOS cuts names to 16 bytes, PCAPdroid to 20.
    pub name: &'a [u8],
    /// The end of the flow that the process has.
    pub end: ProcessEnd,
    /// What names the process.
    pub origin: ProcessOrigin,
}

impl<'a> FrameProcess<'a> {
    /// Describes a process, for a reader of captures.
    pub const fn new(name: &'a [u8], end: ProcessEnd, origin: ProcessOrigin) -> Self {
        Self { name, end, origin }
    }
}

/// The end of a flow that a process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProcessEnd {
    /// The source of the frame.
    Sender,
    /// The destination of the frame.
    Receiver,
    /// The side that opened the flow, whichever sent the frame.
    Client,
    /// The capture does not say.
    Unknown,
}

huginn_net_wire::named! {
    /// What names the process of a frame.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum ProcessOrigin {
        /// The PKTAP header of macOS.
        Pktap = "PKTAP",
        /// A process information block of macOS in a pcapng file.
        ProcessBlock = "process blocks",
        /// The trailer that PCAPdroid appends to frames.
        Pcapdroid = "PCAPdroid",
    }
}
