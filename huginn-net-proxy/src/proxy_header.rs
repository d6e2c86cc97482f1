//! PROXY protocol, version 2 (`proxy-protocol.txt` of HAProxy, section 2.2), with fingerprints.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use huginn_net_wire::Parsed;
use ppp::v2::{Addresses, Builder, Command, Header, IPv4, IPv6, ParseError, Protocol, Version};

use crate::{ClientFingerprint, JoinedReasons, MAX_TLV_LEN};

/// Type of the TLV with a fingerprint, in the range for applications (0xE0 to 0xEF, section 2.2.7). Amazon, Google and
/// Microsoft use 0xEA, 0xE0 and 0xEE. Its value is the JSON of a [`ClientFingerprint`], so that HAProxy and nginx can read
/// it: `fc_pp_tlv(0xE4),json_query('$.tls.ja4')`, `$proxy_protocol_tlv_0xE4`.
pub const FINGERPRINT_TLV: u8 = 0xe4;

/// Length of the fixed part of a header, in bytes. The last two are the length of the rest.
const FIXED_LEN: usize = 16;

/// A PROXY protocol header, version 2, of a TCP connection: the addresses of a client behind a load balancer, and its
/// fingerprint.
///
/// Read headers only from load balancers that you run: whoever sends one can claim any address and any fingerprint.
///
/// ```
/// use huginn_net_consistency::ClientBytes;
/// use huginn_net_proxy::{Fingerprinter, ProxyHeader};
///
/// let hello = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");
/// let client = ClientBytes::default().tls(hello);
/// let fingerprint = Fingerprinter::default().fingerprint(&client);
/// let header = ProxyHeader::new("192.0.2.1:41658".parse()?, "192.0.2.2:443".parse()?).with_fingerprint(fingerprint);
///
/// let bytes = header.to_bytes()?;
/// let parsed = ProxyHeader::parse(&bytes)?.expect("a complete header");
/// assert_eq!(parsed.value, header);
/// assert_eq!(parsed.consumed, bytes.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyHeader {
    /// The addresses of the client and of the server that it connected to. `None` if the load balancer itself opened the
    /// connection (command LOCAL), or if they are not IP addresses. Such a header describes no client.
    pub addresses: Option<[SocketAddr; 2]>,
    /// The fingerprint. `None` if there are no addresses or no TLV of type [`FINGERPRINT_TLV`], or if its value is no
    /// fingerprint.
    pub fingerprint: Option<ClientFingerprint>,
}

