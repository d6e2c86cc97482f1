//! The ClientHellos of QUIC clients, from the datagrams of a server's socket.

#[cfg(feature = "quinn")]
mod quinn;

use std::collections::HashMap;
use std::hash::RandomState;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use arrayvec::ArrayVec;
use hashlink::LinkedHashMap;
use huginn_net::tls::quic::{ClientInitials, InitialIds, QuicError};
use huginn_net::tls::{ClientHello, TlsError};

use crate::MAX_QUIC_BYTES;

/// Finds the ClientHellos of the QUIC clients of a UDP socket, until the server takes them. Cheap to clone; clones share
/// what they found.
///
/// It decrypts Initial packets only, whose keys everybody can derive (RFC 9001, section 5.2). Hellos may span datagrams, be
/// reordered and be repeated. Datagrams without an Initial packet cost one comparison.
///
/// Memory is bounded: beyond [`MAX_QUIC_BYTES`], the connections that began first are forgotten. A fingerprint is then
/// absent; the connection itself is not affected.
///
/// ```
/// use huginn_net_proxy::QuicHellos;
///
/// # let datagram = include_bytes!(concat!(
/// #     env!("CARGO_MANIFEST_DIR"),
/// #     "/../huginn-net-tls/src/quic/testdata/rfc9001-a2-client-initial.bin"
/// # ));
/// # let connection_id = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
/// let client = "192.0.2.1:50000".parse()?;
/// let hellos = QuicHellos::new();
/// // Each datagram that the socket receives.
/// hellos.push(client, datagram);
/// // When the handshake is complete: the connection id that the client chose for its first packet.
/// let hello = hellos.take(client, &connection_id).expect("a hello");
/// assert_eq!(hello.server_name(), Some(&b"example.com"[..]));
/// assert!(hello.ja4().to_string().starts_with('q'));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuicHellos(Arc<Mutex<Connections>>);

