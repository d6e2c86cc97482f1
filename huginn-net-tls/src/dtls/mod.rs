//! Hellos in datagrams of DTLS 1.0, 1.2 and 1.3 (RFC 4347, RFC 6347, RFC 9147).

mod fragment;
mod joiner;
mod record;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use huginn_net_core::{Cursor, Interest, Side};

use crate::Transport;
use crate::hello::Hello;
use fragment::Fragment;
use joiner::HelloJoiner;
use record::Record;

/// Who sent this datagram, if it begins with a fragment of a hello in the clear, or of a HelloVerifyRequest.
pub(crate) fn hello_sender(payload: &[u8]) -> Option<Side> {
    let Record::Handshake(fragments) = record::next(&mut Cursor::new(record::within(payload)))? else {
        return None;
    };
    fragment::next(&mut Cursor::new(fragments))?.sender()
}

/// Joins the hellos of an association from the datagrams of both sides.
///
/// Each hello is handed on once, however often it is sent: the client's first, and the one with the cookie that the
/// server asked for. Another `random` with a message number that has been is another handshake on the same ports
/// (RFC 6347, section 4.2.8), and starts from nothing.
#[derive(Debug, Default)]
pub(crate) struct DtlsFlow {
    client: HelloJoiner,
    server: HelloJoiner,
}

impl DtlsFlow {
    /// Takes the next datagram and hands on the hellos that are now whole, and whether each is a client's second one.
    ///
    /// `refused` counts the fragments that cannot be held. There is no further interest once both sides have said
    /// hello, or one that has begins to encrypt.
    pub(crate) fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        refused: &mut u64,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) -> Interest {
        let mut records = Cursor::new(record::within(payload));
        while let Some(record) = record::next(&mut records) {
            match record {
                Record::Handshake(fragments) => {
                    let mut fragments = Cursor::new(fragments);
                    while let Some(fragment) = fragment::next(&mut fragments) {
                        self.on_fragment(&fragment, sender, refused, found);
                    }
                }
                Record::Encrypted if self.said_hello(sender) => return Interest::Done,
                Record::Encrypted | Record::EarlyData | Record::Other => {}
            }
        }
        match self.said_hello(Side::Client) && self.said_hello(Side::Server) {
            true => Interest::Done,
            false => Interest::More,
        }
    }

    /// The memory that messages not yet whole take up, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.client.held().saturating_add(self.server.held())
    }

    fn on_fragment(
        &mut self,
        fragment: &Fragment<'_>,
        sender: Side,
        refused: &mut u64,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) {
        if !fragment.has_part_of_hello() || fragment.sender() != Some(sender) {
            return;
        }
        if self.joiner(sender).is_of_another_handshake(fragment) {
            match sender {
                Side::Client => *self = Self::default(),
                Side::Server => self.server = HelloJoiner::default(),
            }
        }
        let joiner = self.joiner(sender);
        let Some(message) = joiner.push(fragment, refused) else { return };
        let Ok(hello) = Hello::from_message(&message, Transport::Dtls) else { return };
        let retry = match &hello {
            Hello::Client(hello) => fragment.message_seq > 0 || !hello.cookie().is_empty(),
            Hello::Server(_) => false,
        };
        joiner.said_hello = !matches!(&hello, Hello::Server(hello) if hello.is_retry_request());
        found(sender, hello, retry);
    }

    fn joiner(&mut self, side: Side) -> &mut HelloJoiner {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn said_hello(&self, side: Side) -> bool {
        match side {
            Side::Client => self.client.said_hello,
            Side::Server => self.server.said_hello,
        }
    }
}
