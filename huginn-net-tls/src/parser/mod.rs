//! The stream parser of TLS over TCP.

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod follower_tests;
#[cfg(all(test, target_pointer_width = "64"))]
mod sizes;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use huginn_net_core::{Probe as StreamProbe, Side, StreamData, StreamParser, StreamStart};

use crate::counters::{SearchCounters, TlsCounters};
use crate::datagram::openvpn::{self, OpenVpnStream};
use crate::event::TlsEvent;
use crate::follower::Follower;
use crate::hello::{ClientHello, Hello};
use crate::limits::MAX_HELLOS_PER_HANDSHAKE;
use crate::record::hello_search::{self, HelloSearch, PeerHello};
use crate::record::{self, HANDSHAKE, Item, Probe};
use crate::{TlsParserSettings, Transport};

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
    /// The handshake after the hellos, if it is followed.
    follower: Option<Box<Follower>>,
    settings: TlsParserSettings,
    /// Whether the client began with other bytes than those of TLS; `None` before its first bytes.
    follows_other: Option<bool>,
    /// Whether further data of client and server is needed: the stream layer asks more often than data changes it.
    reads: [bool; 2],
}

/// The protocol of one direction.
#[derive(Debug)]
enum Reader {
    Undecided(Undecided),
    Tls(HelloSearch),
    OpenVpn(Box<OpenVpnStream>),
}

/// A direction whose protocol is not known yet.
#[derive(Debug)]
struct Undecided {
    /// The first bytes.
    buffered: Vec<u8>,
    /// Whether the handshake is followed after the hellos.
    follows: bool,
    /// The hello of the other side.
    peer_hello: Option<PeerHello>,
}

impl StreamParser for TlsParser {
    type Event = TlsEvent;
    type Counters = TlsCounters;
    type Settings = TlsParserSettings;

    /// TLS may follow any other protocol, so no bytes rule it out.
    fn probe(sender: Side, first: &[u8]) -> StreamProbe {
        if hello_search::hello_sender(first) == Some(sender) {
            StreamProbe::Certain
        } else {
            StreamProbe::Unsure
        }
    }

    fn new(_: StreamStart, settings: TlsParserSettings) -> Self {
        Self::reading(Reader::new(settings), Reader::new(settings), 0, settings)
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
        if let (StreamData::Gap(_), Some(follower)) = (&data, &mut self.follower) {
            follower.on_gap(side);
        }
        if let (Side::Client, StreamData::Bytes([first, ..]), None) = (side, &data, self.follows_other) {
            self.follows_other = Some(*first != HANDSHAKE);
        }
        let has_hellos = self.has_hellos();
        let (settings, follows_other) = (self.settings, self.follows_other == Some(true));
        let Self { client, server, client_hellos, server_seen, retry_requested, agreed, follower, .. } = self;
        let TlsCounters { hellos, search, handshakes, .. } = counters;
        *server_seen |= side == Side::Server;
        let mut found: [Option<PeerHello>; 2] = [None; 2];
        let mut report = |side: Side, item: Item<'_>| {
            // Who does not follow handshakes does not read on, and reports the same hellos.
            if has_hellos && matches!(item, Item::Hello(_)) {
                return;
            }
            if let Item::Hello(Hello::Client(hello)) = &item
                && !settings.handshakes
                && !hello.is_nameless()
            {
                *follower = None;
            }
            if matches!(item, Item::TooLong(_)) {
                handshakes.messages_too_long = handshakes.messages_too_long.saturating_add(1);
            }
            if let Some(follower) = &mut *follower {
                follower.on_item(side, &item, &mut |side, event| {
                    handshakes.count(&event);
                    emit(side, event);
                });
            }
            let Item::Hello(hello) = item else { return };
            let mut retry = false;
            match &hello {
                Hello::Client(_) => {
                    retry = *client_hellos > 0 && (*retry_requested || !*server_seen);
                    *client_hellos = client_hellos.saturating_add(1);
                }
                Hello::Server(hello) if hello.is_retry_request() => *retry_requested = true,
                Hello::Server(_) => *agreed = true,
            }
            if follower.is_some() {
                let awaits_hello = *retry_requested && *client_hellos < MAX_HELLOS_PER_HANDSHAKE;
                let [of_client, of_server] = &mut found;
                *side.choose(of_client, of_server) = Some(PeerHello::new(&hello, awaits_hello));
            }
            let mut event = hellos.event(hello, retry);
            if let TlsEvent::Client(client) = &mut event {
                client.follows_other = follows_other;
            }
            emit(side, event);
        };
        let (reader, other) = match side {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let mut has_found = false;
        reader.push(data, search, &mut |item| {
            has_found |= matches!(item, Item::Hello(_));
            report(side, item);
        });
        if matches!(reader, Reader::Tls(_)) {
            other.rule_out_openvpn(search, &mut |item| report(side.peer(), item));
        }
        if let Reader::Tls(hellos) = other
            && has_found
        {
            hellos.reconsider(search, &mut |item| report(side.peer(), item));
        }
        let [of_client, of_server] = found;
        of_client.into_iter().for_each(|hello| self.server.on_peer_hello(hello));
        of_server.into_iter().for_each(|hello| self.client.on_peer_hello(hello));
        let is_done = self.is_done();
        self.reads = [&self.client, &self.server].map(|reader| !is_done && !reader.is_done());
    }

