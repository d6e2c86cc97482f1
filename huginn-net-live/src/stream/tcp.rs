//! Captures over TCP: pcap-over-IP.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use huginn_net_capture::CaptureReader;
use nix::sys::socket::{setsockopt, sockopt};

use super::{Closed, Message, Output};
use crate::LiveError;
use crate::limits::{CONNECT_TIMEOUT, RECONNECT_INTERVAL, STREAM_READ_TIMEOUT};

/// A server that sends a capture to each client.
pub(super) struct Server {
    name: String,
    /// Addresses of the host. The program may have no right to resolve its name later.
    addresses: Vec<SocketAddr>,
    connection: Option<TcpStream>,
}

impl Server {
    /// Resolves `HOST:PORT` and connects. `wait`: the server may be absent.
    pub(super) fn open(name: &str, target: &str, wait: bool) -> Result<Self, LiveError> {
        let has_port = target
            .rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0));
        if !has_port {
            return Err(LiveError::InvalidTcpServer { name: name.to_owned() });
        }
        let failed = |source| LiveError::Open { name: name.to_owned(), source };
        let addresses: Vec<SocketAddr> = target.to_socket_addrs().map_err(failed)?.collect();
        let connection = match connect(&addresses) {
            Ok(connection) => Some(connection),
            Err(_) if wait => None,
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { name: name.to_owned(), addresses, connection })
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Reads captures until the source is dropped. Connects again when one has ended.
    pub(super) fn run(mut self, output: &Output) -> Result<(), Closed> {
        loop {
            let connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.reconnect(output)?,
            };
            let reader = StoppableReader { connection, stop: Arc::clone(&output.stop) };
            let ended = match CaptureReader::from_reader(&*self.name, reader) {
                Ok(mut capture) => output.send_capture(&mut capture)?,
                Err(error) => Err(error),
            };
            if output.is_closed() {
                return Err(Closed);
            }
            let reason = ended.map_or_else(|error| error.to_string(), |()| "the sender has ended".into());
            // The source adds the name.
            let prefix = format!("{}: ", self.name);
            output.send(Message::Interrupted(reason.strip_prefix(&prefix).unwrap_or(&reason).to_owned()))?;
            output.pause(RECONNECT_INTERVAL)?;
        }
    }

    fn reconnect(&self, output: &Output) -> Result<TcpStream, Closed> {
        loop {
            if let Ok(connection) = connect(&self.addresses) {
                output.send(Message::Connected)?;
                return Ok(connection);
            }
            output.pause(RECONNECT_INTERVAL)?;
        }
    }
}

/// Connects to the first address that answers.
fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT_TIMEOUT) {
            Ok(connection) => {
                connection.set_read_timeout(Some(STREAM_READ_TIMEOUT))?;
                // A sender that vanished without a word is noticed.
                setsockopt(&connection, sockopt::KeepAlive, &true)?;
                return Ok(connection);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Waits for bytes until the source is dropped.
struct StoppableReader {
    connection: TcpStream,
    stop: Arc<AtomicBool>,
}

impl Read for StoppableReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if self.stop.load(Ordering::Relaxed) {
                        return Ok(0);
                    }
                }
                outcome => return outcome,
            }
        }
    }
}
