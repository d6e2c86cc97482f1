//! Reads the ClientHello from the datagrams of a QUIC client.

use std::collections::VecDeque;

use huginn_net_wire::Side;

use super::flow::{Found, QuicFlow};
use crate::{ClientHello, TlsError, Transport};

/// Finds the ClientHello in the datagrams of a QUIC client, which may be reordered.
///
/// ```
/// use huginn_net_tls::quic::ClientInitials;
///
/// // The datagram of RFC 9001, appendix A.2.
/// let datagram = include_bytes!(concat!(
///     env!("CARGO_MANIFEST_DIR"),
///     "/src/quic/testdata/rfc9001-a2-client-initial.bin"
/// ));
/// let mut initials = ClientInitials::new();
/// if let Some(hello) = initials.push(datagram)? {
///     assert_eq!(hello.server_name(), Some(&b"example.com"[..]));
///     assert_eq!(hello.alpn().next(), Some(&b"alpn"[..]));
/// }
/// # assert!(ClientInitials::new().push(datagram)?.is_some());
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Debug, Default)]
pub struct ClientInitials {
    flow: QuicFlow,
    scratch: Vec<u8>,
    /// Hellos found but not returned yet.
    hellos: VecDeque<Result<ClientHello<'static>, TlsError>>,
}

impl ClientInitials {
    /// Creates a reader for a new client.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the next datagram (the UDP payload). Returns the ClientHello when it is complete; later a second one, if the
    /// server requested it, and the hellos of further connections.
    ///
    /// If a datagram completes two hellos, the next call returns the second one, even for an empty datagram.
    ///
    /// # Errors
    /// [`TlsError`] if a packet of the datagram is invalid, or a hello is malformed. Later datagrams may succeed
    /// unless the reader [has given up](Self::has_given_up).
    pub fn push(&mut self, datagram: &[u8]) -> Result<Option<ClientHello<'static>>, TlsError> {
        let mut failure = None;
        let hellos = &mut self.hellos;
        self.flow.take(
            datagram,
            Side::Client,
            &mut self.scratch,
            &mut |outcome| failure = outcome.err().or(failure),
            &mut |found: Found<'_>| {
                let hello = ClientHello::parse_message(found.message, Transport::Quic);
                hellos.push_back(hello.map(ClientHello::into_owned));
            },
        );
        match (self.hellos.pop_front(), failure) {
            (Some(hello), _) => hello.map(Some),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// Heap memory of the reader, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        let hellos = self.hellos.iter().map(|hello| hello.as_ref().map_or(0, |hello| hello.message().len()));
        self.flow.buffered_bytes().saturating_add(self.scratch.capacity()).saturating_add(hellos.sum())
    }

    /// Whether to stop waiting for a ClientHello: hundreds of packets yielded none, too many in a row could not be
    /// decrypted (as an error of [`push`](Self::push) reported), or the limit of hellos was reached.
    ///
    /// The first packet of another connection resets this.
    pub fn has_given_up(&self) -> bool {
        self.flow.has_given_up()
    }
}
