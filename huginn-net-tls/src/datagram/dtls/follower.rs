//! Follows a handshake after its hellos. What a lost, reordered or contradictory datagram leaves open is not reported.

use huginn_net_wire::Side;

use super::fragment::Fragment;
use super::messages::{FragmentError, Messages};
use super::record::{Content, Record};
use crate::counters::DatagramCounters;
use crate::event::{TlsCertificates, TlsEvent};
use crate::follower::{Follow, Follower};
use crate::hello::handshake::{CLIENT_HELLO, SERVER_HELLO, SERVER_HELLO_DONE};
use crate::hello::{ClientHello, Hello, ServerHello};
use crate::limits::MAX_DTLS_DATAGRAMS_AFTER_HELLO;
use crate::record::{ALERT, HANDSHAKE, Item};

/// Level of an alert (RFC 5246, section 7.2).
const FATAL: u8 = 2;

/// The state of a handshake from its first hello to its end.
#[derive(Debug, Default)]
pub(super) struct DtlsFollower {
    follower: Follower,
    client: Flight,
    server: Flight,
    /// `random` and server name of the ClientHello.
    offer: Option<Offer>,
    /// The lowest number of a record with the latest ClientHello.
    hello_record: Option<u64>,
    /// Whether a ClientHello with another content came before the end: the server may answer either.
    is_ambiguous: bool,
    /// Whether the server accepted a handshake.
    has_answered: bool,
    /// Whether the server encrypts all messages after its hello, as in DTLS 1.3.
    encrypts_handshake: bool,
    /// Whether all messages of the server are known that the end of the handshake reports.
    is_answer_known: bool,
    /// Whether the server sent an encrypted record of DTLS 1.3.
    has_encrypted_answer: bool,
    /// The records of the server since its hello, for a session that is resumed.
    records: RecordsSeen,
    encrypted_datagrams: u8,
    is_over: bool,
}

/// How a hello was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// The number of the message.
    pub(super) number: u16,
    /// The lowest number of its records.
    pub(super) record: u64,
    /// Whether it is a client's second one.
    pub(super) retry: bool,
    /// Whether another content was sent for it.
    pub(super) conflict: bool,
}

/// What a ClientHello has in common with its repetition with a cookie.
#[derive(Debug, PartialEq, Eq)]
struct Offer {
    random: Box<[u8]>,
    server_name: Option<Box<[u8]>>,
}

/// What one side sent after its hello.
#[derive(Debug, Default)]
struct Flight {
    messages: Messages,
    /// The number of the record with a ChangeCipherSpec.
    change_cipher_spec: Option<u64>,
    /// Whether it sent an encrypted handshake message.
    has_finished: bool,
    /// The number of the record with the last alert.
    last_alert: Option<u64>,
}

impl DtlsFollower {
    pub(super) fn new(follows: Follow) -> Self {
        Self { follower: Follower::new(follows), ..Self::default() }
    }

    /// Whether nothing further can be found.
    pub(super) fn is_over(&self) -> bool {
        self.is_over || self.follower.is_over
    }

