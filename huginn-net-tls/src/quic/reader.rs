//! From the datagrams of a QUIC client to its ClientHello.

use std::collections::VecDeque;

use huginn_net_wire::Side;

use super::flow::{Found, QuicFlow};
use crate::{ClientHello, TlsError, Transport};

/// Finds the ClientHello in the datagrams of a QUIC client, in whatever order they come.
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
    /// What was found and not yet returned.
    hellos: VecDeque<Result<ClientHello<'static>, TlsError>>,
}

impl ClientInitials {
    /// A client of which nothing has been seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next datagram, the payload of UDP. Returns the ClientHello once it is whole, and `None` while it
    /// is not; then a second one, if the server asked for it, and those of further connections.
    ///
    /// Where a datagram makes two hellos whole, the next call returns the second: an empty datagram will do.
    ///
    /// # Errors
    /// A packet in the datagram that cannot be read, or a hello that is malformed. The next datagram may be
    /// better, unless it [has given up](Self::has_given_up).
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

    /// Whether it is time to stop waiting for a ClientHello: hundreds of packets made none, or a row of them could not
    /// be opened, as an error of [`push`](Self::push) said; or as many hellos were found as are in any flow.
    ///
    /// The first packet of another connection changes that.
    pub fn has_given_up(&self) -> bool {
        self.flow.has_given_up()
    }
}
