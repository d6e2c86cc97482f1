//! A connection over TLS, whose writes never block.

use std::io::{self, Read, Write};
use std::mem;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ProtocolVersion};

/// Bytes that are encrypted at once.
const MAX_WRITE_BYTES: usize = 1 << 15;

/// Time that a server of TLS 1.3 has to refuse the certificate of the client, which it checks after the client has begun to write.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of reads before a write: a server has little to say.
const MAX_READS: usize = 16;

#[derive(Debug)]
pub(super) struct TlsStream {
    stream: TcpStream,
    tls: Box<ClientConnection>,
    /// Bytes that are encrypted, and not all written yet.
    accepted: usize,
}

impl TlsStream {
    /// Shakes hands with a server until this time. Blocks.
    pub(super) fn open(
        stream: TcpStream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        end: Instant,
    ) -> io::Result<Self> {
        let tls = Box::new(ClientConnection::new(config, name).map_err(failed)?);
        let mut opened = Self { stream, tls, accepted: 0 };
        opened.shake_hands(end)?;
        opened.stream.set_nonblocking(true)?;
        Ok(opened)
    }

    fn shake_hands(&mut self, end: Instant) -> io::Result<()> {
        while self.tls.is_handshaking() || self.tls.wants_write() {
            self.wait_until(end)?;
            if self.tls.wants_write() {
                self.tls.write_tls(&mut self.stream).map_err(in_time)?;
            } else {
                self.read()?;
            }
        }
        if self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
            let refusal_end = Instant::now().checked_add(REFUSAL_TIMEOUT).map_or(end, |until| until.min(end));
            self.wait_until(refusal_end)?;
            match self.read() {
                // It has nothing to say.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                read => read?,
            }
        }
        Ok(())
    }

    /// Limits the time that the next read or write blocks.
    fn wait_until(&self, end: Instant) -> io::Result<()> {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(in_time(io::ErrorKind::TimedOut.into()));
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.set_write_timeout(Some(left))
    }

    /// Reads once during the handshake.
    fn read(&mut self) -> io::Result<()> {
        if self.tls.read_tls(&mut self.stream).map_err(in_time)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection during the TLS handshake",
            ));
        }
        self.process().map(|_| ())
    }

    /// Processes what was read, and forgets what the server says. Returns whether it says no more.
    fn process(&mut self) -> io::Result<bool> {
        let state = self.tls.process_new_packets().map_err(|error| {
            // The alert that says why.
            let _ = self.tls.write_tls(&mut self.stream);
            failed(error)
        })?;
        let plain = u64::try_from(state.plaintext_bytes_to_read()).unwrap_or(u64::MAX);
        io::copy(&mut self.tls.reader().take(plain), &mut io::sink())?;
        Ok(state.peer_has_closed())
    }

    /// Whether the server has closed the connection.
    ///
    /// # Errors
    /// The server has refused it.
    pub(super) fn is_closed(&mut self) -> io::Result<bool> {
        for _ in 0..MAX_READS {
            match self.tls.read_tls(&mut self.stream) {
                Ok(0) => return Ok(true),
                Ok(_) if self.process()? => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Writes some bytes. After `WouldBlock`, the next call must have the same ones.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.accepted == 0 {
            let some = bytes.get(..MAX_WRITE_BYTES).unwrap_or(bytes);
            self.accepted = self.tls.writer().write(some)?;
        }
        self.flush()?;
        Ok(mem::take(&mut self.accepted))
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.stream)?;
        }
        Ok(())
    }
}

impl Drop for TlsStream {
    /// Ends the stream as TLS does, so that the server knows that it has all.
    fn drop(&mut self) {
        // A handshake that failed has left it blocking. Bytes that were not read would reset the connection. Lines that are not whole yet
        // are sent again by the next connection.
        if self.accepted == 0
            && self.stream.set_nonblocking(true).is_ok()
            && !self.is_closed().unwrap_or(true)
        {
            self.tls.send_close_notify();
            let _ = self.flush();
        }
    }
}

fn failed(error: rustls::Error) -> io::Error {
    io::Error::other(format!("TLS: {error}"))
}

/// Names what took too long.
fn in_time(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long")
        }
        _ => error,
    }
}
