//! The stream parser of TLS over TCP.

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use huginn_net_core::{Probe as StreamProbe, Side, StreamData, StreamParser, StreamStart};

use crate::Transport;
use crate::counters::{SearchCounters, TlsCounters};
use crate::datagram::openvpn::{self, OpenVpnStream};
use crate::event::TlsEvent;
use crate::hello::{ClientHello, Hello};
use crate::record::hello_search::{self, HelloSearch};
use crate::record::{self, Probe};

/// Finds the hellos of a TCP connection: TLS anywhere in the stream, and TLS in OpenVPN's control channel.
#[derive(Debug)]
pub struct TlsParser {
    client: Reader,
    server: Reader,
    /// Number of ClientHellos.
    client_hellos: u8,
    /// Whether the capture contains data of the server.
    server_seen: bool,
    /// Whether the server requested a second hello.
    retry_requested: bool,
    /// Whether the server accepted a handshake.
    agreed: bool,
    /// Whether further data of client and server is needed: the stream layer asks more often than data changes it.
    reads: [bool; 2],
}

/// The protocol of one direction.
#[derive(Debug)]
enum Reader {
    /// Undecided, with the first bytes.
    Undecided(Vec<u8>),
    Tls(HelloSearch),
    OpenVpn(Box<OpenVpnStream>),
}

impl StreamParser for TlsParser {
    type Event = TlsEvent;
    type Counters = TlsCounters;

    /// TLS may follow any other protocol, so no bytes rule it out.
    fn probe(sender: Side, first: &[u8]) -> StreamProbe {
        if hello_search::hello_sender(first) == Some(sender) {
            StreamProbe::Certain
        } else {
            StreamProbe::Unsure
        }
    }

    fn new(_: StreamStart) -> Self {
        Self {
            client: Reader::Undecided(Vec::new()),
            server: Reader::Undecided(Vec::new()),
            client_hellos: 0,
            server_seen: false,
            retry_requested: false,
            agreed: false,
            reads: [true; 2],
        }
    }

    /// Reports complete hellos. A ClientHello is a retry if the server requested it; if the server's data is missing,
    /// every ClientHello after the first is a retry.
    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        let Self { client, server, client_hellos, server_seen, retry_requested, agreed, .. } = self;
        let TlsCounters { hellos, search, .. } = counters;
        *server_seen |= side == Side::Server;
        let mut report = |side, hello: Hello<'_>| {
            let mut retry = false;
            match &hello {
                Hello::Client(_) => {
                    retry = *client_hellos > 0 && (*retry_requested || !*server_seen);
                    *client_hellos = client_hellos.saturating_add(1);
                }
                Hello::Server(hello) if hello.is_retry_request() => *retry_requested = true,
                Hello::Server(_) => *agreed = true,
            }
            emit(side, hellos.event(hello, retry));
        };
        let (reader, other) = match side {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let mut has_found = false;
        reader.push(data, search, &mut |hello| {
            has_found = true;
            report(side, hello);
        });
        if matches!(reader, Reader::Tls(_)) {
            other.rule_out_openvpn(search, &mut |hello| report(side.peer(), hello));
        }
        if let Reader::Tls(hellos) = other
            && has_found
        {
            hellos.reconsider(search, &mut |hello| report(side.peer(), hello));
        }
        let is_done = self.is_done();
        self.reads = [&self.client, &self.server].map(|reader| !is_done && !reader.is_done());
    }

    #[inline]
    fn reads(&self, side: Side) -> bool {
        let [client, server] = self.reads;
        side.choose(client, server)
    }

    #[inline]
    fn is_mid_message(&self, side: Side) -> bool {
        side.choose(&self.client, &self.server).buffered_bytes() > 0
    }

    #[inline]
    fn buffered_bytes(&self) -> usize {
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes())
    }

    /// Summarizes a record with only a ClientHello, which is how most clients start.
    fn summarize(
        sender: Side,
        first: &[u8],
        _: StreamStart,
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) -> Option<u8> {
        if sender != Side::Client {
            return None;
        }
        let message = record::only_client_hello(first)?;
        let hello = ClientHello::parse_message(message, Transport::Tcp).ok()?;
        let early_data = hello.has_early_data();
        emit(sender, counters.hellos.event(Hello::Client(hello), false));
        Some(early_data.into())
    }

    fn resume(start: StreamStart, _: Side, first_len: usize, early_data: u8) -> Self {
        Self {
            client: Reader::Tls(HelloSearch::after_hello(first_len, early_data != 0)),
            server: Reader::Tls(HelloSearch::from_start()),
            client_hellos: 1,
            ..Self::new(start)
        }
    }
}

impl TlsParser {
    /// Whether no further hello can be found. A second ClientHello may be captured after the server's answer.
    fn is_done(&self) -> bool {
        let wanted = if self.retry_requested { 1 } else { 0 };
        self.agreed && self.client_hellos > wanted || self.client.is_done() && self.server.is_done()
    }
}

impl Reader {
    /// Selects the reader for a direction by its first bytes; `None` if more are needed.
    fn detect(bytes: &[u8]) -> Option<Self> {
        match openvpn::stream_probe(bytes) {
            Probe::Yes => Some(Self::OpenVpn(Box::default())),
            Probe::No => Some(Self::Tls(HelloSearch::from_start())),
            Probe::Unsure => None,
        }
    }

    fn push(&mut self, data: StreamData<'_>, search: &mut SearchCounters, found: &mut impl FnMut(Hello<'_>)) {
        match data {
            StreamData::Bytes(bytes) => self.read(bytes, search, found),
            StreamData::Gap(_) => self.gap(),
        }
    }

    fn read(&mut self, bytes: &[u8], search: &mut SearchCounters, found: &mut impl FnMut(Hello<'_>)) {
        match self {
            Self::Undecided(buffered) if buffered.is_empty() => match Self::detect(bytes) {
                Some(mut reader) => {
                    reader.read(bytes, search, found);
                    *self = reader;
                }
                None => buffered.extend_from_slice(bytes),
            },
            Self::Undecided(buffered) => {
                buffered.extend_from_slice(bytes);
                if let Some(mut reader) = Self::detect(buffered) {
                    reader.read(buffered, search, found);
                    *self = reader;
                }
            }
            Self::Tls(hellos) => hellos.push(bytes, search, found),
            Self::OpenVpn(stream) => stream.push(bytes, found),
        }
    }

    /// Records that the other side does not use OpenVPN.
    fn rule_out_openvpn(&mut self, search: &mut SearchCounters, found: &mut impl FnMut(Hello<'_>)) {
        if let Self::Undecided(buffered) = self {
            let buffered = std::mem::take(buffered);
            *self = Self::Tls(HelloSearch::from_start());
            self.read(&buffered, search, found);
        }
    }

    /// Records missing bytes.
    fn gap(&mut self) {
        match self {
            Self::Undecided(_) => *self = Self::Tls(HelloSearch::from_midstream()),
            Self::Tls(search) => search.gap(),
            // The start of the next packet is unknown.
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

    fn buffered_bytes(&self) -> usize {
        match self {
            Self::Undecided(buffered) => buffered.capacity(),
            Self::Tls(search) => search.buffered_bytes(),
            Self::OpenVpn(stream) => size_of::<OpenVpnStream>().saturating_add(stream.buffered_bytes()),
        }
    }
}
