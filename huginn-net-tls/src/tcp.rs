//! The hellos of a TCP connection.

use huginn_net_core::{Piece, Side, StreamCounters, TcpConnection, TcpFlags, TcpHeader, TcpStarts};

use crate::hello::Hello;
use crate::observer::SearchCounters;
use crate::openvpn::{self, OpenVpnStream};
use crate::record::{self, Probe};
use crate::stream::HelloSearch;
use crate::{ClientHello, Transport};

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

/// A connection of which a segment has been read that is a record with a ClientHello, and nothing else: what nearly all
/// are until their server answers. It is remembered by that segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greeting {
    seq: u32,
    ack: u32,
    flags: TcpFlags,
    len: u16,
    early_data: bool,
}

/// The longest segment of a [`Greeting`].
const MAX_GREETING: usize = 2048;

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

impl Greeting {
    /// Reads the first segment with payload of a connection whose directions begin there, if a [`Connection`] would give
    /// its ClientHello and nothing else.
    pub(crate) fn read<'a>(
        starts: TcpStarts,
        tcp: &TcpHeader<'_>,
        payload: &'a [u8],
        sender: Side,
    ) -> Option<(Self, ClientHello<'a>)> {
        if sender != Side::Client || payload.len() > MAX_GREETING {
            return None;
        }
        let message = record::only_client_hello(payload)?;
        if !starts.are_followed_by(tcp, sender, WINDOW) {
            return None;
        }
        let hello = ClientHello::of_message(message, Transport::Tcp).ok()?;
        let len = u16::try_from(payload.len()).ok()?;
        let early_data = hello.announces_early_data();
        Some((Self { seq: tcp.seq, ack: tcp.ack, flags: tcp.flags, len, early_data }, hello))
    }

    /// The connection after it.
    pub(crate) fn connection(self, starts: TcpStarts) -> Connection {
        /// What was said is told already, and TCP goes by its length alone.
        static UNREAD: [u8; MAX_GREETING] = [0; MAX_GREETING];
        let Self { seq, ack, flags, len, early_data } = self;
        let tcp = TcpHeader { src_port: 0, dst_port: 0, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let payload = UNREAD.get(..usize::from(len)).unwrap_or_default();
        let mut connection = Connection::new(starts);
        let counters = &mut StreamCounters::default();
        connection.tcp.on_segment(&tcp, payload, Side::Client, WINDOW, counters, &mut |_, _| {});
        connection.client = Reader::Tls(HelloSearch::behind_hello(payload.len(), early_data));
        connection.server = Reader::Tls(HelloSearch::from_start());
        connection.client_hellos = 1;
        connection
    }

    /// Whether this segment is the server's acknowledgement of it and nothing more.
    pub(crate) fn is_acknowledged_by(self, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> bool {
        let syn = u32::from(self.flags.contains(TcpFlags::SYN));
        let end = self.seq.wrapping_add(syn).wrapping_add(u32::from(self.len));
        sender == Side::Server && payload.is_empty() && tcp.ack == end && !tcp.flags.contains(TcpFlags::SYN)
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

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CURL: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));

    fn segment(flags: TcpFlags, seq: u32, ack: u32) -> TcpHeader<'static> {
        TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] }
    }

    type Found = (Side, Vec<u8>, bool);

    /// What is found in these segments, each of a side that has sent so many bytes before it.
    fn found(
        connection: &mut Connection,
        segments: &[(Side, TcpFlags, u32, u32, &[u8])],
    ) -> (Vec<Found>, StreamCounters, SearchCounters) {
        let (mut found, mut counters, mut search) =
            (Vec::new(), StreamCounters::default(), SearchCounters::default());
        for (sender, flags, seq, ack, payload) in segments {
            let tcp = segment(*flags, *seq, *ack);
            connection.on_segment(
                &tcp,
                payload,
                *sender,
                &mut counters,
                &mut search,
                &mut |side, hello, retry| {
                    let message = match &hello {
                        Hello::Client(hello) => hello.message(),
                        Hello::Server(hello) => hello.message(),
                    };
                    found.push((side, message.to_vec(), retry));
                },
            );
        }
        (found, counters, search)
    }

    proptest! {
        /// Whatever was known before the hello and comes after it: its connection, and the one made from the greeting.
        #[test]
        fn a_connection_goes_on_from_its_greeting_as_though_it_had_been_kept(
            syns in prop::collection::vec((any::<bool>(), any::<bool>(), 95_u32..105), 0..3),
            first in (prop::sample::select(vec![TcpFlags::ACK, TcpFlags::SYN, TcpFlags::SYN | TcpFlags::ACK]), 95_u32..105),
            then in prop::collection::vec(
                (any::<bool>(), 0_u16..0x20, -40_i32..40, -3_i32..3, any::<bool>(), any::<prop::sample::Index>()),
                1..12,
            ),
        ) {
            let mut starts = TcpStarts::default();
            let side = |is_client| if is_client { Side::Client } else { Side::Server };
            for (is_client, acknowledges, seq) in syns {
                let ack = if acknowledges { TcpFlags::ACK } else { TcpFlags::empty() };
                starts.learn(&segment(TcpFlags::SYN | ack, seq, 100), side(is_client));
            }
            let (flags, seq) = first;
            let hello = segment(flags, seq, 100);
            starts.learn(&hello, Side::Client);
            let Some((greeting, read)) = Greeting::read(starts, &hello, CURL, Side::Client) else { return Ok(()) };
            let mut kept = Connection::new(starts);
            let before = found(&mut kept, &[(Side::Client, flags, seq, 100, CURL)]);
            let expected = (vec![(Side::Client, read.message().to_vec(), false)], StreamCounters::default(), SearchCounters::default());
            prop_assert_eq!(before, expected);
            let mut made = greeting.connection(starts);
            prop_assert_eq!(format!("{:?}", made.tcp), format!("{:?}", kept.tcp));

            let end = seq + u32::from(flags.contains(TcpFlags::SYN)) + u32::try_from(CURL.len()).unwrap();
            let bytes = [&CURL[CURL.len() - 10..], CURL, &crate::datagram::tests::retry_request_record()].concat();
            let segments: Vec<_> = then.iter().map(|(is_client, flags, seq, ack, whole, cut)| {
                let (own, peer) = if *is_client { (end, 100) } else { (100, end) };
                let payload = if *whole { &bytes[10..] } else { &bytes[..cut.index(bytes.len())] };
                let (seq, ack) = (own.wrapping_add_signed(*seq), peer.wrapping_add_signed(*ack));
                (side(*is_client), TcpFlags::from_bits_truncate(*flags), seq, ack, payload)
            }).collect();
            let acknowledgements = segments.iter().take_while(|(sender, flags, seq, ack, payload)| {
                greeting.is_acknowledged_by(&segment(*flags, *seq, *ack), payload, *sender)
            });
            let after = &segments[acknowledgements.count()..];
            prop_assert_eq!(found(&mut made, after), found(&mut kept, &segments));
            prop_assert_eq!(made.is_done(), kept.is_done());
        }
    }
}