/// Why bytes are not a PROXY protocol header.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyHeaderError {
    /// They are not those of version 2.
    #[error("no PROXY protocol header of version 2: {0}")]
    Header(#[from] ParseError),
    /// A TLV ends behind the header.
    #[error("a TLV of a PROXY protocol header: {0}")]
    Tlv(#[source] ParseError),
}

impl ProxyHeader {
    /// Creates the header of a connection from a client to a server.
    pub fn new(client: SocketAddr, server: SocketAddr) -> Self {
        Self { addresses: Some([client, server]), fingerprint: None }
    }

    /// Adds a fingerprint. Its JSON must have at most [`MAX_TLV_LEN`] bytes: texts that can be long are left out until it fits,
    /// the lists of JA4 and JA3 first, then those of HTTP, reasons, and the names in the hello.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: ClientFingerprint) -> Self {
        self.fingerprint = Some(shorten(fingerprint));
        self
    }

    /// The bytes, to send before all others. If one address is of IPv6, an IPv4 address becomes an IPv4-mapped one. Without
    /// addresses, the command is LOCAL, and there is no fingerprint: receivers discard the rest of such a header.
    ///
    /// # Errors
    /// [`io::ErrorKind::WriteZero`] if the fingerprint does not fit into the 65,535 bytes of a header, which one of
    /// [`with_fingerprint`](Self::with_fingerprint) always does.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let Some(addresses) = self.addresses else {
            let (command, addresses) = (Version::Two | Command::Local, Addresses::Unspecified);
            return Builder::with_addresses(command, Protocol::Unspecified, addresses).build();
        };
        let mut builder =
            Builder::with_addresses(Version::Two | Command::Proxy, Protocol::Stream, to_wire(addresses));
        if let Some(fingerprint) = &self.fingerprint {
            builder = builder.write_tlv(FINGERPRINT_TLV, &serde_json::to_vec(fingerprint)?)?;
        }
        builder.build()
    }

    /// Parses the header at the start of these bytes. `None` if more bytes are needed, which costs a look at its length. A checksum
    /// is not verified.
    ///
    /// # Errors
    /// [`ProxyHeaderError`] if the bytes are not a header of version 2.
    pub fn parse(bytes: &[u8]) -> Result<Option<Parsed<Self>>, ProxyHeaderError> {
        let header = match Header::try_from(bytes) {
            Err(ParseError::Incomplete(_) | ParseError::Partial(..)) => return Ok(None),
            outcome => outcome?,
        };
        let mut fingerprint = None;
        for tlv in header.tlvs() {
            let tlv = tlv.map_err(ProxyHeaderError::Tlv)?;
            if tlv.kind == FINGERPRINT_TLV && fingerprint.is_none() {
                fingerprint = serde_json::from_slice(&tlv.value).ok();
            }
        }
        let addresses = (header.command == Command::Proxy).then(|| from_wire(&header.addresses)).flatten();
        let fingerprint = fingerprint.filter(|_| addresses.is_some());
        Ok(Some(Parsed::new(Self { addresses, fingerprint }, header.len())))
    }

    /// Reads a header, and not a byte more.
    ///
    /// # Errors
    /// Those of the stream; [`io::ErrorKind::InvalidData`] with a [`ProxyHeaderError`] if the bytes are not a header.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut bytes = vec![0; FIXED_LEN];
        stream.read_exact(&mut bytes)?;
        let len = rest_len(&bytes)?;
        bytes.resize(len, 0);
        stream.read_exact(bytes.get_mut(FIXED_LEN..).unwrap_or_default())?;
        Self::complete(&bytes)
    }

    /// Reads a header, as [`read`](Self::read) does. It is not cancel safe: close the stream if it times out.
    ///
    /// # Errors
    /// Those of the stream; [`io::ErrorKind::InvalidData`] with a [`ProxyHeaderError`] if the bytes are not a header.
    #[cfg(feature = "tokio")]
    pub async fn read_async(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<Self> {
        use tokio::io::AsyncReadExt;

        let mut bytes = vec![0; FIXED_LEN];
        stream.read_exact(&mut bytes).await?;
        let len = rest_len(&bytes)?;
        bytes.resize(len, 0);
        stream.read_exact(bytes.get_mut(FIXED_LEN..).unwrap_or_default()).await?;
        Self::complete(&bytes)
    }

    fn complete(bytes: &[u8]) -> io::Result<Self> {
        let parsed = Self::parse(bytes).map_err(invalid)?;
        parsed.map(|parsed| parsed.value).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// The length of a header with this fixed part, which is checked first: a client without a header is not waited for.
fn rest_len(fixed: &[u8]) -> io::Result<usize> {
    ProxyHeader::parse(fixed).map_err(invalid)?;
    let len = fixed.last_chunk().map_or(0, |len| usize::from(u16::from_be_bytes(*len)));
    Ok(FIXED_LEN.saturating_add(len))
}

fn invalid(error: ProxyHeaderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Leaves out texts until the JSON of a fingerprint fits into a TLV. All others are short.
fn shorten(mut fingerprint: ClientFingerprint) -> ClientFingerprint {
    let left_out: [fn(&mut ClientFingerprint); 4] = [
        |found| {
            if let Some(tls) = &mut found.tls {
                (tls.ja4_r, tls.ja4_ro, tls.ja4_stable_r, tls.ja3) = (None, None, None, None);
            }
        },
        |found| {
            if let Some(http) = &mut found.http {
                (http.header_order, http.sig) = (None, None);
            }
        },
        |found| {
            if let Some(consistency) = &mut found.consistency {
                consistency.reasons = JoinedReasons::default();
            }
            if let Some(http) = &mut found.http {
                http.akamai = None;
            }
        },
        |found| {
            if let Some(tls) = &mut found.tls {
                (tls.sni, tls.alpn) = (None, None);
            }
        },
    ];
    for leave_out in left_out {
        if serde_json::to_vec(&fingerprint).is_ok_and(|json| json.len() <= MAX_TLV_LEN) {
            break;
        }
        leave_out(&mut fingerprint);
    }
    fingerprint
}

fn to_wire([client, server]: [SocketAddr; 2]) -> Addresses {
    match (client.ip(), server.ip()) {
        (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => (client, server).into(),
        _ => {
            let [source, destination] = [client, server].map(|address| match address.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            });
            IPv6::new(source, destination, client.port(), server.port()).into()
        }
    }
}

fn from_wire(addresses: &Addresses) -> Option<[SocketAddr; 2]> {
    match *addresses {
        Addresses::IPv4(IPv4 { source_address, source_port, destination_address, destination_port }) => {
            Some([(source_address, source_port).into(), (destination_address, destination_port).into()])
        }
        Addresses::IPv6(IPv6 { source_address, source_port, destination_address, destination_port }) => {
            Some([(source_address, source_port).into(), (destination_address, destination_port).into()])
        }
        Addresses::Unspecified | Addresses::Unix(_) => None,
    }
}
