//! TLS over a stream: records of both sides to plaintext.

mod cbc;
pub(crate) mod cipher;
pub(crate) mod compressed;
pub(crate) mod derive;
pub(crate) mod hello;
mod keys;
pub(crate) mod messages;
mod sessions;
mod side;
pub(crate) mod suite;
#[cfg(test)]
mod tests;

use huginn_net_wire::Side;
use zeroize::Zeroizing;

pub use self::compressed::decompress_certificate;

use self::cipher::RecordCipher;
use self::hello::{ClientHello, ServerHello};
pub use self::sessions::SessionReader;
use self::side::{HEADER_LEN, SideState};
use self::suite::Suite;
use crate::limits::{MAX_PREAMBLE_BYTES, MAX_REFUSED_RECORDS, MAX_WAITING_BYTES};
use crate::secrets::Waiting;
use crate::{SecretLabel, Secrets};

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const END_OF_EARLY_DATA: u8 = 5;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const FINISHED: u8 = 20;
const KEY_UPDATE: u8 = 24;

/// Number of bytes that are buffered at once.
const PIECE_LEN: usize = 16 * 1024;

const TLS_1_2: u16 = 0x0303;
const TLS_1_3: u16 = 0x0304;

/// Receives the plaintext of a connection.
pub trait PlaintextReader {
    /// Receives the next bytes of the application that a side sent.
    fn on_data(&mut self, side: Side, bytes: &[u8]);

    /// Returns the number of next bytes of a side whose values do not matter, such as the rest of a body. Records within them
    /// are not decrypted, where the cipher permits it, and [skipped](Self::skip) instead.
    fn skippable(&self, _side: Side) -> u64 {
        0
    }

    /// Skips `len` of the [skippable](Self::skippable) bytes.
    fn skip(&mut self, _side: Side, _len: u64) {}

    /// Whether bytes of a side are still read. Without, its records are not decrypted.
    fn reads(&self, _side: Side) -> bool {
        true
    }

    /// Receives an encrypted handshake message of TLS 1.3: its type and body. The first CompressedCertificate message of a side
    /// (RFC 8879) is decompressed to a Certificate message of up to 64 KiB.
    fn on_handshake(&mut self, _side: Side, _kind: u8, _body: &[u8]) {}

    /// Handles that an encrypted handshake message of TLS 1.3, of this type, is longer than 64 KiB, also once decompressed: it is not
    /// read.
    fn on_long_handshake(&mut self, _side: Side, _kind: u8) {}

    /// Receives an encrypted alert of TLS 1.3: its level and description.
    fn on_alert(&mut self, _side: Side, _alert: [u8; 2]) {}

    /// Handles that the server rejected the early data that were received: the client sends them again, or something else.
    fn on_early_data_rejected(&mut self) {}
}

huginn_net_wire::named! {
    /// Why a connection is no longer decrypted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Stop {
        /// No ClientHello came within the first bytes.
        NotTls = "no ClientHello",
        /// No secret of the connection is known.
        NoSecret = "no secret",
        /// A record is not authentic: the secret is wrong, or bytes are missing.
        NotAuthentic = "a record is not authentic",
        /// The version or the cipher suite is not supported.
        Unsupported = "a version or cipher suite that is not supported",
        /// Bytes that are not records.
        Malformed = "malformed records",
        /// The other side's hello did not come in time.
        NoHello = "the hello of a side is missing",
        /// Bytes of the stream are missing.
        Gap = "bytes are missing",
    }
}

impl std::error::Error for Stop {}

/// Decrypts one connection with TLS 1.2 or TLS 1.3.
#[derive(Debug, Default)]
pub struct TlsDecryptor {
    client: SideState,
    server: SideState,
    client_hello: Option<ClientHello>,
    server_hello: Option<(ServerHello, Suite)>,
    /// Whether early data were passed on.
    has_early_data: bool,
    /// Whether no further record has the keys of early data: their secret does not fit, or they ended.
    early_data_is_over: bool,
    /// Whether the server sent a HelloRetryRequest.
    has_retry: bool,
    /// Whether the client sent another hello.
    has_second_hello: bool,
    /// Bytes before the ClientHello.
    preamble: usize,
    /// Whether a secret of the connection is known.
    is_known: bool,
    /// Whether the keys of the handshake of TLS 1.3 are still to be set.
    begins_tls13: bool,
    /// Whether too many bytes waited, or for too long, so that the connection no longer waits for secrets that may come.
    has_given_up: bool,
    /// Whether the connection has ended.
    has_ended: bool,
    waiting: Waiting,
    decrypted: u64,
    stop: Option<Stop>,
}

