//! The hellos of a TCP connection.

use huginn_net_core::{Piece, Side, StreamCounters, TcpConnection, TcpHeader, TcpStarts};

use crate::hello::Hello;
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
        Self { tcp: TcpConnection::new(starts), client, server, client_hellos: 0, agreed: false }
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
        let Self { client, server, client_hellos, agreed, .. } = self;
        self.tcp.on_segment(tcp, payload, sender, WINDOW, counters, &mut |side, piece| {
            let reader = match side {
                Side::Client => &mut *client,
                Side::Server => &mut *server,
            };
            reader.push(piece, &mut |hello: Hello<'_>| {
                match &hello {
                    Hello::Client(_) => *client_hellos = client_hellos.saturating_add(1),
                    Hello::Server(hello) => *agreed |= !hello.is_retry_request(),
                }
                found(side, hello, *client_hellos > 1);
            });
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

    fn push(&mut self, piece: Piece<'_>, found: &mut impl FnMut(Hello<'_>)) {
        match piece {
            Piece::Bytes(bytes) => self.read(bytes, found),
            Piece::Gap(_) => self.gap(),
        }
    }

    fn read(&mut self, bytes: &[u8], found: &mut impl FnMut(Hello<'_>)) {
        match self {
            Self::Undecided(held) if held.is_empty() => match Self::of(bytes) {
                Some(mut reader) => {
                    reader.read(bytes, found);
                    *self = reader;
                }
                None => held.extend_from_slice(bytes),
            },
            Self::Undecided(held) => {
                held.extend_from_slice(bytes);
                if let Some(mut reader) = Self::of(held) {
                    reader.read(held, found);
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
