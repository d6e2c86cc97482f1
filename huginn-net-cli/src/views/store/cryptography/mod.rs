//! Which cryptography clients offered and servers chose, counted by host. Memory is bounded: see [`LeftOut`].

mod offer;
mod seen;

use std::collections::hash_map::Entry;
use std::fmt::{self, Display};
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use huginn_net::core::{Escaped, TransportKind};
use huginn_net::db::{ClientMatch, LibraryAge};
use huginn_net::ssh::SshPeer;
use huginn_net::tls::{
    Certificate, CertificateFields, ServerHello, TlsCertificates, TlsClient, TlsHandshake,
};
use huginn_net::{Event, Observation, Side, Timestamp};
use serde::Serialize;

pub(crate) use self::offer::{SshChoice, SshOffer, TlsChoice, TlsOffer};
pub(crate) use self::seen::SeenList;
use self::seen::{Full, Memory};
use super::bounded::{Seen, increment};

/// Maximum number of servers, and of clients: forged addresses can be any number.
const MAX_INVENTORY_HOSTS: usize = 1 << 18;

/// Maximum number of names of a server address: content delivery networks have any number.
const MAX_INVENTORY_NAMES: usize = 8;

/// Maximum length of a name of a server, in bytes: that of a DNS name.
const MAX_INVENTORY_NAME_BYTES: usize = 255;

/// Maximum number of handshakes of TLS 1.2 and older whose group may still come. At the limit all of them count without.
const MAX_PENDING_CHOICES: usize = 1 << 16;

/// A number for the VLAN tags and tunnels around an address: equal private addresses may be two hosts.
type Tunnel = u64;

/// Where the port of a server is. Servers of TCP and UDP differ, even if HTTP/3 has the port of HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Network {
    tunnel: Tunnel,
    is_udp: bool,
}

/// An address of a server, or of a server and a client.
type InNetwork<A> = (A, Network);

/// The inventory of captures.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    servers: HashMap<InNetwork<SocketAddr>, Server>,
    clients: HashMap<(IpAddr, Tunnel), Client>,
    /// Names that clients asked for, whether or not the server answered.
    names: HashMap<InNetwork<SocketAddr>, Names>,
    tls_offers: HashSet<Arc<TlsOffer>>,
    ssh_offers: HashSet<Arc<SshOffer>>,
    ssh_choices: HashSet<Arc<SshChoice>>,
    /// Certificates by their SHA-256.
    certificates: HashMap<[u8; 32], Certificate>,
    /// Choices whose group comes in another message, by client and server.
    pending: HashMap<InNetwork<(SocketAddr, SocketAddr)>, (TlsChoice, Timestamp)>,
    memory: Memory,
    left_out: LeftOut,
    span: Option<Seen>,
}

/// The port of a server. Displays as `192.0.2.1:443`, of UDP as `192.0.2.1:443/udp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) is_udp: bool,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.address, if self.is_udp { "/udp" } else { "" })
    }
}

/// A server that answered.
#[derive(Debug, Default)]
pub(crate) struct Server {
    /// What it chose, with the number of connections.
    pub(crate) tls: SeenList<TlsChoice>,
    /// Number of HelloRetryRequests.
    pub(crate) retries: u64,
    /// Certificates that it sent in the clear.
    pub(crate) certificates: SeenList<ServerCertificate>,
    /// What it and its clients agreed on.
    pub(crate) ssh: SeenList<Arc<SshChoice>>,
    pub(crate) ssh_offered: SeenList<Arc<SshOffer>>,
}

impl Server {
    /// Its connections, of TLS and of SSH.
    pub(crate) fn total(&self) -> Option<Seen> {
        Seen::join(&[self.tls.total(), self.ssh.total()].into_iter().flatten().collect::<Vec<_>>())
    }
}

/// A certificate in the chain of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerCertificate {
    pub(crate) certificate: Certificate,
    /// Whether it is the one of the server itself: the first in its chain.
    pub(crate) is_own: bool,
}

/// A TLS library, and when the versions of a fingerprint were released. The oldest is the least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientLibrary {
    pub(crate) age: LibraryAge,
    pub(crate) name: Arc<str>,
}

impl ClientLibrary {
    fn of_match(found: Option<ClientMatch>) -> Option<Self> {
        let software = found?.software;
        Some(Self { age: software.library_age.clone()?, name: software.library.clone()? })
    }
}