impl QuicHellos {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::with_limit(MAX_QUIC_BYTES)
    }

    /// Creates an empty table with this limit of memory, in bytes.
    pub fn with_limit(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Connections::new(bytes))))
    }

    /// Reads the next datagram (the UDP payload) that a client sent to the server. Damaged datagrams are ignored.
    pub fn push(&self, client: SocketAddr, datagram: &[u8]) {
        if let Some(ids) = InitialIds::from_datagram(datagram) {
            self.with(|connections| connections.push(client, ids, datagram));
        }
    }

    /// Takes the ClientHello of a connection, the first one if the server requested a second. `None` if it is incomplete,
    /// was taken before, or was forgotten.
    ///
    /// `original_id` is the destination connection id of the client's very first packet, before a Retry: the transport
    /// parameter `original_destination_connection_id` (RFC 9000, section 18.2), which quinn returns as
    /// `Incoming::orig_dst_cid`.
    pub fn take(&self, client: SocketAddr, original_id: &[u8]) -> Option<ClientHello<'static>> {
        let original = connection_id(original_id)?;
        self.with(|connections| connections.take((client, original)))
    }

    /// Memory of the table, in bytes; at most the limit.
    pub fn buffered_bytes(&self) -> usize {
        self.with(|connections| connections.bytes)
    }

    fn with<T>(&self, call: impl FnOnce(&mut Connections) -> T) -> T {
        call(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for QuicHellos {
    fn default() -> Self {
        Self::new()
    }
}

/// Connection ids have up to 20 bytes (RFC 9000, section 17.2).
type ConnectionId = ArrayVec<u8, 20>;

type Key = (SocketAddr, ConnectionId);

#[derive(Debug)]
struct Connections {
    /// By address and original destination id, the oldest first.
    connections: LinkedHashMap<Key, Connection, RandomState>,
    /// The original destination id by address and the id that the client chose for itself, which all its packets have.
    originals: HashMap<Key, ConnectionId>,
    /// Memory of all connections.
    bytes: usize,
    limit: usize,
}

#[derive(Debug)]
struct Connection {
    /// The id that the client chose for itself.
    source: ConnectionId,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Reading(Box<ClientInitials>),
    Complete(Box<ClientHello<'static>>),
}

impl Connections {
    fn new(limit: usize) -> Self {
        Self {
            connections: LinkedHashMap::with_hasher(RandomState::new()),
            originals: HashMap::new(),
            bytes: 0,
            limit,
        }
    }

    fn push(&mut self, client: SocketAddr, ids: InitialIds<'_>, datagram: &[u8]) {
        let (Some(destination), Some(source)) = (connection_id(ids.destination), connection_id(ids.source))
        else {
            return;
        };
        let key = (client, destination);
        if self.connections.contains_key(&key) {
            return self.continue_connection(&key, datagram);
        }
        // After the server's first answer, the client writes the id that the server chose.
        if let Some(original) = self.originals.get(&(client, source.clone())) {
            let key = (client, original.clone());
            if matches!(self.connections.get(&key), Some(Connection { progress: Progress::Reading(_), .. })) {
                return self.continue_connection(&key, datagram);
            }
        }
        let mut connection = Connection { source, progress: Progress::Reading(Box::default()) };
        // The keys derive from the destination id of a client's first packet, and only of that one.
        if connection.push(datagram) != Err(TlsError::Quic(QuicError::Sealed)) {
            self.insert(key, connection);
        }
    }

    fn continue_connection(&mut self, key: &Key, datagram: &[u8]) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let before = connection.memory();
        // A damaged or forged packet hides nothing.
        let _ = connection.push(datagram);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(connection.memory());
        if connection.has_given_up() {
            self.remove(key);
        }
        self.forget_beyond_limit();
    }

    fn insert(&mut self, key: Key, connection: Connection) {
        self.bytes = self.bytes.saturating_add(connection.memory());
        self.originals.insert((key.0, connection.source.clone()), key.1.clone());
        self.connections.insert(key, connection);
        self.forget_beyond_limit();
    }

    fn forget_beyond_limit(&mut self) {
        while self.bytes > self.limit {
            let Some((oldest, _)) = self.connections.front() else { return };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Connection> {
        let connection = self.connections.remove(key)?;
        self.bytes = self.bytes.saturating_sub(connection.memory());
        let source = (key.0, connection.source.clone());
        // A later connection may have the same id.
        if self.originals.get(&source) == Some(&key.1) {
            self.originals.remove(&source);
        }
        Some(connection)
    }

    fn take(&mut self, key: Key) -> Option<ClientHello<'static>> {
        match self.connections.get(&key)?.progress {
            Progress::Reading(_) => None,
            Progress::Complete(_) => match self.remove(&key)?.progress {
                Progress::Complete(hello) => Some(*hello),
                Progress::Reading(_) => None,
            },
        }
    }
}

impl Connection {
    fn push(&mut self, datagram: &[u8]) -> Result<(), TlsError> {
        if let Progress::Reading(reader) = &mut self.progress
            && let Some(hello) = reader.push(datagram)?
        {
            self.progress = Progress::Complete(Box::new(hello));
        }
        Ok(())
    }

    fn has_given_up(&self) -> bool {
        matches!(&self.progress, Progress::Reading(reader) if reader.has_given_up())
    }

    /// Memory of the connection with its places in both maps, which may be half empty.
    fn memory(&self) -> usize {
        const PLACES: usize = 2 * (size_of::<(Key, Connection)>() + size_of::<(Key, ConnectionId)>());
        PLACES.saturating_add(match &self.progress {
            Progress::Reading(reader) => size_of::<ClientInitials>().saturating_add(reader.buffered_bytes()),
            Progress::Complete(hello) => size_of::<ClientHello<'_>>().saturating_add(hello.message().len()),
        })
    }
}

fn connection_id(bytes: &[u8]) -> Option<ConnectionId> {
    bytes.try_into().ok()
}
