//! Sockets that take lines: connected once there is a line, and again after an error.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::time::Duration;
#[cfg(feature = "tls")]
use std::time::Instant;

#[cfg(feature = "tls")]
use super::tls_stream::TlsStream;
use crate::output::collector::{Collector, CollectorSocket, Server};

/// Time that a connection to a collector has to be accepted, with the handshake of TLS: shorter than shutdown waits for the writer. A name may take longer to be looked
/// up: shutdown does not wait for it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// A socket, which is connected or not.
#[derive(Debug)]
pub(super) struct Socket {
    collector: Collector,
    connection: Option<Connection>,
    /// Whether the next connection looks the name of its host up again: its address may have changed.
    is_again: bool,
    /// Length of the last datagram with its line end, until a host may have refused it: UDP reports that later.
    last_datagram: u64,
    /// Length of a datagram that was refused.
    refused: Option<u64>,
}

#[derive(Debug)]
enum Connection {
    Tcp(TcpStream),
    #[cfg(feature = "tls")]
    Tls(TlsStream),
    Unix(UnixStream),
    Udp(UdpSocket),
    UnixDatagram(UnixDatagram),
}

impl Socket {
    pub(super) fn new(collector: Collector) -> Self {
        Self { collector, connection: None, is_again: false, last_datagram: 0, refused: None }
    }

    pub(super) fn collector(&self) -> &Collector {
        &self.collector
    }

    /// Closes the connection: the next line makes another one.
    pub(super) fn close(&mut self) {
        self.connection = None;
    }

    fn open(&mut self) -> io::Result<Connection> {
        let socket = &mut self.collector.socket;
        if std::mem::replace(&mut self.is_again, true) {
            match socket {
                CollectorSocket::Tcp(server) | CollectorSocket::Udp(server) => server.look_up(),
                #[cfg(feature = "tls")]
                CollectorSocket::Tls(server, client) => {
                    server.look_up();
                    client.read_again();
                }
                CollectorSocket::UnixStream(_) | CollectorSocket::UnixDatagram(_) => {}
            }
        }
        Connection::open(socket)
    }

    /// Writes a part of `lines`, or the first line as a datagram. Blocks only to connect, and to look a name up. The rest of a line is not written to another
    /// connection than its beginning.
    pub(super) fn write(&mut self, lines: &[u8], first_line: usize, is_begun: bool) -> io::Result<usize> {
        match self.connection.as_mut().map(Connection::is_closed) {
            Some(Ok(true)) => self.connection = None,
            Some(Err(error)) => {
                self.connection = None;
                return Err(error);
            }
            _ => {}
        }
        if self.connection.is_none() {
            if is_begun {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            self.connection = Some(self.open()?);
        }
        let Some(connection) = &mut self.connection else { return Err(io::ErrorKind::NotConnected.into()) };
        let line = lines.get(..first_line).unwrap_or(lines);
        let datagram = line.strip_suffix(b"\n").unwrap_or(line);
        let written = match connection {
            Connection::Tcp(stream) => stream.write(lines),
            #[cfg(feature = "tls")]
            Connection::Tls(stream) => stream.write(lines),
            Connection::Unix(stream) => stream.write(lines),
            Connection::Udp(socket) => socket.send(datagram).map(|_| line.len()),
            Connection::UnixDatagram(socket) => socket.send(datagram).map(|_| line.len()),
        };
        if let (Connection::Udp(_), Ok(written)) = (&*connection, &written) {
            self.last_datagram = *written as u64;
        }
        written.map_err(|error| match error.kind() {
            _ if is_too_long(&error) => io::ErrorKind::InvalidInput.into(),
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => error,
            _ => {
                self.note_refusal(&error);
                self.connection = None;
                error
            }
        })
    }

    /// Remembers that the last datagram was refused, if an error of UDP says so.
    fn note_refusal(&mut self, error: &io::Error) {
        if error.kind() == io::ErrorKind::ConnectionRefused
            && let Some(Connection::Udp(_)) = &self.connection
        {
            self.refused = Some(std::mem::take(&mut self.last_datagram)).filter(|bytes| *bytes > 0);
        }
    }

    /// The length of a datagram that was counted as written, and that the host refused since; with its line end.
    pub(super) fn take_refused(&mut self) -> Option<u64> {
        if let Some(Connection::Udp(socket)) = &self.connection
            && let Ok(Some(error)) = socket.take_error()
        {
            self.note_refusal(&error);
        }
        self.refused.take()
    }
}

impl Connection {
    fn open(socket: &mut CollectorSocket) -> io::Result<Self> {
        match socket {
            CollectorSocket::Tcp(Server { addresses, .. }) => {
                let stream =
                    first(addresses, |address| TcpStream::connect_timeout(&address, CONNECT_TIMEOUT))?;
                stream.set_nonblocking(true)?;
                Ok(Self::Tcp(stream))
            }
            #[cfg(feature = "tls")]
            CollectorSocket::Tls(Server { addresses, .. }, client) => {
                let config = client.config().map_err(io::Error::other)?;
                let name = client.server_name().map_err(io::Error::other)?;
                first(addresses, |address| {
                    let end = Instant::now().checked_add(CONNECT_TIMEOUT).ok_or(io::ErrorKind::TimedOut)?;
                    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
                    TlsStream::open(stream, config.clone(), name.clone(), end)
                })
                .map(Self::Tls)
            }
            CollectorSocket::Udp(Server { addresses, .. }) => {
                let socket = first(addresses, |address| {
                    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                    let socket = UdpSocket::bind(any)?;
                    socket.connect(address)?;
                    Ok(socket)
                })?;
                socket.set_nonblocking(true)?;
                Ok(Self::Udp(socket))
            }
            CollectorSocket::UnixStream(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_nonblocking(true)?;
                Ok(Self::Unix(stream))
            }
            CollectorSocket::UnixDatagram(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                socket.set_nonblocking(true)?;
                Ok(Self::UnixDatagram(socket))
            }
        }
    }

    /// Whether the peer has closed a connection of TCP: the kernel would still take what is written, and lose it.
    fn is_closed(&mut self) -> io::Result<bool> {
        match self {
            Self::Tcp(stream) => Ok(stream.peek(&mut [0]).is_ok_and(|read| read == 0)),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.is_closed(),
            _ => Ok(false),
        }
    }
}

/// The first address that works, or the error of the last one.
fn first<T>(addresses: &[SocketAddr], mut open: impl FnMut(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let mut outcome = Err(io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        outcome = open(*address);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Whether a line is longer than any datagram.
fn is_too_long(error: &io::Error) -> bool {
    #[cfg(target_os = "linux")]
    return error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error());
    #[cfg(not(target_os = "linux"))]
    return error.kind() == io::ErrorKind::InvalidInput;
}