/// A client.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// What it offered, with the number of first ClientHellos.
    pub(crate) tls: SeenList<Arc<TlsOffer>>,
    /// TLS libraries of known age that its hellos name.
    pub(crate) libraries: SeenList<ClientLibrary>,
    /// What its servers chose, with the number of connections.
    pub(crate) chosen: SeenList<TlsChoice>,
    /// What it and its servers agreed on.
    pub(crate) ssh: SeenList<Arc<SshChoice>>,
    pub(crate) ssh_offered: SeenList<Arc<SshOffer>>,
}

impl Client {
    /// Its offers, of TLS and of SSH.
    pub(crate) fn total(&self) -> Option<Seen> {
        Seen::join(&[self.tls.total(), self.ssh_offered.total()].into_iter().flatten().collect::<Vec<_>>())
    }
}

/// Server names of an address.
#[derive(Debug, Default)]
pub(crate) struct Names {
    list: SeenList<Box<str>>,
    /// Number of hellos with further names.
    left_out: u64,
}

/// Number of events that were not counted: limits were reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Events of further hosts.
    pub(crate) hosts: u64,
    /// Events with further values of hosts.
    pub(crate) values: u64,
}

impl Inventory {
    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event) {
        let added = match &event.kind {
            Observation::TlsClient(observation) => {
                let library = ClientLibrary::of_match(observation.software());
                self.add_tls_client(event, &observation.client, library)
            }
            Observation::TlsServer(observation) => self.add_tls_server(event, &observation.server.hello),
            Observation::TlsHandshake(observation) => self.add_handshake(event, &observation.handshake),
            Observation::TlsCertificates(observation) => {
                self.add_certificates(event, &observation.certificates)
            }
            Observation::SshClient(observation) => self.add_ssh(event, &observation.peer),
            Observation::SshServer(observation) => self.add_ssh(event, &observation.peer),
            Observation::SshHandshake(observation) => {
                self.add_ssh_choice(event, SshChoice::new(&observation.negotiation))
            }
            _ => Ok(()),
        };
        self.count_left_out(added);
    }

    /// Counts what there was no room for.
    fn count_left_out(&mut self, added: Result<(), Full>) {
        match added {
            Ok(()) => {}
            Err(Full::Hosts) => increment(&mut self.left_out.hosts),
            Err(Full::Values) => increment(&mut self.left_out.values),
        }
    }

    /// Servers that answered, by address.
    pub(crate) fn servers(&self) -> Vec<(Place, &Server, NamesOf<'_>)> {
        let mut servers: Vec<_> = self.servers.iter().collect();
        servers.sort_unstable_by_key(|(id, _)| **id);
        let names = |id| NamesOf(self.names.get(id));
        let place = |id: &InNetwork<SocketAddr>| Place { address: id.0, is_udp: id.1.is_udp };
        servers.into_iter().map(|(id, server)| (place(id), server, names(id))).collect()
    }

    /// Clients, by address.
    pub(crate) fn clients(&self) -> Vec<(IpAddr, &Client)> {
        let mut clients: Vec<_> = self.clients.iter().collect();
        clients.sort_unstable_by_key(|(id, _)| **id);
        clients.into_iter().map(|(id, client)| (id.0, client)).collect()
    }

    /// Number of different certificates.
    pub(crate) fn certificates(&self) -> usize {
        self.certificates.len()
    }

    /// What was not counted.
    pub(crate) fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Number of events, and the times of the earliest and of the latest.
    pub(crate) fn span(&self) -> Option<Seen> {
        self.span
    }

    fn add_tls_client(
        &mut self,
        event: &Event,
        client: &TlsClient,
        library: Option<ClientLibrary>,
    ) -> Result<(), Full> {
        let (address, server, network) = roles(event, Side::Client);
        if let Some(name) = client.hello.server_name() {
            self.add_name((server, network), name, event.ts);
        }
        // The second hello of a handshake offers what the first one did.
        if client.retry {
            return Ok(());
        }
        self.count_time(event.ts);
        let offer = TlsOffer::new(&client.hello);
        let bytes = offer.bytes();
        let offer = interned(&mut self.tls_offers, offer, bytes, &mut self.memory)?;
        let client = record(&mut self.clients, (address.ip(), network.tunnel), &mut self.memory)?;
        client.tls.add(offer, event.ts, &mut self.memory)?;
        library.map_or(Ok(()), |library| client.libraries.add(library, event.ts, &mut self.memory))
    }

    fn add_name(&mut self, server: InNetwork<SocketAddr>, name: &[u8], ts: Timestamp) {
        // Names beyond the limit of memory are rare, and counted at their server.
        let Ok(names) = record(&mut self.names, server, &mut self.memory) else { return };
        let text = Escaped(name).to_string();
        let is_known = names.list.iter().any(|(known, _)| **known == *text);
        let fits = text.len() <= MAX_INVENTORY_NAME_BYTES && names.list.len() < MAX_INVENTORY_NAMES;
        let has_room = is_known || fits && self.memory.take(text.len()).is_ok();
        if !has_room || names.list.add(text.into_boxed_str(), ts, &mut self.memory).is_err() {
            increment(&mut names.left_out);
        }
    }

    fn add_tls_server(&mut self, event: &Event, hello: &ServerHello<'_>) -> Result<(), Full> {
        self.count_time(event.ts);
        let (client, server, network) = roles(event, Side::Server);
        let choice = TlsChoice::new(hello);
        if hello.is_retry_request() {
            // The server chooses in its ServerHello, which follows.
            let server = record(&mut self.servers, (server, network), &mut self.memory)?;
            increment(&mut server.retries);
            return Ok(());
        }
        if !choice.lacks_group() {
            return self.count_choice(((client, server), network), choice, event.ts);
        }
        if self.pending.len() >= MAX_PENDING_CHOICES {
            self.count_pending();
        }
        match self.pending.insert(((client, server), network), (choice, event.ts)) {
            Some((choice, ts)) => self.count_choice(((client, server), network), choice, ts),
            None => Ok(()),
        }
    }

    /// Adds the group of a handshake to its choice.
    fn add_handshake(&mut self, event: &Event, found: &TlsHandshake) -> Result<(), Full> {
        let (client, server, network) = roles(event, Side::Server);
        let pending = self.pending.remove(&((client, server), network));
        let Some((choice, ts)) = pending else { return Ok(()) };
        let choice = TlsChoice { group: found.key_exchange, ..choice };
        self.count_choice(((client, server), network), choice, ts)
    }

    /// Counts the certificates of a server. Those of clients are left out.
    fn add_certificates(&mut self, event: &Event, found: &TlsCertificates) -> Result<(), Full> {
        let (client, server, network) = roles(event, Side::Server);
        let is_pending = |client, server| self.pending.contains_key(&((client, server), network));
        let is_server =
            is_pending(client, server) || event.subject == Side::Server && !is_pending(server, client);
        if !is_server {
            return Ok(());
        }
        for (n, certificate) in found.certificates.iter().enumerate() {
            let added = self.add_certificate((server, network), certificate, n == 0, event.ts);
            match added {
                Err(Full::Hosts) => return added,
                added => self.count_left_out(added),
            }
        }
        Ok(())
    }

    fn add_certificate(
        &mut self,
        server: InNetwork<SocketAddr>,
        certificate: &Certificate,
        is_own: bool,
        ts: Timestamp,
    ) -> Result<(), Full> {
        let certificate = match self.certificates.entry(*certificate.sha256()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(entry) => {
                // Its names and hashes.
                let bytes = certificate.len().saturating_add(size_of::<CertificateFields>());
                self.memory.take(bytes)?;
                entry.insert(certificate.clone()).clone()
            }
        };
        let server = record(&mut self.servers, server, &mut self.memory)?;
        server.certificates.add(ServerCertificate { certificate, is_own }, ts, &mut self.memory)
    }

    /// Counts choices whose group was not seen. To be called at the end of each capture.
    pub(crate) fn count_pending(&mut self) {
        let mut pending: Vec<_> = self.pending.drain().collect();
        pending.sort_unstable_by_key(|(id, (_, ts))| (ts.as_nanos(), *id));
        for (ends, (choice, ts)) in pending {
            let counted = self.count_choice(ends, choice, ts);
            self.count_left_out(counted);
        }
    }

    /// Counts the choice of a server, also for its client if that has sent a ClientHello.
    fn count_choice(
        &mut self,
        ((client, server), network): InNetwork<(SocketAddr, SocketAddr)>,
        choice: TlsChoice,
        ts: Timestamp,
    ) -> Result<(), Full> {
        let server = record(&mut self.servers, (server, network), &mut self.memory)?;
        let of_server = server.tls.add(choice, ts, &mut self.memory);
        if let Some(client) = self.clients.get_mut(&(client.ip(), network.tunnel)) {
            client.chosen.add(choice, ts, &mut self.memory)?;
        }
        of_server
    }

    fn add_ssh(&mut self, event: &Event, peer: &SshPeer) -> Result<(), Full> {
        let Some(kex_init) = &peer.kex_init else { return Ok(()) };
        self.count_time(event.ts);
        let offer = SshOffer::new(kex_init, peer.identification.software_version(), peer.side);
        let bytes = offer.bytes();
        let offer = interned(&mut self.ssh_offers, offer, bytes, &mut self.memory)?;
        let (client, server, network) = roles(event, peer.side);
        let memory = &mut self.memory;
        let list = match peer.side {
            Side::Client => {
                &mut record(&mut self.clients, (client.ip(), network.tunnel), memory)?.ssh_offered
            }
            Side::Server => &mut record(&mut self.servers, (server, network), memory)?.ssh_offered,
        };
        list.add(offer, event.ts, memory)
    }

    fn add_ssh_choice(&mut self, event: &Event, choice: SshChoice) -> Result<(), Full> {
        let (client, server, network) = roles(event, Side::Server);
        let bytes = choice.bytes();
        let choice = interned(&mut self.ssh_choices, choice, bytes, &mut self.memory)?;
        let server = record(&mut self.servers, (server, network), &mut self.memory)?;
        let of_server = server.ssh.add(Arc::clone(&choice), event.ts, &mut self.memory);
        if let Some(client) = self.clients.get_mut(&(client.ip(), network.tunnel)) {
            client.ssh.add(choice, event.ts, &mut self.memory)?;
        }
        of_server
    }

    fn count_time(&mut self, ts: Timestamp) {
        self.span.get_or_insert_default().add(&Seen::once(ts));
    }
}

