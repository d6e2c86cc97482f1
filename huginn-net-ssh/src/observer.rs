//! The SSH clients and servers of a capture.

use huginn_net_core::{
    Analyzer, Interest, Piece, Protocol, Segment, Side, StreamCounters, Tally, TcpConnection, TcpFlags,
    TcpHeader, TcpStarts, tally,
};

use crate::SshPeer;
use crate::connection::Connection;
use crate::identification::PREFIX;
use crate::limits::REASSEMBLY_WINDOW;

/// The analyzer of SSH alone.
///
/// ```
/// use huginn_net_core::{CaptureReader, Event};
/// use huginn_net_ssh::{HuginnNetSsh, SshEvent};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/ssh-openssh.pcap");
/// let mut events: Vec<Event<SshEvent>> = Vec::new();
/// HuginnNetSsh::builder().build().analyze(CaptureReader::open(path)?, &mut events)?;
/// let client = events.iter().find_map(|event| match &event.kind {
///     SshEvent::Client(client) => Some(client),
///     _ => None,
/// });
/// let client = client.expect("a client");
/// assert_eq!(client.identification.software_version(), b"OpenSSH_9.2p1");
/// assert_eq!(client.hassh().expect("a whole message").to_string(), "472b5de333ad665af5cbf10ff892c4df");
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_core::CaptureError>>(())
/// ```
pub type HuginnNetSsh = Analyzer<SshObserver>;

/// Reports the client and the server of each SSH connection, on any port: their identification strings, and HASSH and
/// HASSHServer.
#[derive(Clone, Debug, Default)]
pub struct SshObserver {
    counters: SshCounters,
}

/// What an [`SshObserver`] reports, once for each side of a connection. The event's subject is the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum SshEvent {
    /// The client.
    Client(SshPeer),
    /// The server.
    Server(SshPeer),
}

/// Counters of an [`SshObserver`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SshCounters {
    /// Identification strings. A side is not reported if its connection is forgotten, or the capture ends, before its
    /// SSH_MSG_KEXINIT or its end: this counter tells how many there are.
    pub identifications: u64,
    /// Clients reported.
    pub clients: u64,
    /// Servers reported.
    pub servers: u64,
    /// Clients and servers reported without an SSH_MSG_KEXINIT.
    pub without_kex_init: u64,
    /// Directions that hold something else than packets after the identification string, or a malformed
    /// SSH_MSG_KEXINIT.
    pub malformed: u64,
    /// Counters of TCP reassembly.
    pub tcp: StreamCounters,
}

tally!(SshCounters { identifications, clients, servers, without_kex_init, malformed, tcp });

/// The state of one flow in an [`SshObserver`].
#[derive(Debug, Default)]
pub struct SshFlow {
    starts: TcpStarts,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// No payload has come.
    #[default]
    Fresh,
    /// The client does not speak SSH, and the server has sent nothing.
    NotSshClient,
    Open(Box<Stream>),
    Done,
}

/// The ordered bytes of a connection, and what is read of them.
#[derive(Debug)]
struct Stream {
    tcp: TcpConnection,
    connection: Connection,
}

impl SshObserver {
    /// The counters since the observer was made.
    pub fn counters(&self) -> SshCounters {
        self.counters
    }
}

impl Protocol for SshObserver {
    type Flow = SshFlow;
    type Event = SshEvent;
    type Memory = ();
    type Counters = SshCounters;

    fn memory(&self) {}

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
    }

    fn counted(&self) -> SshCounters {
        self.counters
    }

    /// A SYN starts a flow, and so does an identification string if the SYN is not in the capture.
    fn opens(&self, segment: &Segment<'_>) -> Option<Side> {
        let tcp = segment.tcp()?;
        if tcp.flags.opens() {
            return Some(Side::Client);
        }
        segment.payload.starts_with(PREFIX).then(|| likely_sender(tcp))
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut SshFlow,
        emit: &mut impl FnMut(Side, SshEvent),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else { return Interest::Done };
        flow.on_tcp(tcp, segment.payload, sender, &mut self.counters, emit);
        match flow.state {
            State::Done => Interest::Done,
            State::Fresh | State::NotSshClient | State::Open(_) => Interest::More,
        }
    }

    fn held(flow: &SshFlow) -> usize {
        match &flow.state {
            State::Fresh | State::NotSshClient | State::Done => 0,
            State::Open(stream) => size_of::<Stream>()
                .saturating_add(stream.tcp.held())
                .saturating_add(stream.connection.buffered_bytes()),
        }
    }
}

/// The side that sent an identification string, by the ports alone: the lower one is that of the server.
fn likely_sender(tcp: &TcpHeader<'_>) -> Side {
    if tcp.src_port < tcp.dst_port { Side::Server } else { Side::Client }
}

impl SshFlow {
    fn on_tcp(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut SshCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        let Self { starts, state } = self;
        if matches!(state, State::Fresh | State::NotSshClient) {
            starts.learn(tcp, sender);
            if payload.is_empty() {
                return;
            }
            match (&state, sender) {
                (State::Fresh, Side::Client) if !may_be_ssh(*starts, tcp, payload, sender) => {
                    *state = State::NotSshClient;
                    return;
                }
                (State::NotSshClient, Side::Client) => return,
                (State::NotSshClient, Side::Server) if !may_be_ssh(*starts, tcp, payload, sender) => {
                    *state = State::Done;
                    return;
                }
                _ => {}
            }
            let connection = match state {
                State::NotSshClient => Connection::without_client(),
                _ => Connection::default(),
            };
            *state = State::Open(Box::new(Stream { tcp: TcpConnection::new(*starts), connection }));
        }
        let State::Open(stream) = state else { return };
        stream.on_segment(tcp, payload, sender, counters, emit);
        if stream.connection.is_done() {
            *state = State::Done;
        }
    }
}

/// Whether payload may begin, or come before, an identification string: not so if it is the first of its side and begins
/// with something else.
fn may_be_ssh(starts: TcpStarts, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> bool {
    let len = payload.len().min(PREFIX.len());
    payload.get(..len) == PREFIX.get(..len) || !starts.are_followed_by(tcp, sender, REASSEMBLY_WINDOW)
}

impl Stream {
    fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut SshCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        let Self { tcp: streams, connection } = self;
        let mut segments = counters.tcp;
        streams.on_segment(tcp, payload, sender, REASSEMBLY_WINDOW, &mut segments, &mut |side, piece| {
            match piece {
                Piece::Bytes(bytes) => connection.on_bytes(side, bytes, counters, emit),
                Piece::Gap(_) => connection.on_end(side, counters, emit),
            }
        });
        counters.tcp = segments;
        if tcp.flags.contains(TcpFlags::RST) {
            connection.on_end(Side::Client, counters, emit);
            connection.on_end(Side::Server, counters, emit);
        } else if tcp.flags.contains(TcpFlags::FIN) && streams.held() == 0 {
            connection.on_end(sender, counters, emit);
        }
        for side in [Side::Client, Side::Server] {
            if connection.is_finished(side) {
                streams.ignore(side);
            }
        }
    }
}

impl SshCounters {
    pub(crate) fn count(&mut self, peer: &SshPeer) {
        let sides = peer.side.choose(&mut self.clients, &mut self.servers);
        *sides = sides.saturating_add(1);
        if peer.kex_init.is_none() {
            self.without_kex_init = self.without_kex_init.saturating_add(1);
        }
    }
}