impl TlsDecryptor {
    /// Expects a ClientHello. Other data may precede it, as with STARTTLS and proxies: then the ClientHello must begin a piece of
    /// the client's data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes of a side.
    ///
    /// # Errors
    /// If the connection cannot be decrypted further. Later calls fail in the same way.
    pub fn push(
        &mut self,
        side: Side,
        bytes: &[u8],
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
    ) -> Result<(), Stop> {
        if let Some(stop) = self.stop {
            return Err(stop);
        }
        if !self.side(side).begins(side, bytes) {
            self.preamble = self.preamble.saturating_add(bytes.len());
            let is_late = self.client_hello.is_none() && self.preamble > MAX_PREAMBLE_BYTES;
            return if is_late { Err(self.stop(Stop::NotTls)) } else { Ok(()) };
        }
        let outcome = bytes.chunks(PIECE_LEN).try_for_each(|piece| {
            self.side(side).push(piece);
            self.drain_both(side, secrets, reader)?;
            if self.waits_for_secret(secrets) {
                let unread = self.client.unread().saturating_add(self.server.unread());
                if !self.is_full() && self.waiting.set(unread, secrets) {
                    return Ok(());
                }
                self.has_given_up = true;
                self.drain_both(side, secrets, reader)?;
            }
            self.waiting.set(0, secrets);
            if self.is_full() { Err(Stop::NoHello) } else { Ok(()) }
        });
        outcome.map_err(|stop| self.stop(stop))
    }

    /// Reads the complete records of both sides, that of `first` first.
    fn drain_both(
        &mut self,
        first: Side,
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
    ) -> Result<(), Stop> {
        // After a wait, the handshake of the server comes first: it says whether it accepts early data, which the client sends before.
        if self.begins_tls13 {
            self.drain(Side::Server, secrets, reader, true)?;
        }
        // What one side sends may be what the other one waits for.
        [first, first.peer(), first].into_iter().try_for_each(|side| self.drain(side, secrets, reader, false))
    }

    /// Whether more bytes wait than may wait.
    fn is_full(&self) -> bool {
        [&self.client, &self.server].into_iter().any(|side| side.unread() > MAX_WAITING_BYTES)
    }

    /// Whether a secret that is not known may still come.
    fn may_wait(&self, secrets: &Secrets) -> bool {
        secrets.is_growing() && !self.has_given_up && !self.has_ended
    }

    /// Whether the connection waits for a secret that may still come.
    pub fn waits_for_secret(&self, secrets: &Secrets) -> bool {
        self.awaits_key() && self.stop.is_none() && self.may_wait(secrets)
    }

    fn awaits_key(&self) -> bool {
        self.begins_tls13 || self.client.awaits_key || self.server.awaits_key
    }

    /// Whether bytes that waited for a secret were too many, or waited for too long, so that the connection does not wait any longer.
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Ends the decryption, because bytes of the stream are missing: the number of records in them is unknown. First, it reads records
    /// that waited for a secret that has come since. Returns why it ended; [`Stop::NotTls`] if no ClientHello came before, and
    /// [`Stop::NoSecret`] if its secret is not known.
    pub fn gap(&mut self, secrets: &Secrets, reader: &mut impl PlaintextReader) -> Stop {
        let outcome =
            if self.stop.is_none() && self.awaits_key() { self.end_waiting(secrets, reader) } else { Ok(()) };
        self.stop(outcome.err().unwrap_or(Stop::Gap))
    }

    /// Ends the connection: reads records that waited for a secret that has come since. Returns why records that wait, for a secret or
    /// for the hello of the other side, were not decrypted, if there are any.
    pub fn end(&mut self, secrets: &Secrets, reader: &mut impl PlaintextReader) -> Option<Stop> {
        // Once no secret can come, what waited is still unread.
        let may_wait = self.may_wait(secrets) || self.awaits_key();
        if self.stop.is_none() && self.server_hello.is_some() && may_wait {
            let outcome = self.end_waiting(secrets, reader);
            self.waiting.set(0, secrets);
            if let Err(stop) = outcome {
                return Some(self.stop(stop));
            }
        }
        let has_unread = self.client.unread() > 0 || self.server.unread() > 0;
        (self.stop.is_none() && self.server_hello.is_none() && has_unread).then(|| self.stop(Stop::NoHello))
    }

