//! The trait of stream parsers.

use std::fmt;

use super::StreamData;
use crate::{Segment, Side, Tally};

/// Parses the byte stream of one TCP connection.
///
/// A value is the state of one connection. The stream layer creates it at the first data, feeds it the data of both
/// sides in order, and drops it once it reads neither side.
///
/// ```
/// use huginn_net_core::{
///     Analyzer, Event, Frame, LinkType, Probe, Side, StreamData, StreamObserver, StreamParser, StreamStart, Timestamp,
/// };
///
/// /// Reports the identification line of an SSH client.
/// #[derive(Default)]
/// struct SshBanner {
///     line: Vec<u8>,
///     is_done: bool,
/// }
///
/// impl StreamParser for SshBanner {
///     type Event = String;
///     type Counters = ();
///     type Settings = ();
///
///     fn probe(_: Side, first: &[u8]) -> Probe {
///         match first {
///             _ if first.starts_with(b"SSH-") => Probe::Certain,
///             _ if b"SSH-".starts_with(first) => Probe::Unsure,
///             _ => Probe::NotForUs,
///         }
///     }
///
///     fn new(_: StreamStart, (): ()) -> Self {
///         Self::default()
///     }
///
///     fn on_data(&mut self, _: Side, data: StreamData<'_>, _: &mut (), emit: &mut impl FnMut(Side, String)) {
///         let StreamData::Bytes(bytes) = data else {
///             self.is_done = true;
///             return;
///         };
///         self.line.extend_from_slice(bytes);
///         // The next message may follow in the same data.
///         if let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
///             emit(Side::Client, String::from_utf8_lossy(&self.line[..end]).trim_end().to_owned());
///         }
///         self.is_done = self.line.contains(&b'\n') || self.line.len() > 255;
///     }
///
///     fn reads(&self, side: Side) -> bool {
///         side == Side::Client && !self.is_done
///     }
///
///     fn buffered_bytes(&self) -> usize {
///         self.line.capacity()
///     }
/// }
///
/// type HuginnNetSsh = Analyzer<StreamObserver<SshBanner>>;
///
/// // An IPv4 packet of a connection to port 22: a banner, and the start of the message after it.
/// let mut packet = vec![
///     0x45, 0, 0, 61, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, //
///     0x9c, 0x40, 0, 22, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x18, 4, 0, 0, 0, 0, 0,
/// ];
/// packet.extend_from_slice(b"SSH-2.0-example\r\n\0\0\x02\x44");
/// let frame = Frame { ts: Timestamp::new(0, 0, 6), link: LinkType::RAW, data: &packet, wire_len: 61 };
/// let mut events: Vec<Event<String>> = Vec::new();
/// let mut analyzer = HuginnNetSsh::builder().build();
/// let _ = analyzer.push(&frame, |event| events.push(event));
/// analyzer.finish(|event| events.push(event));
/// assert_eq!(events[0].kind, "SSH-2.0-example");
/// ```
pub trait StreamParser: Sized + Send {
    /// An event of the parser.
    type Event: Send;
    /// Counters of the parser, summed over all connections.
    type Counters: Copy + Default + fmt::Debug + PartialEq + Send + Sync + Tally;
    /// Settings of the parser, the same for all connections of an analysis; `()` without any. Each connection has a clone of them, so an
    /// [`Arc`](std::sync::Arc) should hold what is large. [`StreamObserver::with_settings`](super::StreamObserver::with_settings) sets them.
    type Settings: Clone + Default + fmt::Debug + PartialEq + Send;

    /// Judges the first payload bytes of a connection, sent by `sender`.
    ///
    /// [`Probe::NotForUs`] drops the parser. [`Probe::Certain`] lets a connection begin without its SYN, `sender` being
    /// the side for which the probe is certain. Must be cheap: it runs for every segment without a known flow.
    fn probe(sender: Side, first: &[u8]) -> Probe;

    /// Creates the state of a connection before its first data.
    fn new(start: StreamStart, settings: Self::Settings) -> Self;

