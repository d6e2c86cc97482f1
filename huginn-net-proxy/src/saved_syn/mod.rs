//! The SYN of a connection, as the kernel saved it.

#[cfg(target_os = "linux")]
mod ffi;

#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;

use huginn_net_tcp::{TcpError, TcpSignature};

/// The IP and TCP headers of the SYN that opened a connection, as Linux saves them for a listener with `TCP_SAVE_SYN`
/// (Linux 4.3). No privilege is needed.
///
/// | case | result |
/// |---|---|
/// | SYN cookies (`net.ipv4.tcp_syncookies`): the SYN backlog was full, or the value is 2 | the kernel keeps no SYN: `None` |
/// | TCP Fast Open (RFC 7413) | the SYN is saved without its data; its length shows them, so the payload class is `+` |
/// | a connection that was queued before [`enable`](Self::enable) | `None` |
/// | a SYN that was retransmitted | the one that the listener answered |
/// | a load balancer or NAT that ends TCP | the SYN of that system, not that of the client |
///
/// ```
/// # #[cfg(target_os = "linux")] {
/// use std::net::{TcpListener, TcpStream};
///
/// use huginn_net_db::Database;
/// use huginn_net_proxy::SavedSyn;
///
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// SavedSyn::enable(&listener)?;
///
/// let client = TcpStream::connect(listener.local_addr()?)?;
/// let (stream, _) = listener.accept()?;
/// let syn = SavedSyn::take(&stream)?.expect("no SYN cookies");
/// let signature = syn.signature()?.expect("complete headers");
/// let label = Database::builtin().match_syn(&signature).map(|found| found.label.to_string());
/// println!("{signature}: {label:?}");
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSyn {
    headers: Box<[u8]>,
}

impl SavedSyn {
    /// Tells the kernel to save the SYNs of a listener, for connections that it queues from now on: a standard or tokio
    /// `TcpListener`, or any other TCP socket.
    ///
    /// # Errors
    /// Those of `setsockopt(2)`, such as `EOPNOTSUPP` for a socket of another protocol.
    #[cfg(target_os = "linux")]
    pub fn enable(listener: &impl AsFd) -> io::Result<()> {
        ffi::enable(listener.as_fd())
    }

    /// Takes the saved SYN of an accepted connection. The kernel frees it: later calls return `None`.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`: `EINVAL` if the headers have more than 1,024 bytes, which are IPv6 extension headers.
    #[cfg(target_os = "linux")]
    pub fn take(stream: &impl AsFd) -> io::Result<Option<Self>> {
        let headers = ffi::take(stream.as_fd())?;
        Ok((!headers.is_empty()).then_some(Self { headers }))
    }

    /// Wraps headers from another source, such as a packet socket or an eBPF program: an IP packet up to the end of its
    /// TCP header or longer.
    pub fn from_ip_packet(bytes: &[u8]) -> Self {
        Self { headers: bytes.into() }
    }

    /// The headers, from the first byte of the IP header.
    pub fn as_bytes(&self) -> &[u8] {
        &self.headers
    }

    /// Computes the TCP signature. `None` if the headers are incomplete.
    ///
    /// # Errors
    /// [`TcpError`] if the bytes are not those of a SYN.
    pub fn signature(&self) -> Result<Option<TcpSignature>, TcpError> {
        Ok(TcpSignature::from_ip_packet(&self.headers)?.map(|parsed| parsed.value))
    }
}