    /// A handshake of which the client may have read other messages is not reported.
    fn on_conflict(&mut self, side: Side) {
        if let Some(follower) = &mut self.follower {
            follower.on_gap(side);
        }
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

    /// Those of a server matter from the hello of the client to the last message that is not encrypted.
    #[inline]
    fn uncompared(&self, side: Side) -> usize {
        let matters = side == Side::Client || self.client_hellos > 0;
        if matters { 0 } else { usize::MAX }
    }

    /// Before the first hello, a handshake may begin anywhere.
    fn needs_state(&self) -> bool {
        self.client_hellos > 0 || self.agreed || self.follower.is_some()
    }

    #[inline]
    fn buffered_bytes(&self) -> usize {
        let follower = self.follower.as_ref().map_or(0, |follower| follower.buffered_bytes());
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes()).saturating_add(follower)
    }

    /// Summarizes a record with only a ClientHello, which is how most clients start. To follow a handshake takes more of the
    /// hello than a summary has.
    fn summarize(
        sender: Side,
        first: &[u8],
        _: StreamStart,
        settings: TlsParserSettings,
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) -> Option<u8> {
        if sender != Side::Client || settings.handshakes {
            return None;
        }
        let message = record::only_client_hello(first)?;
        let hello = ClientHello::parse_message(message, Transport::Tls).ok()?;
        if settings.nameless && hello.is_nameless() {
            return None;
        }
        let early_data = hello.has_early_data();
        emit(sender, counters.hellos.event(Hello::Client(hello), false));
        Some(early_data.into())
    }

    fn resume(
        _: StreamStart,
        settings: TlsParserSettings,
        _: Side,
        first_len: usize,
        early_data: u8,
    ) -> Self {
        let client = HelloSearch::after_hello(first_len, early_data != 0);
        // Only a hello with a name is summarized.
        let settings = settings.nameless(false);
        Self::reading(Reader::Tls(client), Reader::Tls(HelloSearch::from_start()), 1, settings)
    }
}

impl TlsParser {
    /// Creates the state of a connection with this number of ClientHellos.
    #[inline]
    fn reading(client: Reader, server: Reader, client_hellos: u8, settings: TlsParserSettings) -> Self {
        Self {
            client,
            server,
            client_hellos,
            server_seen: false,
            retry_requested: false,
            agreed: false,
            follower: settings.follows().follower(),
            settings,
            follows_other: (client_hellos > 0).then_some(false),
            reads: [true; 2],
        }
    }

    /// Processes a message of the encrypted handshake of TLS 1.3, decrypted with logged secrets: its type and body. It is to be
    /// called before the record with the end of the message is [read](StreamParser::on_data), and has no effect unless handshakes
    /// are [followed](TlsParserSettings::handshakes).
    pub fn on_decrypted_message(
        &mut self,
        side: Side,
        kind: u8,
        body: &[u8],
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        if let Some(follower) = &mut self.follower {
            follower.on_decrypted(side, kind, body, &mut |side, event| {
                counters.handshakes.count(&event);
                emit(side, event);
            });
        }
    }

    /// Processes a decrypted alert of TLS 1.3: its level and description.
    pub fn on_decrypted_alert(
        &mut self,
        side: Side,
        alert: [u8; 2],
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        if let Some(follower) = &mut self.follower {
            follower.on_decrypted_alert(side, alert, &mut |side, event| {
                counters.handshakes.count(&event);
                emit(side, event);
            });
        }
    }

    /// Sets whether the messages of the client in TLS 1.3 are decrypted: its Finished message, not its first encrypted record, then
    /// ends the handshake.
    pub fn set_decrypts_client(&mut self, decrypts: bool) {
        if let Some(follower) = &mut self.follower {
            follower.set_awaits_finished(decrypts);
        }
    }

    /// Whether nothing further can be found. A second ClientHello may be captured after the server's answer.
    #[inline]
    fn is_done(&self) -> bool {
        self.has_hellos() && !self.follows() || self.client.is_done() && self.server.is_done()
    }

    /// Whether all hellos of the handshake were found.
    fn has_hellos(&self) -> bool {
        let wanted = if self.retry_requested { 1 } else { 0 };
        self.agreed && self.client_hellos > wanted
    }

