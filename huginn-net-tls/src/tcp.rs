//! The hellos of a TCP connection.

use huginn_net_core::{Side, TcpFlags, TcpHeader, TcpStream};

use crate::hello::Hello;
use crate::openvpn::{self, OpenVpnStream};
use crate::record::Probe;
use crate::stream::HelloSearch;

/// Bytes that may be held of a direction before those that are missing.
const WINDOW: usize = 1 << 17;

/// What is remembered of a TCP connection: its client and its server.
#[derive(Debug)]
pub(crate) struct Connection {
    directions: [Direction; 2],
    /// ClientHellos seen.
    client_hellos: u8,
    /// Whether the server has agreed to a handshake.
    agreed: bool,
}

/// What one side sends.
#[derive(Debug)]
struct Direction {
    stream: TcpStream,
    reader: Reader,
}

/// How the bytes of a direction are read.
#[derive(Debug)]
enum Reader {
    /// Not known yet; with the first bytes.
    Undecided(Vec<u8>),
    Tls(HelloSearch),
    OpenVpn(Box<OpenVpnStream>),
}

/// What TCP streams could not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments that came too far ahead of what was missing to be held.
    pub segments_refused: u64,
    /// Gaps given up: the receiver had what the capture lacks, or too much was held behind them.
    pub gaps: u64,
}

impl Connection {
    /// A connection of which the sequence numbers of the first bytes are known, or not.
    pub(crate) fn new(starts: [Option<u32>; 2]) -> Self {
        let reader = |start| match start {
            Some(_) => Reader::Undecided(Vec::new()),
            None => Reader::Tls(HelloSearch::from_start()),
        };
        let directions =
            starts.map(|start| Direction { stream: TcpStream::new(start), reader: reader(start) });
        Self { directions, client_hellos: 0, agreed: false }
    }

    /// Tells the sequence number of a direction's first byte, if that is not known.
    pub(crate) fn begin(&mut self, side: Side, seq: u32) {
        pick(&mut self.directions, side).stream.begin_at(seq);
    }

    /// Takes the next segment and hands on the hellos that are now whole, with who sent them, and whether it is a
    /// ClientHello after another.
    pub(crate) fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) {
        let Self { directions, client_hellos, agreed } = self;
        let mut report = |side: Side, hello: Hello<'_>| {
            match &hello {
                Hello::Client(_) => *client_hellos = client_hellos.saturating_add(1),
                Hello::Server(hello) => *agreed |= !hello.is_retry_request(),
            }
            found(side, hello, *client_hellos > 1);
        };
        if tcp.flags.contains(TcpFlags::ACK) {
            let receiver = sender.peer();
            pick(directions, receiver).acknowledge(tcp.ack, counters, &mut |hello| report(receiver, hello));
        }
        if !payload.is_empty() {
            pick(directions, sender).push(tcp, payload, counters, &mut |hello| report(sender, hello));
        }
    }

    /// Whether nothing further can be found.
    pub(crate) fn is_done(&self) -> bool {
        let [client, server] = &self.directions;
        self.agreed && self.client_hellos > 0 || client.reader.is_done() && server.reader.is_done()
    }

    /// The memory that it takes up, in bytes.
    pub(crate) fn held(&self) -> usize {
        let held = |direction: &Direction| direction.stream.held().saturating_add(direction.reader.held());
        let [client, server] = &self.directions;
        size_of::<Self>().saturating_add(held(client)).saturating_add(held(server))
    }
}

impl Direction {
    fn push(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        counters: &mut StreamCounters,
        found: &mut impl FnMut(Hello<'_>),
    ) {
        let Self { stream, reader } = self;
        if reader.is_done() {
            return;
        }
        if !stream.push(tcp, payload, WINDOW, &mut |bytes| reader.push(bytes, found)) {
            counters.segments_refused = counters.segments_refused.saturating_add(1);
            // Too much is held to wait any longer for what is missing.
            self.skip_gap(counters, found);
            let Self { stream, reader } = self;
            stream.push(tcp, payload, WINDOW, &mut |bytes| reader.push(bytes, found));
        }
        if self.stream.lacks_acknowledged() {
            self.skip_gap(counters, found);
        }
    }

    fn acknowledge(&mut self, ack: u32, counters: &mut StreamCounters, found: &mut impl FnMut(Hello<'_>)) {
        self.stream.acknowledge(ack);
        if self.stream.lacks_acknowledged() {
            self.skip_gap(counters, found);
        }
    }

    /// Gives up what is missing before the first segment held.
    fn skip_gap(&mut self, counters: &mut StreamCounters, found: &mut impl FnMut(Hello<'_>)) {
        let Self { stream, reader } = self;
        if stream.held() > 0 {
            counters.gaps = counters.gaps.saturating_add(1);
            reader.gap();
            stream.skip_gap(&mut |bytes| reader.push(bytes, found));
        }
    }
}

impl Reader {
    /// How a direction that begins with these bytes is read, if they are enough to tell.
    fn of(bytes: &[u8]) -> Option<Self> {
        match openvpn::stream_probe(bytes) {
            Probe::Yes => Some(Self::OpenVpn(Box::default())),
            Probe::No => Some(Self::Tls(HelloSearch::from_start())),
            Probe::Unsure => None,
        }
    }

    fn push(&mut self, bytes: &[u8], found: &mut impl FnMut(Hello<'_>)) {
        match self {
            Self::Undecided(held) if held.is_empty() => match Self::of(bytes) {
                Some(mut reader) => {
                    reader.push(bytes, found);
                    *self = reader;
                }
                None => held.extend_from_slice(bytes),
            },
            Self::Undecided(held) => {
                held.extend_from_slice(bytes);
                if let Some(mut reader) = Self::of(held) {
                    reader.push(held, found);
                    *self = reader;
                }
            }
            Self::Tls(search) => search.push(bytes, found),
            Self::OpenVpn(stream) => stream.push(bytes, &mut |hello, _| found(hello)),
        }
    }

    /// Tells that bytes are missing here.
    fn gap(&mut self) {
        match self {
            Self::Undecided(_) => *self = Self::Tls(HelloSearch::from_start()),
            Self::Tls(search) => search.gap(),
            // Where its next packet begins is not known.
            Self::OpenVpn(_) => *self = Self::Tls(HelloSearch::default()),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Undecided(_) => false,
            Self::Tls(search) => search.is_done(),
            Self::OpenVpn(stream) => stream.is_done(),
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::Undecided(held) => held.capacity(),
            Self::Tls(search) => search.held(),
            Self::OpenVpn(stream) => size_of::<OpenVpnStream>().saturating_add(stream.held()),
        }
    }
}

/// Of what there is for client and server, that of this side.
pub(crate) fn pick<T>([client, server]: &mut [T; 2], side: Side) -> &mut T {
    match side {
        Side::Client => client,
        Side::Server => server,
    }
}
