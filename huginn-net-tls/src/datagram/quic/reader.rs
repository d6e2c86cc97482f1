//! Reads the ClientHello from the datagrams of a QUIC client.

use std::collections::VecDeque;

use huginn_net_wire::{Progress, Side};

use super::connection::{Connection, Found, Scratch};
use super::packet::{Initial, Packet, Packets};
use super::{QuicClient, QuicError};
use crate::limits::{
    MAX_INITIAL_PACKETS, MAX_UNDECRYPTED, MAX_UNDECRYPTED_PER_DATAGRAM, MIN_CLIENT_DATAGRAM_LEN,
};
use crate::{ClientHello, TlsError, Transport};

/// Finds the ClientHello in the datagrams of the client of one QUIC connection. Later datagrams may be reordered.
///
/// The keys derive from the first Initial packet, which begins its datagram (RFC 9001, section 5.2). Until the hello is
/// complete, the reader skips packets that these keys do not decrypt, packets with another version or source connection id,
/// repeated packet numbers, and datagrams of less than 1,200 bytes, which servers must discard (RFC 9000, section 14.1).
/// After a Retry, the keys are new: begin with a new reader.
///
/// A client can nevertheless make the reader and the server see different hellos, by packets that the server discards for
/// reasons of its own. If the TLS library of a server shows the ClientHello, prefer that.
///
/// ```
/// use huginn_net_tls::quic::ClientInitials;
///
/// // The datagram of RFC 9001, appendix A.2.
/// let datagram = include_bytes!(concat!(
///     env!("CARGO_MANIFEST_DIR"),
///     "/hellos/rfc9001-a2-client-initial.bin"
/// ));
/// let mut initials = ClientInitials::new();
/// if let Some(hello) = initials.push(datagram)?.value() {
///     assert_eq!(hello.server_name(), Some(&b"example.com"[..]));
///     assert_eq!(hello.alpn().next(), Some(&b"alpn"[..]));
/// }
/// # assert!(!ClientInitials::new().push(datagram)?.needs_more());
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Debug, Default)]
pub struct ClientInitials {
    connection: Option<Box<Connection>>,
    /// Initial packets of the connection, and those before it that were not decrypted.
    packets: u16,
    sealed: u16,
    /// Packet numbers of the connection, until the hello is complete.
    numbers: Vec<u64>,
    scratch: Scratch,
    /// Hellos found but not returned yet.
    hellos: VecDeque<Result<ClientHello<'static>, TlsError>>,
}

impl ClientInitials {
    /// Creates a reader for a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the next datagram (the UDP payload), all of which is consumed. Returns the ClientHello when it is complete; later a second one, if the
    /// server requested it.
    ///
    /// If a datagram completes two hellos, the next call returns the second one, even for an empty datagram.
    ///
    /// # Errors
    /// [`TlsError`] if a packet of the datagram is invalid, or a hello is malformed. Later datagrams may succeed
    /// unless the reader [has given up](Self::has_given_up).
    pub fn push(&mut self, datagram: &[u8]) -> Result<Progress<ClientHello<'static>>, TlsError> {
        let outcome = if self.has_given_up() || datagram.len() < MIN_CLIENT_DATAGRAM_LEN {
            Ok(())
        } else {
            self.read(datagram)
        };
        match self.hellos.pop_front() {
            Some(hello) => Ok(Progress::complete(hello?, datagram.len())),
            None => outcome.map(|()| Progress::NeedMore),
        }
    }

    /// What the Initial packets so far show beside the hello: version, lengths of the connection ids and the token, sizes of
    /// datagrams. `None` until a packet was decrypted.
    pub fn client(&self) -> Option<&QuicClient> {
        self.connection.as_ref()?.quic_client()
    }

    /// Heap memory of the reader, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        let connection = self.connection.as_ref();
        let connection = connection
            .map_or(0, |connection| size_of::<Connection>().saturating_add(connection.buffered_bytes()));
        let hellos = self.hellos.iter().map(|hello| hello.as_ref().map_or(0, |hello| hello.message().len()));
        let numbers = self.numbers.capacity().saturating_mul(size_of::<u64>());
        connection
            .saturating_add(self.scratch.buffered_bytes())
            .saturating_add(numbers)
            .saturating_add(hellos.sum())
    }

    /// Whether the reader ignores all further datagrams: hundreds of packets yielded no ClientHello, or none of the first
    /// packets could be decrypted.
    pub fn has_given_up(&self) -> bool {
        let has_hello = self.connection.as_ref().is_some_and(|connection| connection.has_client_hello());
        !has_hello && (self.packets >= MAX_INITIAL_PACKETS || self.sealed >= MAX_UNDECRYPTED)
    }

    /// Reads the packets of a datagram. Returns the last error.
    fn read(&mut self, datagram: &[u8]) -> Result<(), TlsError> {
        let (mut outcome, mut sealed) = (Ok(()), 0_u8);
        for (index, packet) in Packets::new(datagram).enumerate() {
            let read = match packet {
                Ok(Packet::Initial(packet)) => self.read_initial(&packet, index == 0),
                Ok(_) => continue,
                Err(error) => Err(error.into()),
            };
            sealed = sealed.saturating_add(u8::from(read == Err(QuicError::Sealed.into())));
            outcome = read.and(outcome);
            if self.has_given_up() {
                self.connection = None;
                return Err(QuicError::GivenUp { packets: self.packets, sealed: self.sealed }.into());
            }
            if sealed >= MAX_UNDECRYPTED_PER_DATAGRAM {
                break;
            }
        }
        outcome
    }

    fn read_initial(&mut self, packet: &Initial<'_>, is_first: bool) -> Result<(), TlsError> {
        if let Some(cut) = packet.cut {
            return Err(QuicError::Truncated(cut).into());
        }
        let (connection, opened) = match &mut self.connection {
            Some(connection) => {
                if !connection.has_client_hello() && !connection.continues_first_flight(packet) {
                    return Err(QuicError::Sealed.into());
                }
                let opened = connection.open(packet, Side::Client, &mut self.scratch);
                (connection, opened.ok_or(QuicError::Sealed)?)
            }
            // A server takes a datagram for one of the connection that its first packet names (RFC 9000, section 12.2).
            None if !is_first => return Err(QuicError::Sealed.into()),
            none => {
                let destination = packet.destination;
                let Some((connection, opened)) =
                    Connection::start(packet, Side::Client, destination, &mut self.scratch)
                else {
                    self.sealed = self.sealed.saturating_add(1);
                    return Err(QuicError::Sealed.into());
                };
                (none.insert(Box::new(connection)), opened)
            }
        };
        self.packets = self.packets.saturating_add(1);
        if !connection.has_client_hello() {
            if self.numbers.contains(&opened.number) {
                return Ok(());
            }
            self.numbers.push(opened.number);
        }
        let hellos = &mut self.hellos;
        connection.read(opened.frames(&self.scratch), Side::Client, None, &mut |found: Found<'_>| {
            let hello = ClientHello::parse_message(found.message, Transport::Quic);
            hellos.push_back(hello.map(ClientHello::into_owned));
        })
    }
}