    /// Whether the rest of the handshake can be found.
    fn follows(&self) -> bool {
        let is_open = |follower: &Follower| {
            let Self { client, server, .. } = self;
            let (client, server) = follower.server_side().choose((server, client), (client, server));
            !follower.is_over
                && server.is_in_records()
                && (client.is_in_records() || follower.awaits_certificates())
        };
        self.follower.as_deref().is_some_and(is_open)
    }
}

impl Undecided {
    /// The search for hellos, if the protocol is TLS.
    fn search(&self) -> HelloSearch {
        let mut search = HelloSearch::from_start().following(self.follows);
        self.peer_hello.into_iter().for_each(|hello| search.on_peer_hello(hello));
        search
    }

    /// The state of a control channel, if the protocol is OpenVPN.
    fn openvpn(&self) -> OpenVpnStream {
        let mut stream = OpenVpnStream::new(self.follows);
        self.peer_hello.into_iter().for_each(|hello| stream.on_peer_hello(hello));
        stream
    }
}

impl Reader {
    fn new(settings: TlsParserSettings) -> Self {
        Self::Undecided(Undecided {
            buffered: Vec::new(),
            follows: settings.follows().is_on(),
            peer_hello: None,
        })
    }

    fn push(&mut self, data: StreamData<'_>, search: &mut SearchCounters, found: &mut impl FnMut(Item<'_>)) {
        match data {
            StreamData::Bytes(bytes) => self.read(bytes, search, found),
            StreamData::Gap(_) => self.gap(),
        }
    }

    fn read(&mut self, bytes: &[u8], search: &mut SearchCounters, found: &mut impl FnMut(Item<'_>)) {
        match self {
            Self::Undecided(undecided) if undecided.buffered.is_empty() => {
                match Self::detect(undecided, bytes) {
                    Some(reader) => {
                        *self = reader;
                        self.read(bytes, search, found);
                    }
                    None => undecided.buffered.extend_from_slice(bytes),
                }
            }
            Self::Undecided(undecided) => {
                undecided.buffered.extend_from_slice(bytes);
                if let Some(reader) = Self::detect(undecided, &undecided.buffered) {
                    let buffered = std::mem::take(&mut undecided.buffered);
                    *self = reader;
                    self.read(&buffered, search, found);
                }
            }
            Self::Tls(hellos) => hellos.push(bytes, search, found),
            Self::OpenVpn(stream) => stream.push(bytes, found),
        }
    }

    /// Selects the reader for a direction by its first bytes; `None` if more are needed.
    fn detect(undecided: &Undecided, bytes: &[u8]) -> Option<Self> {
        match openvpn::stream_probe(bytes) {
            Probe::Yes => Some(Self::OpenVpn(Box::new(undecided.openvpn()))),
            Probe::No => Some(Self::Tls(undecided.search())),
            Probe::Unsure => None,
        }
    }

    /// Records that the other side does not use OpenVPN.
    fn rule_out_openvpn(&mut self, search: &mut SearchCounters, found: &mut impl FnMut(Item<'_>)) {
        if let Self::Undecided(undecided) = self {
            let buffered = std::mem::take(&mut undecided.buffered);
            *self = Self::Tls(undecided.search());
            self.read(&buffered, search, found);
        }
    }

    /// Processes a hello of the other side.
    fn on_peer_hello(&mut self, hello: PeerHello) {
        match self {
            Self::Undecided(undecided) => undecided.peer_hello = Some(hello),
            Self::Tls(search) => search.on_peer_hello(hello),
            Self::OpenVpn(stream) => stream.on_peer_hello(hello),
        }
    }

    /// Records missing bytes.
    fn gap(&mut self) {
        match self {
            Self::Undecided(undecided) => {
                let mut search = undecided.search();
                search.gap();
                *self = Self::Tls(search);
            }
            Self::Tls(search) => search.gap(),
            // The start of the next packet is unknown.
            Self::OpenVpn(_) => *self = Self::Tls(HelloSearch::default()),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Undecided(..) => false,
            Self::Tls(search) => search.is_done(),
            Self::OpenVpn(stream) => stream.is_done(),
        }
    }

    /// Whether the reader is in the records of TLS.
    fn is_in_records(&self) -> bool {
        match self {
            Self::Undecided(_) => false,
            Self::Tls(search) => search.is_in_records(),
            Self::OpenVpn(stream) => !stream.is_done(),
        }
    }

    fn buffered_bytes(&self) -> usize {
        match self {
            Self::Undecided(undecided) => undecided.buffered.capacity(),
            Self::Tls(search) => search.buffered_bytes(),
            Self::OpenVpn(stream) => size_of::<OpenVpnStream>().saturating_add(stream.buffered_bytes()),
        }
    }
}
