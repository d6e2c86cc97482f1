//! The trait of stream parsers.

use std::fmt;

use super::StreamData;
use crate::{Segment, Side, Tally};

/// Parses the byte stream of one TCP connection.
///
/// The value is the state of one connection. The stream layer makes it with the first data of the connection, feeds it the
/// data of both sides in order, and drops it once it reads neither side.
///
/// ```
/// use huginn_net_core::{Analyzer, Probe, Side, StreamData, StreamObserver, StreamParser, StreamStart};
///
/// /// Reports the identification line of an SSH client.
/// #[derive(Default)]
/// struct SshBanner(Vec<u8>);
///
/// impl StreamParser for SshBanner {
///     type Event = String;
///     type Counters = ();
///
///     fn probe(_: Side, first: &[u8]) -> Probe {
///         match first {
///             _ if first.starts_with(b"SSH-") => Probe::Certain,
///             _ if b"SSH-".starts_with(first) => Probe::Unsure,
///             _ => Probe::NotForUs,
///         }
///     }
///
///     fn new(_: StreamStart) -> Self {
///         Self::default()
///     }
///
///     fn on_data(&mut self, _: Side, data: StreamData<'_>, _: &mut (), emit: &mut impl FnMut(Side, String)) {
///         if let StreamData::Bytes(bytes) = data {
///             self.0.extend_from_slice(bytes);
///         }
///         if self.0.ends_with(b"\n") {
///             emit(Side::Client, String::from_utf8_lossy(&self.0).trim_end().to_owned());
///         }
///     }
///
///     fn reads(&self, side: Side) -> bool {
///         side == Side::Client && !self.0.ends_with(b"\n") && self.0.len() < 255
///     }
///
///     fn buffered_bytes(&self) -> usize {
///         self.0.capacity()
///     }
/// }
///
/// type HuginnNetSsh = Analyzer<StreamObserver<SshBanner>>;
/// let analyzer = HuginnNetSsh::builder().build();
/// # let _ = analyzer;
/// ```
pub trait StreamParser: Sized + Send {
    /// A finding.
    type Event: Send;
    /// Counters of the parser, summed over all connections.
    type Counters: Copy + Default + fmt::Debug + PartialEq + Send + Tally;

    /// Judges the first payload bytes of a connection, sent by `sender`.
    ///
    /// [`Probe::NotForUs`] drops the parser. [`Probe::Certain`] lets a connection begin without its SYN, `sender` being
    /// the side for which the probe is certain. Must be cheap: it runs for every segment without a known flow.
    fn probe(sender: Side, first: &[u8]) -> Probe;

    /// Makes the state of a connection whose first data follow.
    fn new(start: StreamStart) -> Self;

    /// Takes the next data of a side. `emit` takes an event and the side that it describes.
    ///
    /// Only sides that the parser [reads](Self::reads) are delivered.
    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut Self::Counters,
        emit: &mut impl FnMut(Side, Self::Event),
    );

    /// Whether the parser needs further data of a side. A side that no parser reads is not buffered; a parser that reads
    /// neither side is done, and is dropped.
    fn reads(&self, side: Side) -> bool;

    /// Takes notice of a FIN or RST of either side, before the payload of the same segment.
    fn on_close(&mut self) {}

    /// The number of bytes, from the next one of a side on, whose values do not matter, such as the rest of a body. The
    /// stream layer may [skip](Self::skip) them instead of reading them.
    #[inline]
    fn skippable(&self, _side: Side) -> u64 {
        0
    }

    /// Takes that many [skippable](Self::skippable) bytes as read: so many fewer are left to skip.
    #[inline]
    fn skip(&mut self, _side: Side, _len: u64) {}

    /// The heap memory of the parser, in bytes.
    fn buffered_bytes(&self) -> usize;

    /// Reads the first data of a connection, if they are all of a segment and leave the parser in a state that one byte
    /// describes; otherwise does nothing.
    ///
    /// An optimisation: a connection on which all parsers agree is remembered without memory of its own until its next
    /// data. [`resume`](Self::resume) gets the byte back.
    #[inline]
    fn summarize(
        _sender: Side,
        _first: &[u8],
        _start: StreamStart,
        _counters: &mut Self::Counters,
        _emit: &mut impl FnMut(Side, Self::Event),
    ) -> Option<u8> {
        None
    }

    /// Restores the state behind first data that were [summarized](Self::summarize) in this byte.
    fn resume(start: StreamStart, _sender: Side, _first_len: usize, _summary: u8) -> Self {
        Self::new(start)
    }
}

/// The judgement of a parser on first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The protocol of the parser begins with these bytes.
    Certain,
    /// More data decide.
    Unsure,
    /// The connection holds nothing for the parser.
    NotForUs,
}

/// How much of the beginning of a connection was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStart {
    /// Its SYN or SYN+ACK: the first data are its first.
    Handshake,
    /// Neither: data may have come before.
    Midstream,
}

/// The sender of a segment, if a connection that the parser reads begins with it: a SYN, or first bytes of which the
/// parser is certain.
///
/// If both sides may send such bytes, the side with the lower port is the server.
pub fn first_sender<P: StreamParser>(segment: &Segment<'_>) -> Option<Side> {
    let tcp = segment.tcp()?;
    if tcp.flags.is_initial_syn() {
        return Some(Side::Client);
    }
    if segment.payload.is_empty() {
        return None;
    }
    let is_certain = |side| P::probe(side, segment.payload) == Probe::Certain;
    let [likely, other] =
        if tcp.src_port < tcp.dst_port { [Side::Server, Side::Client] } else { [Side::Client, Side::Server] };
    [likely, other].into_iter().find(|side| is_certain(*side))
}
