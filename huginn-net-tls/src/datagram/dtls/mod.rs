//! Hellos, certificates and handshakes in datagrams of DTLS 1.0, 1.2 and 1.3 (RFC 4347, RFC 6347, RFC 9147).

mod follower;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod follower_tests;
mod fragment;
mod joiner;
mod messages;
mod record;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use huginn_net_core::{Conflict, Origin};
use huginn_net_wire::{Cursor, Side};
use smallvec::SmallVec;

use super::found::Found;
use crate::Transport;
use crate::counters::DatagramCounters;
use crate::follower::Follow;
use crate::hello::{ClientHello, Hello};
use crate::limits::MAX_NEW_COPIES;
use follower::{DtlsFollower, Received};
use fragment::Fragment;
use joiner::HelloJoiner;
use record::Content;

/// The sender of this datagram, if it starts with a fragment of an unencrypted hello or HelloVerifyRequest.
pub(crate) fn hello_sender(payload: &[u8]) -> Option<Side> {
    let record = record::next(&mut Cursor::new(record::within(payload)))?;
    let Content::Handshake(fragments) = record.content else { return None };
    fragment::next(&mut Cursor::new(fragments))?.sender()
}

/// Reassembles the hellos of an association from the datagrams of both sides.
///
/// Each hello is emitted once, without retransmissions: the client's first, and the one with the requested cookie. A
/// known message number with another `random` starts another handshake on the same ports (RFC 6347, section 4.2.8).
#[derive(Debug, Default)]
pub(crate) struct DtlsFlow {
    client: HelloJoiner,
    server: HelloJoiner,
    /// Whether handshakes are followed after the hellos.
    follows: Follow,
    /// The handshake after the hellos, if it is followed and not over.
    follower: Option<Box<DtlsFollower>>,
    /// Whether the handshake is over: no hello continues it.
    has_ended: bool,
    /// The ClientHellos of the handshake, or of the one that is over.
    offered: Offered,
}

/// What distinguishes the ClientHellos of a handshake: the end of their `random`.
#[derive(Debug, Default)]
struct Offered {
    known: [[u8; 4]; 4],
    count: u8,
}

impl Offered {
    fn add(&mut self, hello: &ClientHello<'_>) {
        let random = end_of_random(hello);
        if !self.may_have(random) {
            if let Some(slot) = self.known.get_mut(usize::from(self.count)) {
                *slot = random;
            }
            self.count = self.count.saturating_add(1);
        }
    }

    /// Whether a hello with this end of its `random` is one of these. If there were more than are kept, it may be.
    fn may_have(&self, random: [u8; 4]) -> bool {
        let count = usize::from(self.count);
        self.known.get(..count).is_none_or(|known| known.contains(&random))
    }
}

fn end_of_random(hello: &ClientHello<'_>) -> [u8; 4] {
    hello.random().last_chunk().copied().unwrap_or_default()
}

impl DtlsFlow {
    /// Creates a flow that follows handshakes after the hellos, or not.
    pub(crate) fn new(follows: Follow) -> Self {
        Self { follows, ..Self::default() }
    }

    /// Parses the next datagram. Emits complete hellos, with whether each is a client's second one, and what follows them if
    /// handshakes are followed.
    pub(crate) fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Origin, Found<'_>),
    ) {
        if record::is_encrypted(payload) {
            let Some(follower) = &mut self.follower else { return };
            follower.on_encrypted_datagram();
        }
        let mut records = Cursor::new(record::within(payload));
        let mut copies = MAX_NEW_COPIES;
        while let Some(record) = record::next(&mut records) {
            if let Some(follower) = &mut self.follower {
                follower.on_record(sender, &record, &mut |side, event| {
                    found(side.into(), Found::Followed(event))
                });
            }
            let Content::Handshake(fragments) = record.content else { continue };
            let mut fragments = Cursor::new(fragments);
            while let Some(fragment) = fragment::next(&mut fragments) {
                if fragment.is_no_hello_start() {
                    counters.malformed = counters.malformed.saturating_add(1);
                } else if fragment.has_part_of_hello() && fragment.sender() == Some(sender) {
                    self.on_fragment(&fragment, sender, record.number, &mut copies, counters, found);
                } else if fragment.sender().is_none()
                    && let Some(follower) = &mut self.follower
                {
                    follower.on_fragment(sender, &fragment, counters);
                }
            }
        }
        if let Some(follower) = &mut self.follower {
            follower.advance(&mut |side, event| found(side.into(), Found::Followed(event)));
            self.has_ended |= self.follower.take_if(|follower| follower.is_over()).is_some();
        }
    }

    /// Hands a hello to the follower. After the end of a handshake, only another first ClientHello begins one: which handshake a
    /// further ServerHello or a repeated ClientHello belongs to is unknown.
    fn follow_hello(&mut self, hello: &Hello<'_>, received: &Received) {
        if self.has_ended {
            let Hello::Client(hello) = hello else { return };
            if received.retry || received.conflict || self.offered.may_have(end_of_random(hello)) {
                return;
            }
            (self.has_ended, self.offered) = (false, Offered::default());
        }
        if let Hello::Client(hello) = hello {
            self.offered.add(hello);
        }
        let follows = self.follows;
        let follower = self.follower.get_or_insert_with(|| Box::new(DtlsFollower::new(follows)));
        follower.on_hello(hello, received);
    }

    /// Returns the memory used by incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let follower = self.follower.as_ref().map_or(0, |follower| follower.buffered_bytes());
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes()).saturating_add(follower)
    }

    fn on_fragment(
        &mut self,
        fragment: &Fragment<'_>,
        sender: Side,
        record: u64,
        copies: &mut u8,
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Origin, Found<'_>),
    ) {
        let joiner = sender.choose(&mut self.client, &mut self.server);
        let mut messages = SmallVec::<[(Vec<u8>, bool, u64); 1]>::new();
        if !joiner.push(fragment, record, copies, &mut |message, conflict, record| {
            messages.push((message, conflict, record));
        }) {
            counters.refused = counters.refused.saturating_add(1);
        }
        for (message, conflict, record) in messages {
            let Ok(hello) = Hello::from_message(&message, Transport::Dtls) else {
                counters.malformed = counters.malformed.saturating_add(1);
                continue;
            };
            let retry = match &hello {
                Hello::Client(hello) => fragment.message_seq > 0 || !hello.cookie().is_empty(),
                Hello::Server(hello) => {
                    if !hello.is_retry_request() {
                        self.client.release();
                        self.server.release();
                    }
                    false
                }
            };
            if sender == Side::Client && !retry {
                // All HelloRetryRequests have the same `random`.
                self.server = HelloJoiner::default();
            }
            if self.follows.is_on() {
                let received = Received { number: fragment.message_seq, record, retry, conflict };
                self.follow_hello(&hello, &received);
            }
            let conflict = conflict.then_some(Conflict::Content);
            found(Origin { conflict, ..sender.into() }, Found::Hello { hello, retry });
        }
    }
}