    /// Parses the next data of a side. `emit` takes an event and the side that it describes.
    ///
    /// Only sides that the parser [reads](Self::reads) are delivered.
    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut Self::Counters,
        emit: &mut impl FnMut(Side, Self::Event),
    );

    /// Whether the parser needs further data of a side. A side that no parser reads is not buffered. A parser that reads
    /// neither side is dropped.
    fn reads(&self, side: Side) -> bool;

    /// Handles a FIN or RST of either side, before the payload of the same segment.
    fn on_close(&mut self) {}

    /// Processes the start of a conflict: a side sent different contents for the same bytes, and the receiver may have read
    /// another one than the parser did. The default does nothing.
    fn on_conflict(&mut self, _side: Side) {}

    /// Processes the end of a conflict: the parser does not know its place in the stream of the side. The default does nothing.
    fn on_conflict_end(&mut self, _side: Side) {}

    /// Processes the proof that the capture lacks the last bytes that a side sent, before its peer's next data: the side itself has gone on
    /// after them. They may arrive late. The default does nothing.
    fn on_missing_end(&mut self, _side: Side) {}

    /// Returns the number of next bytes of a side whose values do not matter, such as the rest of a body. The stream
    /// layer may [skip](Self::skip) them.
    #[inline]
    fn skippable(&self, _side: Side) -> u64 {
        0
    }

    /// Skips `len` of the [skippable](Self::skippable) bytes.
    #[inline]
    fn skip(&mut self, _side: Side, _len: u64) {}

    /// Whether the parser has a part of a message of a side, and waits for the rest.
    ///
    /// The stream layer then keeps the bytes since the start of the message, so that it can parse the message again if
    /// another segment has other bytes for it.
    #[inline]
    fn is_mid_message(&self, _side: Side) -> bool {
        false
    }

    /// Number of the last bytes of the data of a side for which it does not matter if the receiver read other contents, such as the
    /// start of a body; `usize::MAX` if it matters for none. The stream layer keeps a copy of the others until the receiver has
    /// acknowledged them. The default is 0.
    #[inline]
    fn uncompared(&self, _side: Side) -> usize {
        0
    }

    /// Whether the parser would read the next data otherwise if it began with them: it is in a body or a handshake, or has tables that
    /// later messages need.
    ///
    /// A connection that such a parser reads outlasts a FIN or RST that the receiver may have ignored. The default is that
    /// it does.
    fn needs_state(&self) -> bool {
        true
    }

    /// Returns the heap memory of the parser, in bytes.
    fn buffered_bytes(&self) -> usize;

    /// Parses the first data of a connection, if one segment contains them and one byte can describe the resulting
    /// state; otherwise does nothing.
    ///
    /// An optimisation: if all parsers of a connection return a summary, the connection needs no heap memory until
    /// its next data. [`resume`](Self::resume) receives the byte.
    #[inline]
    fn summarize(
        _sender: Side,
        _first: &[u8],
        _start: StreamStart,
        _settings: Self::Settings,
        _counters: &mut Self::Counters,
        _emit: &mut impl FnMut(Side, Self::Event),
    ) -> Option<u8> {
        None
    }

    /// Restores the state after first data that were [summarized](Self::summarize) in this byte.
    fn resume(
        start: StreamStart,
        settings: Self::Settings,
        _sender: Side,
        _first_len: usize,
        _summary: u8,
    ) -> Self {
        Self::new(start, settings)
    }
}

/// A parser's verdict on first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The protocol of the parser begins with these bytes.
    Certain,
    /// The parser needs more data.
    Unsure,
    /// The connection uses another protocol.
    NotForUs,
}

/// How a connection starts in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamStart {
    /// With SYN or SYN+ACK: the first data captured is the first of the connection.
    Handshake,
    /// Without either: earlier data may be missing.
    #[default]
    Midstream,
}

/// Returns the sender of a segment that starts a connection for the parser: a SYN, a SYN+ACK whose SYN was not captured, or
/// first bytes with [`Probe::Certain`].
///
/// If both sides may send such bytes, the side with the lower port is the server.
pub fn first_sender<P: StreamParser>(segment: &Segment<'_>) -> Option<Side> {
    let tcp = segment.tcp()?;
    if tcp.flags.is_initial_syn() {
        return Some(Side::Client);
    }
    if tcp.flags.is_syn_ack() {
        return Some(Side::Server);
    }
    if segment.payload.is_empty() {
        return None;
    }
    let is_certain = |side| P::probe(side, segment.payload) == Probe::Certain;
    let [likely, other] =
        if tcp.src_port < tcp.dst_port { [Side::Server, Side::Client] } else { [Side::Client, Side::Server] };
    [likely, other].into_iter().find(|side| is_certain(*side))
}