    /// Reads what waits for a secret, which does not come later.
    fn end_waiting(&mut self, secrets: &Secrets, reader: &mut impl PlaintextReader) -> Result<(), Stop> {
        // First what is known: giving up decides about the rest.
        self.drain_both(Side::Client, secrets, reader)?;
        self.has_ended = true;
        if self.begins_tls13 {
            self.try_begin_tls13(secrets)?;
        }
        self.drain_both(Side::Client, secrets, reader)?;
        self.note_secrets(secrets);
        if self.is_known { Ok(()) } else { Err(Stop::NoSecret) }
    }

    /// Why decryption stopped; `None` while it goes on.
    pub fn stopped(&self) -> Option<Stop> {
        self.stop
    }

    /// Returns the number of records that were decrypted.
    pub fn records(&self) -> u64 {
        self.decrypted
    }

    /// Whether the records of a side are needed, if the [reader](PlaintextReader::reads) reads its data or not.
    pub fn reads(&self, side: Side, reader_reads: bool) -> bool {
        let state = side.choose(&self.client, &self.server);
        self.stop.is_none() && !state.is_unknown && (reader_reads || !state.has_application_keys)
    }

    /// Whether the encrypted handshake of a side in TLS 1.3 is being read: its Finished message is still to come.
    pub fn reads_handshake(&self, side: Side) -> bool {
        let state = side.choose(&self.client, &self.server);
        let is_encrypted = self.is_tls13() && state.cipher.is_some() && !state.is_unknown;
        self.stop.is_none() && is_encrypted && !state.has_application_keys
    }

    /// Whether the secret of only one side is known, so that the other one is not decrypted.
    pub fn lacks_side(&self) -> bool {
        self.stop.is_none() && (self.client.is_unknown || self.server.is_unknown)
    }

