//! Consistency from the bytes that a client sent.

use std::borrow::Cow;

use huginn_net_db::{ClientDatabase, Database};
use huginn_net_http::http2::{Http2Error, Http2Event, Http2Reader, PREFACE};
use huginn_net_http::{HttpError, HttpSignature, Request};
use huginn_net_tcp::{TcpError, TcpSignature};
use huginn_net_tls::{ClientHello, QuicVersion, TlsError};

use super::{ClientLayers, Consistency, check, firm_system};

/// The first bytes of one client, by layer. Every part is optional, and may be incomplete: it then says nothing.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ClientBytes<'a> {
    /// The IP packet of its SYN.
    pub syn: Option<&'a [u8]>,
    /// Its first TLS records, up to the end of the ClientHello.
    pub tls: Option<&'a [u8]>,
    /// Its ClientHello, if it is known without records: from QUIC, or from a TLS library. Ignored beside `tls`.
    pub hello: Option<&'a ClientHello<'a>>,
    /// The QUIC version of the Initial packets with `hello`, for the QUIC fingerprint.
    pub quic_version: Option<QuicVersion>,
    /// The head of an HTTP/1 request, or the first bytes of an HTTP/2 client with its first request; decrypted.
    pub http: Option<&'a [u8]>,
}

huginn_net_wire::setters!(ClientBytes<'a> {
    syn: &'a [u8],
    tls: &'a [u8],
    hello: impl Into<Option<&'a ClientHello<'a>>>,
    quic_version: impl Into<Option<QuicVersion>>,
    http: &'a [u8],
});

/// A layer of [`ClientBytes`] that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientBytesError {
    /// The SYN.
    #[error("SYN: {0}")]
    Tcp(#[from] TcpError),
    /// The TLS records.
    #[error("ClientHello: {0}")]
    Tls(#[from] TlsError),
    /// The head of the HTTP/1 request.
    #[error("HTTP/1 request: {0}")]
    Http1(#[from] HttpError),
    /// The frames of HTTP/2.
    #[error("HTTP/2: {0}")]
    Http2(#[from] Http2Error),
}

impl ClientBytes<'_> {
    /// Parses the layers, names their software, and [compares](check) them.
    ///
    /// # Errors
    /// [`ClientBytesError`] if the bytes of a layer are not those of its protocol.
    pub fn check(
        &self,
        database: &Database,
        clients: &ClientDatabase,
    ) -> Result<Consistency, ClientBytesError> {
        let syn = self.syn.map(TcpSignature::from_ip_packet).transpose()?.flatten();
        let system = syn.and_then(|parsed| database.match_syn(&parsed.value));
        let hello = self.client_hello()?;
        let tls = hello.and_then(|hello| clients.match_hello(&hello));
        let (mut request, mut akamai) = (None, None);
        match self.http {
            Some(bytes) if bytes.starts_with(PREFACE) || PREFACE.starts_with(bytes) => {
                let outcome = Http2Reader::client().push(bytes, &mut |event| match event {
                    Http2Event::Akamai(found) => akamai = Some(found),
                    Http2Event::Request { request: found, .. } if request.is_none() => request = Some(found),
                    _ => {}
                });
                // Damage behind the first request changes nothing.
                if request.is_none() {
                    outcome?;
                }
            }
            Some(bytes) => request = Request::parse(bytes)?.map(|parsed| parsed.value),
            None => {}
        }
        let http1 = request.as_ref().filter(|_| akamai.is_none());
        let http1 = http1.and_then(|request| database.match_request(&HttpSignature::from_request(request)));
        let http2 = akamai.as_ref().and_then(|akamai| clients.match_akamai(akamai.hash()));
        let layers = ClientLayers {
            system: system.as_ref().and_then(firm_system),
            tls: tls.as_ref().map(|found| &*found.software),
            akamai: akamai.as_ref(),
            http2: http2.as_ref().map(|found| &*found.software),
            http1: http1.as_ref(),
            request: request.as_ref(),
        };
        Ok(check(&layers, database))
    }

    /// The ClientHello. `None` if there is none, or it is incomplete.
    ///
    /// # Errors
    /// [`TlsError`] if the bytes are not those of a ClientHello.
    pub fn client_hello(&self) -> Result<Option<Cow<'_, ClientHello<'_>>>, TlsError> {
        Ok(match self.tls {
            Some(records) => ClientHello::from_records(records)?.map(|parsed| Cow::Owned(parsed.value)),
            None => self.hello.map(Cow::Borrowed),
        })
    }
}
