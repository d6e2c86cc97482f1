//! The hellos of a TCP connection.

use huginn_net_core::{Piece, Side, StreamCounters, TcpConnection, TcpHeader, TcpStarts};

use crate::hello::Hello;
use crate::observer::SearchCounters;
use crate::openvpn::{self, OpenVpnStream};
use crate::record::Probe;
use crate::stream::HelloSearch;

/// Bytes that may be held of a direction before those that are missing.
const WINDOW: usize = 1 << 17;

/// What is remembered of a TCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    tcp: TcpConnection,
    client: Reader,
    server: Reader,
    /// ClientHellos seen.
    client_hellos: u8,
    /// Whether anything that the server said was seen.
    server_heard: bool,
    /// Whether the server has asked for a second hello.
    retry_requested: bool,
    /// Whether the server has agreed to a handshake.
    agreed: bool,
}

/// How the bytes of a direction are read.
#[derive(Debug)]
enum Reader {
    /// Not known yet; with the first bytes.
    Undecided(Vec<u8>),
    Tls(HelloSearch),
    OpenVpn(Box<OpenVpnStream>),
}

impl Connection {
    /// A connection whose directions begin there.
    pub(crate) fn new(starts: TcpStarts) -> Self {
        let [client, server] = [Reader::Undecided(Vec::new()), Reader::Undecided(Vec::new())];
        Self {
            tcp: TcpConnection::new(starts),
            client,
            server,
            client_hellos: 0,
            server_heard: false,
            retry_requested: false,
            agreed: false,
        }
    }

    /// Takes the next segment and hands on the hellos that are now whole, with who sent them, and whether it is a
    /// ClientHello that the server asked for, which has had one; of a server that is not in the capture, every
    /// ClientHello after the first is taken for that.
    pub(crate) fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        search: &mut SearchCounters,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) {
        let Self { client, server, client_hellos, server_heard, retry_requested, agreed, .. } = self;
        self.tcp.on_segment(tcp, payload, sender, WINDOW, counters, &mut |side, piece| {
            *server_heard |= side == Side::Server;
            let mut report = |side, hello: Hello<'_>| {
                let mut retry = false;
                match &hello {
                    Hello::Client(_) => {
                        retry = *client_hellos > 0 && (*retry_requested || !*server_heard);
                        *client_hellos = client_hellos.saturating_add(1);
                    }
                    Hello::Server(hello) if hello.is_retry_request() => *retry_requested = true,
                    Hello::Server(_) => *agreed = true,
                }
                found(side, hello, retry);
            };
            let (reader, other) = match side {
                Side::Client => (&mut *client, &mut *server),
                Side::Server => (&mut *server, &mut *client),
            };
            reader.push(piece, search, &mut |hello| report(side, hello));
            if matches!(reader, Reader::Tls(_)) {
                other.rule_out_openvpn(search, &mut |hello| report(side.peer(), hello));
            }
        });
        for (side, reader) in [(Side::Client, &self.client), (Side::Server, &self.server)] {
            if reader.is_done() {
                self.tcp.ignore(side);
            }
        }
    }

    /// Whether nothing further can be found.
    pub(crate) fn is_done(&self) -> bool {
        self.agreed && self.client_hellos > 0 || self.client.is_done() && self.server.is_done()
    }

    /// The memory that it takes up, in bytes.
    pub(crate) fn held(&self) -> usize {
        let readers = self.client.held().saturating_add(self.server.held());
        size_of::<Self>().saturating_add(self.tcp.held()).saturating_add(readers)
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

    fn push(&mut self, piece: Piece<'_>, search: &mut SearchCounters, found: &mut impl FnMut(Hello<'_>)) {
        match piece {
            Piece::Bytes(bytes) => self.read(bytes, search, found),
            Piece::Gap(_) => self.gap(),
        }
    }

    fn read(&mut self, bytes: &[u8], search: &mut SearchCounters, found: &mut impl FnMut(Hello<'_>)) {
        match self {
            Self::Undecided(held) if held.is_empty() => match Self::of(bytes) {
                Some(mut reader) => {
                    reader.read(bytes, search, found);
                    *self = reader;
                }
                None => held.extend_from_slice(bytes),
            },
            Self::Undecided(held) => {
                held.extend_from_slice(bytes);
                if let Some(mut reader) = Self::of(held) {
                    reader.read(held, search, found);
                    *self = reader;
                }
            }
            Self::Tls(hellos) => hellos.push(bytes, search, found),
            Self::OpenVpn(stream) => stream.push(bytes, found),
        }
    }

    /// Tells that the other side does not speak OpenVPN.
    fn rule_out_openvpn(&mut self, search: &mut SearchCounters, found: &mut impl FnMut(Hello<'_>)) {
        if let Self::Undecided(held) = self {
            let held = std::mem::take(held);
            *self = Self::Tls(HelloSearch::from_start());
            self.read(&held, search, found);
        }
    }

    /// Tells that bytes are missing here.
    fn gap(&mut self) {
        match self {
            Self::Undecided(_) => *self = Self::Tls(HelloSearch::from_the_middle()),
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