/// Client, server and network of a handshake, by the role of the subject of an event. The side that starts a flow can be the server: peers
/// of WebRTC agree on it.
fn roles(event: &Event, role: Side) -> (SocketAddr, SocketAddr, Network) {
    let (client, server) = (event.flow.client, event.flow.server);
    let (client, server) = if event.subject == role { (client, server) } else { (server, client) };
    let is_udp = event.flow.transport == TransportKind::Udp;
    (client, server, Network { tunnel: event.flow.tunnel_key(), is_udp })
}

/// The record with this key.
fn record<'m, K: Hash + Eq, R: Default>(
    records: &'m mut HashMap<K, R>,
    key: K,
    memory: &mut Memory,
) -> Result<&'m mut R, Full> {
    let is_full = records.len() >= MAX_INVENTORY_HOSTS;
    match records.entry(key) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(_) if is_full || memory.take(size_of::<(K, R)>()).is_err() => Err(Full::Hosts),
        Entry::Vacant(entry) => Ok(entry.insert(R::default())),
    }
}

/// The shared value that equals this one, which has this many bytes.
fn interned<T: Hash + Eq>(
    values: &mut HashSet<Arc<T>>,
    value: T,
    bytes: usize,
    memory: &mut Memory,
) -> Result<Arc<T>, Full> {
    if let Some(known) = values.get(&value) {
        return Ok(Arc::clone(known));
    }
    memory.take(bytes)?;
    let value = Arc::new(value);
    values.insert(Arc::clone(&value));
    Ok(value)
}

