//! The sessions of TLS 1.2 that connections begin and resume.

use huginn_net_wire::Side;

use super::hello::{ClientHello, ServerHello, ticket_of};
use super::side::{HEADER_LEN, SideState};
use super::{CHANGE_CIPHER_SPEC, CLIENT_HELLO, HANDSHAKE, SERVER_HELLO, Stop, TLS_1_2};
use crate::limits::MAX_PREAMBLE_BYTES;
use crate::secrets::{SessionConnection, SessionName};

const NEW_SESSION_TICKET: u8 = 4;

/// Reads the handshake of one connection for the names of its session in TLS 1.2.
///
/// Some programs, such as those of Go, log the master secret once for all connections of a session.
/// [`Secrets::add_sessions`](crate::Secrets::add_sessions) makes it known for the others.
#[derive(Debug, Default)]
pub struct SessionReader {
    client: SideState,
    server: SideState,
    client_hello: Option<ClientHello>,
    server_hello: Option<ServerHello>,
    ticket: Option<SessionName>,
    /// Bytes before the ClientHello.
    preamble: usize,
    is_done: bool,
}

impl SessionReader {
    /// Expects a ClientHello, as [`TlsDecryptor::new`](crate::TlsDecryptor::new) does.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes of a side. Returns the session once the server has agreed to it.
    pub fn push(&mut self, side: Side, bytes: &[u8]) -> Option<SessionConnection> {
        if self.is_done {
            return None;
        }
        let state = side.choose(&mut self.client, &mut self.server);
        if !state.begins(side, bytes) {
            self.preamble = self.preamble.saturating_add(bytes.len());
            if self.client_hello.is_none() && self.preamble > MAX_PREAMBLE_BYTES {
                self.end();
            }
            return None;
        }
        state.push(bytes);
        let session = self.drain(side).unwrap_or_else(|_| {
            self.end();
            None
        });
        if session.is_some() {
            self.end();
        }
        session
    }

    /// Ends the connection, and drops what is buffered.
    pub fn end(&mut self) {
        *self = Self { is_done: true, ..Self::default() };
    }

    /// Whether bytes of a side are still read.
    pub fn reads(&self, side: Side) -> bool {
        !self.is_done && (side == Side::Server || self.client_hello.is_none())
    }

    /// Returns the heap memory, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes())
    }

    /// Reads the complete records of a side.
    fn drain(&mut self, side: Side) -> Result<Option<SessionConnection>, Stop> {
        loop {
            let state = side.choose(&mut self.client, &mut self.server);
            let Some(header) = state.header()? else { return Ok(None) };
            let Some(record) = state.take_record(&header) else { return Ok(None) };
            let [kind, ..] = header.bytes;
            let mut joiner = std::mem::take(&mut state.messages);
            let mut outcome = Ok(());
            if kind == HANDSHAKE {
                joiner.push(record.get(HEADER_LEN..).unwrap_or_default(), |kind, body| {
                    if let Some(body) = body
                        && outcome.is_ok()
                    {
                        outcome = self.on_message(side, kind, body);
                    }
                });
            }
            outcome?;
            let state = side.choose(&mut self.client, &mut self.server);
            state.messages = joiner;
            state.finish_record(record);
            if kind == CHANGE_CIPHER_SPEC && side == Side::Server {
                return self.session().ok_or(Stop::NoHello).map(Some);
            }
        }
    }

    fn on_message(&mut self, side: Side, kind: u8, body: &[u8]) -> Result<(), Stop> {
        match (side, kind) {
            (Side::Client, CLIENT_HELLO) => {
                self.client_hello = Some(ClientHello::parse(body).map_err(|_| Stop::Malformed)?);
            }
            (Side::Server, SERVER_HELLO) => {
                let hello = ServerHello::parse(body).map_err(|_| Stop::Malformed)?;
                if hello.version != TLS_1_2 {
                    return Err(Stop::Unsupported);
                }
                self.server_hello = Some(hello);
            }
            // Its lifetime and length come before the ticket (RFC 5077, section 3.3).
            (Side::Server, NEW_SESSION_TICKET) => self.ticket = body.get(6..).and_then(ticket_of),
            _ => {}
        }
        Ok(())
    }

    fn session(&self) -> Option<SessionConnection> {
        let (client, server) = (self.client_hello?, self.server_hello?);
        let names = [server.session_id(), client.resumed_ticket(&server), self.ticket];
        names.iter().any(Option::is_some).then_some(SessionConnection { random: client.random, names })
    }
}