    /// Returns the heap memory, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let offer = self.offer.as_ref().map_or(0, |offer| {
            offer.random.len().saturating_add(offer.server_name.as_ref().map_or(0, |name| name.len()))
        });
        size_of::<Self>()
            .saturating_add(offer)
            .saturating_add(self.follower.buffered_bytes().saturating_sub(size_of::<Follower>()))
            .saturating_add(self.client.messages.buffered_bytes())
            .saturating_add(self.server.messages.buffered_bytes())
    }

    /// Processes a hello.
    pub(super) fn on_hello(&mut self, hello: &Hello<'_>, received: &Received) {
        let sender = match hello {
            Hello::Client(hello) => {
                self.on_client_hello(hello, received);
                Side::Client
            }
            Hello::Server(hello) => {
                // Which of two answers the client accepts is unknown.
                self.is_over |= received.conflict || self.has_answered;
                self.on_server_hello(hello, received.number);
                Side::Server
            }
        };
        self.follower.on_hello(sender, hello);
    }

    fn on_client_hello(&mut self, hello: &ClientHello<'_>, received: &Received) {
        let Received { number, record, retry, conflict } = *received;
        let offer = Offer { random: hello.random().into(), server_name: hello.server_name().map(Into::into) };
        let is_other = self.offer.as_ref().is_some_and(|earlier| !retry || *earlier != offer);
        let is_ambiguous = self.is_ambiguous || conflict || is_other;
        if !retry || self.has_answered {
            *self = Self { follower: self.follower.renewed(), ..Self::default() };
        }
        (self.offer, self.is_ambiguous, self.hello_record) = (Some(offer), is_ambiguous, Some(record));
        self.client.messages.on_hello(number);
    }

    fn on_server_hello(&mut self, hello: &ServerHello<'_>, number: u16) {
        self.server.messages.on_hello(number);
        if !hello.is_retry_request() {
            self.has_answered = true;
            self.encrypts_handshake = hello.encrypts_handshake();
            self.is_answer_known = self.encrypts_handshake;
        }
    }

    /// Processes a record, before its messages.
    pub(super) fn on_record(
        &mut self,
        sender: Side,
        record: &Record<'_>,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        if sender == Side::Server && record.is_in_clear() && !record.is_cut {
            self.records.add(record);
        }
        let flight = sender.choose(&mut self.client, &mut self.server);
        match record.content {
            Content::ChangeCipherSpec if flight.messages.has_hello() => {
                flight.change_cipher_spec.get_or_insert(record.number);
            }
            // A sender that changed its keys sends no alert in the clear; a copy of the datagram repeats the number.
            Content::Alert(alert)
                if flight.change_cipher_spec.is_none() && flight.last_alert != Some(record.number) =>
            {
                flight.last_alert = Some(record.number);
                if self.has_answered || sender == Side::Server && self.is_first_answer(record) {
                    self.emit(sender, &Item::Alert(alert), emit);
                } else {
                    // A ServerHello was lost, or comes later.
                    self.is_over |= matches!(alert, [FATAL, _]);
                }
            }
            Content::Handshake(_) if sender == Side::Client && record.starts(CLIENT_HELLO) => {
                self.hello_record = self.hello_record.map(|number| number.min(record.number));
            }
            Content::Encrypted { kind: HANDSHAKE, .. } => flight.has_finished |= flight.messages.has_hello(),
            // The first encrypted record has the Finished message, unless the handshake failed.
            Content::Encrypted { kind: ALERT, epoch: 1 }
                if record.number == 0 && flight.change_cipher_spec.is_some() && !flight.has_finished =>
            {
                self.emit(sender, &Item::Encrypted(ALERT, 0), emit);
            }
            Content::Unified { epoch_bits } => self.on_unified(sender, epoch_bits, emit),
            _ => {}
        }
    }

    /// Whether no ServerHello can precede this record of the server, which takes the record number of the ClientHello for its
    /// first answer (RFC 6347, section 4.2.1). With the number of a retransmission, it may follow an answer to an earlier copy.
    fn is_first_answer(&self, record: &Record<'_>) -> bool {
        self.hello_record == Some(record.number) && self.server.messages.is_empty()
    }

    /// Processes a record of DTLS 1.3. The keys of a handshake have epoch 2, those of application data epoch 3, which a client
    /// uses after its Finished message (RFC 9147, section 6.1).
    fn on_unified(&mut self, sender: Side, epoch_bits: u8, emit: &mut impl FnMut(Side, TlsEvent)) {
        const HANDSHAKE_EPOCH: u8 = 2;
        const APPLICATION_EPOCH: u8 = 3;
        if !self.encrypts_handshake {
            return;
        }
        match (sender, epoch_bits) {
            (Side::Server, HANDSHAKE_EPOCH) => self.has_encrypted_answer = true,
            (Side::Client, APPLICATION_EPOCH) if self.has_encrypted_answer => {
                self.emit(sender, &Item::Finished, emit);
            }
            _ => {}
        }
    }

    /// Counts a datagram that starts with encrypted data. The end of the handshake was lost if many follow the hellos.
    pub(super) fn on_encrypted_datagram(&mut self) {
        if self.has_answered {
            self.encrypted_datagrams = self.encrypted_datagrams.saturating_add(1);
            self.is_over |= self.encrypted_datagrams > MAX_DTLS_DATAGRAMS_AFTER_HELLO;
        }
    }

    /// Processes a fragment of another message than a hello.
    pub(super) fn on_fragment(
        &mut self,
        sender: Side,
        fragment: &Fragment<'_>,
        counters: &mut DatagramCounters,
    ) {
        let flight = sender.choose(&mut self.client, &mut self.server);
        if let Err(error) = flight.messages.push(fragment) {
            counters.refused = counters.refused.saturating_add(1);
            self.is_over |= error == FragmentError::Unusable;
        }
    }

    /// Processes what is complete, after the records of a datagram.
    pub(super) fn advance(&mut self, emit: &mut impl FnMut(Side, TlsEvent)) {
        for sender in [Side::Server, Side::Client] {
            while !self.is_over()
                && let Some(message) = sender.choose(&mut self.client, &mut self.server).messages.pop()
            {
                self.is_answer_known |= sender == Side::Server && message.first() == Some(&SERVER_HELLO_DONE);
                self.emit(sender, &Item::Message(&message), emit);
            }
        }
        // Without a message in between, the server resumes a session.
        if self.has_answered
            && !self.is_answer_known
            && self.server.messages.is_empty()
            && self.server.change_cipher_spec.is_some_and(|number| self.records.has_all_until(number))
        {
            self.is_answer_known = true;
            self.emit(Side::Server, &Item::ChangeCipherSpec, emit);
        }
        if self.is_answer_known && self.client.is_complete() && self.server.is_complete() {
            for sender in [Side::Server, Side::Client] {
                self.emit(sender, &Item::Encrypted(HANDSHAKE, 0), emit);
            }
        }
    }

    /// Hands an item to the follower, and its events on if they are certain.
    fn emit(&mut self, sender: Side, item: &Item<'_>, emit: &mut impl FnMut(Side, TlsEvent)) {
        if self.is_over() {
            return;
        }
        let is_certain = !self.is_ambiguous && (self.is_answer_known || !self.has_answered);
        let is_ambiguous = self.is_ambiguous;
        self.follower.on_item(sender, item, &mut |side, event| match event {
            TlsEvent::Handshake(_) if !is_certain => {}
            TlsEvent::Certificates(found) if is_ambiguous => {
                emit(side, TlsEvent::Certificates(TlsCertificates { server_name: None, ..found }));
            }
            event => emit(side, event),
        });
    }
}

impl Flight {
    /// Whether the side sent its Finished message.
    fn is_complete(&self) -> bool {
        self.change_cipher_spec.is_some() && self.has_finished
    }
}

/// Which records a side sent in the clear, from the one with its hello on.
#[derive(Debug, Default)]
struct RecordsSeen {
    /// The number of the record with the start of the hello.
    first: Option<u64>,
    /// A bit for each of the records from that one on.
    seen: u64,
}

impl RecordsSeen {
    fn add(&mut self, record: &Record<'_>) {
        if self.first != Some(record.number) && record.starts(SERVER_HELLO) {
            *self = Self { first: Some(record.number), seen: 0 };
        }
        if let Some(bit) = self.bit(record.number) {
            self.seen |= bit;
        }
    }

    /// Whether all records until this one were captured.
    fn has_all_until(&self, number: u64) -> bool {
        self.bit(number).is_some_and(|bit| {
            let until = bit | bit.wrapping_sub(1);
            self.seen & until == until
        })
    }

    fn bit(&self, number: u64) -> Option<u64> {
        let place = number.checked_sub(self.first?)?;
        1_u64.checked_shl(u32::try_from(place).ok()?)
    }
}