    /// Returns the heap memory, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes())
    }

    /// Stops, and drops what is buffered. Without a ClientHello or a secret, that is the reason.
    fn stop(&mut self, stop: Stop) -> Stop {
        (self.client, self.server) = (SideState::default(), SideState::default());
        self.waiting = Waiting::default();
        let stop = match stop {
            // The hello of the server has no random that names a secret.
            Stop::NoHello if self.client_hello.is_none() => Stop::NoSecret,
            _ if self.client_hello.is_none() => Stop::NotTls,
            _ if !self.is_known => Stop::NoSecret,
            stop => stop,
        };
        *self.stop.get_or_insert(stop)
    }

    fn side(&mut self, side: Side) -> &mut SideState {
        side.choose(&mut self.client, &mut self.server)
    }

    fn is_tls13(&self) -> bool {
        self.server_hello.is_some_and(|(hello, _)| hello.version == TLS_1_3)
    }

    /// Reads the complete records of a side: those of the handshake only, if that is asked for.
    fn drain(
        &mut self,
        side: Side,
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
        only_handshake: bool,
    ) -> Result<(), Stop> {
        loop {
            let state = self.side(side);
            if only_handshake && state.has_application_keys {
                return Ok(());
            }
            let Some(header) = state.header()? else { return Ok(()) };
            let Some(mut record) = state.take_record(&header) else { return Ok(()) };
            let outcome = self.read_record(side, header.bytes, &mut record, secrets, reader);
            let state = self.side(side);
            match outcome {
                Ok(true) => state.finish_record(record),
                Ok(false) => {
                    state.give_back(record);
                    return Ok(());
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Reads a record. Returns false if it must wait for the other side.
    fn read_record(
        &mut self,
        side: Side,
        header: [u8; HEADER_LEN],
        record: &mut [u8],
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
    ) -> Result<bool, Stop> {
        let fragment = record.get_mut(HEADER_LEN..).unwrap_or_default();
        let [kind, ..] = header;
        let is_tls13 = self.is_tls13();
        // TLS 1.3 encrypts only records of this type.
        let is_encrypted = kind == APPLICATION_DATA || self.side(side).is_encrypted && !is_tls13;
        if is_encrypted {
            return self.read_encrypted(side, header, fragment, secrets, reader);
        }
        match kind {
            HANDSHAKE if side == Side::Server && self.client_hello.is_none() => Ok(false),
            HANDSHAKE if is_tls13 && !self.awaits_second_hello(side) => Err(Stop::Malformed),
            HANDSHAKE => {
                let mut joiner = std::mem::take(&mut self.side(side).messages);
                let mut outcome = Ok(());
                joiner.push(fragment, |kind, body| {
                    if let Some(body) = body
                        && outcome.is_ok()
                    {
                        outcome = self.on_hello(side, kind, body, secrets);
                    }
                });
                self.side(side).messages = joiner;
                outcome.map(|()| true)
            }
            CHANGE_CIPHER_SPEC => {
                if self.server_hello.is_none() || self.client_hello.is_none() {
                    // Before the ServerHello, only TLS 1.3 has it: after a HelloRetryRequest, and before early data (RFC 8446,
                    // appendix D.4). That of a client whose ServerHello was not read yet may also be of TLS 1.2.
                    let is_tls13 =
                        self.has_retry || self.client_hello.is_some_and(|hello| hello.has_early_data);
                    return Ok(side == Side::Server || is_tls13);
                }
                if is_tls13 { Ok(true) } else { self.set_tls12_key(side, secrets) }
            }
            _ => Ok(true),
        }
    }

    /// Reads an encrypted record.
    fn read_encrypted(
        &mut self,
        side: Side,
        header: [u8; HEADER_LEN],
        fragment: &mut [u8],
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
    ) -> Result<bool, Stop> {
        if self.begins_tls13 && !self.try_begin_tls13(secrets)?
            || self.side(side).awaits_key && !self.set_awaited_key(side, secrets)?
        {
            return Ok(false);
        }
        if self.side(side).is_unknown {
            return Ok(true);
        }
        if self.side(side).cipher.is_none() {
            if self.server_hello.is_some() && self.client_hello.is_some() {
                return Err(Stop::NoSecret);
            }
            if side == Side::Client
                && let Some(hello) = self.client_hello.filter(|hello| hello.has_early_data)
            {
                return Ok(self.begin_early_data(&hello, header, fragment, secrets, reader));
            }
            return Ok(false);
        }
        let [outer, ..] = header;
        let reads = reader.reads(side);
        let is_tls13 = self.server_hello.is_none_or(|(hello, _)| hello.version == TLS_1_3);
        let state = self.side(side);
        let has_keys = state.has_application_keys;
        let Some(cipher) = &mut state.cipher else { return Ok(false) };
        // A record of TLS 1.3 may be a KeyUpdate.
        if outer == APPLICATION_DATA && has_keys && state.is_proven {
            let room = if reads { reader.skippable(side) } else { u64::MAX };
            if room > 0
                && fragment.len() as u64 <= room.saturating_add(32)
                && let Some(len) = cipher.plaintext_len(fragment).filter(|len| *len as u64 <= room)
            {
                cipher.skip();
                if reads {
                    reader.skip(side, len as u64);
                }
                return Ok(true);
            }
        }
        let Some(opened) = state.open(header, fragment)? else { return Ok(true) };
        let bytes = fragment.get(opened.place).unwrap_or_default();
        self.decrypted = self.decrypted.saturating_add(1);
        match opened.kind {
            APPLICATION_DATA => {
                if side == Side::Client && !has_keys {
                    self.has_early_data = true;
                }
                if reads && !bytes.is_empty() {
                    reader.on_data(side, bytes);
                }
            }
            HANDSHAKE => {
                let mut joiner = std::mem::take(&mut self.side(side).messages);
                // Whether the keys changed.
                let mut outcome = Ok(false);
                joiner.push(bytes, |kind, body| {
                    let Some(body) = body else {
                        if is_tls13 {
                            reader.on_long_handshake(side, kind);
                        }
                        return;
                    };
                    outcome = match outcome {
                        Ok(false) if is_tls13 => {
                            self.side(side).certificates.pass(kind, body, |kind, body| match body {
                                Some(body) => reader.on_handshake(side, kind, body),
                                None => reader.on_long_handshake(side, kind),
                            });
                            self.on_encrypted_message(side, kind, body, secrets, reader)
                        }
                        // A renegotiation.
                        Ok(false) => self.on_hello(side, kind, body, secrets).map(|()| false),
                        // A message that changes the keys ends its record (RFC 8446, section 5.1).
                        Ok(true) => Err(Stop::Malformed),
                        Err(stop) => Err(stop),
                    };
                });
                if outcome? && !joiner.is_empty() {
                    return Err(Stop::Malformed);
                }
                self.side(side).messages = joiner;
            }
            ALERT if is_tls13 => {
                bytes.first_chunk().into_iter().for_each(|alert| reader.on_alert(side, *alert));
            }
            CHANGE_CIPHER_SPEC if !is_tls13 => {
                // Without its secret, the next record waits.
                self.set_tls12_key(side, secrets)?;
            }
            _ => {}
        }
        Ok(true)
    }

    /// Finds the key of the first record of early data: its suite is that of the session, which the server has not named yet. Returns
    /// whether the record was read; it waits for the ServerHello if no secret fits.
    fn begin_early_data(
        &mut self,
        hello: &ClientHello,
        header: [u8; HEADER_LEN],
        fragment: &[u8],
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
    ) -> bool {
        if self.early_data_is_over {
            return false;
        }
        let Some(secret) = secrets.get(SecretLabel::ClientEarly, &hello.random) else { return false };
        let ciphers = suite::TLS_1_3.into_iter().filter_map(Suite::from_number);
        for mut cipher in ciphers.filter_map(|suite| RecordCipher::tls13(suite, &secret)) {
            let mut copy = Zeroizing::new(fragment.to_vec());
            let Some(opened) = cipher.open(header, &mut copy) else { continue };
            if opened.kind == APPLICATION_DATA && reader.reads(Side::Client) {
                self.has_early_data = true;
                reader.on_data(Side::Client, copy.get(opened.place).unwrap_or_default());
            }
            self.decrypted = self.decrypted.saturating_add(1);
            (self.client.cipher, self.client.is_proven) = (Some(cipher), true);
            return true;
        }
        self.early_data_is_over = true;
        false
    }

    /// Whether a side may still send a hello that is not encrypted, after the ServerHello of TLS 1.3.
    fn awaits_second_hello(&self, side: Side) -> bool {
        side == Side::Client && self.has_retry && !self.has_second_hello
    }

    /// Processes a message that is not encrypted, or one of a renegotiation.
    fn on_hello(&mut self, side: Side, kind: u8, body: &[u8], secrets: &Secrets) -> Result<(), Stop> {
        match (side, kind) {
            (Side::Client, CLIENT_HELLO) => {
                let hello = ClientHello::parse(body).map_err(|_| Stop::Malformed)?;
                if self.client_hello.is_some() {
                    if self.is_tls13() && !self.awaits_second_hello(side) {
                        return Err(Stop::Malformed);
                    }
                    self.has_second_hello = true;
                    // After a HelloRetryRequest, early data are void. A renegotiation has a new random.
                    self.client.cipher.take_if(|_| self.server_hello.is_none());
                }
                self.is_known = secrets.has_client(&hello.random);
                self.client_hello = Some(hello);
                Ok(())
            }
            (Side::Server, SERVER_HELLO) => {
                let hello = ServerHello::parse(body).map_err(|_| Stop::Malformed)?;
                if self.is_tls13() {
                    return Err(Stop::Malformed);
                }
                if hello.is_retry_request() {
                    self.has_retry = true;
                    return Ok(());
                }
                self.is_known |= secrets.has(SecretLabel::SessionMasterSecret, &hello.session);
                if !self.is_known && !self.may_wait(secrets) {
                    return Err(Stop::NoSecret);
                }
                let suite = Suite::from_number(hello.suite)
                    .filter(|_| matches!(hello.version, TLS_1_2 | TLS_1_3))
                    .ok_or(Stop::Unsupported)?;
                self.server_hello = Some((hello, suite));
                if hello.version == TLS_1_3 {
                    self.begins_tls13 = true;
                    self.try_begin_tls13(secrets)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes whether a secret of the connection is known by now.
    fn note_secrets(&mut self, secrets: &Secrets) {
        self.is_known |= self.client_hello.is_some_and(|hello| secrets.has_client(&hello.random));
    }

    /// Sets the keys of the handshake of TLS 1.3, unless their secrets may still come. Returns whether they are set.
    fn try_begin_tls13(&mut self, secrets: &Secrets) -> Result<bool, Stop> {
        let has = |label| self.client_hello.is_some_and(|hello| secrets.has(label, &hello.random));
        let has_both = has(SecretLabel::ClientHandshake) && has(SecretLabel::ServerHandshake);
        if !has_both && self.may_wait(secrets) {
            return Ok(false);
        }
        self.begins_tls13 = false;
        self.note_secrets(secrets);
        self.begin_tls13(secrets).map(|()| true)
    }

    /// Sets the key of a side for which its next record waits, unless the secret may still come. Returns whether that is decided.
    fn set_awaited_key(&mut self, side: Side, secrets: &Secrets) -> Result<bool, Stop> {
        if self.is_tls13() {
            self.set_application_key(side, secrets)
        } else {
            self.set_tls12_key(side, secrets)
        }
    }

    /// Sets the key of a side in TLS 1.2, unless its secret may still come. Returns whether it is set.
    fn set_tls12_key(&mut self, side: Side, secrets: &Secrets) -> Result<bool, Stop> {
        let cipher = self.tls12_cipher(side, secrets);
        let waits = matches!(cipher, Err(Stop::NoSecret)) && self.may_wait(secrets);
        let state = self.side(side);
        state.awaits_key = waits;
        if waits {
            return Ok(false);
        }
        (state.cipher, state.is_encrypted, state.has_application_keys) = (Some(cipher?), true, true);
        self.is_known = true;
        Ok(true)
    }

    /// Sets the key of the application of a side in TLS 1.3, or passes over the side, unless the secret may still come. Returns whether
    /// that is decided.
    fn set_application_key(&mut self, side: Side, secrets: &Secrets) -> Result<bool, Stop> {
        let cipher = self.tls13_cipher(side, false, secrets);
        let waits = cipher.is_none() && self.may_wait(secrets);
        let state = self.side(side);
        state.awaits_key = waits;
        if cipher.is_none() && !waits {
            return self.pass_over(side).map(|()| true);
        }
        (state.cipher, state.has_application_keys, state.is_proven) = (cipher, true, false);
        Ok(!waits)
    }

    /// Sets the keys of the handshake of TLS 1.3.
    fn begin_tls13(&mut self, secrets: &Secrets) -> Result<(), Stop> {
        let has_early_data = self.client_hello.is_some_and(|hello| hello.has_early_data);
        let early = self.client_hello.zip(self.server_hello);
        let early = early.filter(|_| has_early_data && !self.early_data_is_over);
        let mut early = early.and_then(|(client, (_, suite))| {
            RecordCipher::tls13(suite, &secrets.get(SecretLabel::ClientEarly, &client.random)?)
        });
        for side in [Side::Client, Side::Server] {
            let handshake = self.tls13_cipher(side, true, secrets);
            let application = self.tls13_cipher(side, false, secrets);
            let state = self.side(side);
            state.is_encrypted = true;
            state.may_refuse = if handshake.is_none() { MAX_REFUSED_RECORDS } else { 0 };
            state.has_application_keys = handshake.is_none() && application.is_some();
            let Some(cipher) = handshake.or(application) else {
                self.pass_over(side)?;
                continue;
            };
            if side == Side::Client && has_early_data {
                state.may_refuse = MAX_REFUSED_RECORDS;
                state.cipher = state.cipher.take().or(early.take());
                if state.cipher.is_some() {
                    state.next = Some(cipher);
                    continue;
                }
            }
            state.cipher = Some(cipher);
        }
        Ok(())
    }

    /// Passes over the further records of a side without a secret, unless the other one has none either.
    fn pass_over(&mut self, side: Side) -> Result<(), Stop> {
        let state = self.side(side);
        (state.is_unknown, state.cipher, state.next) = (true, None, None);
        if self.side(side.peer()).is_unknown { Err(Stop::NoSecret) } else { Ok(()) }
    }

    /// Processes an encrypted message of TLS 1.3. Returns whether it changes the keys of its side.
    fn on_encrypted_message(
        &mut self,
        side: Side,
        kind: u8,
        body: &[u8],
        secrets: &Secrets,
        reader: &mut impl PlaintextReader,
    ) -> Result<bool, Stop> {
        let has_application_keys = self.side(side).has_application_keys;
        match (side, kind) {
            (Side::Client, END_OF_EARLY_DATA) if self.server_hello.is_none() => {
                // What follows waits for the ServerHello.
                self.early_data_is_over = true;
                (self.client.cipher, self.client.is_proven) = (None, false);
            }
            (Side::Client, END_OF_EARLY_DATA) if self.client.next.is_some() => {
                self.client.cipher = self.client.next.take();
            }
            (Side::Server, ENCRYPTED_EXTENSIONS) => {
                if !hello::accepts_early_data(body) {
                    // Early data that are still to be read are passed over: they are not authentic with the next key.
                    let client = &mut self.client;
                    client.cipher = client.next.take().or(client.cipher.take());
                    if std::mem::take(&mut self.has_early_data) {
                        reader.on_early_data_rejected();
                    }
                }
                return Ok(false);
            }
            // That of authentication after the handshake leaves the keys (RFC 8446, section 4.6.2).
            (_, FINISHED) if !has_application_keys => {
                self.set_application_key(side, secrets)?;
            }
            (_, KEY_UPDATE) if has_application_keys => {
                let state = self.side(side);
                state.cipher = state.cipher.as_ref().and_then(RecordCipher::updated);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