/// The server names of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamesOf<'a>(Option<&'a Names>);

impl<'a> NamesOf<'a> {
    /// The names, the most frequent first.
    pub(crate) fn by_count(self) -> Vec<&'a str> {
        let mut names: Vec<_> = self.0.into_iter().flat_map(|names| names.list.iter()).collect();
        names.sort_by(|(name, seen), (other, more)| more.count.cmp(&seen.count).then(name.cmp(other)));
        names.into_iter().map(|(name, _)| &**name).collect()
    }

    /// Number of hellos with further names.
    pub(crate) fn left_out(self) -> u64 {
        self.0.map_or(0, |names| names.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_INVENTORY_BYTES;

    #[test]
    fn full_table_counts_known_hosts_only() {
        let (mut hosts, mut memory) = (HashMap::<usize, u8>::default(), Memory::default());
        for host in 0..MAX_INVENTORY_HOSTS {
            assert!(record(&mut hosts, host, &mut memory).is_ok());
        }
        assert!(record(&mut hosts, MAX_INVENTORY_HOSTS, &mut memory).is_err());
        assert!(record(&mut hosts, 0, &mut memory).is_ok());
    }

    #[test]
    fn full_memory_shares_known_values_only() {
        let (mut values, mut memory) = (HashSet::default(), Memory::default());
        let first = interned(&mut values, "first", 5, &mut memory).unwrap();
        memory.take(MAX_INVENTORY_BYTES - 5).unwrap();
        assert!(interned(&mut values, "other", 5, &mut memory).is_err());
        assert!(Arc::ptr_eq(&first, &interned(&mut values, "first", 5, &mut memory).unwrap()));
    }
}
