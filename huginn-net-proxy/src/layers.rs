//! The parsed layers of one connection.

use std::collections::HashSet;

use huginn_net_consistency::{ClientLayers, firm_system};
use huginn_net_db::{ClientMatch, HttpMatch, TcpMatch};
use huginn_net_http::Request;
use huginn_net_http::http2::Akamai;

/// What the layers of one connection match, and its first request. Every part is optional.
///
/// [`with_request`](Self::with_request) joins them with any request of the connection, for
/// [`check`](huginn_net_consistency::check). [`Fingerprinter::layers`](crate::Fingerprinter::layers) computes them from
/// bytes, [`ConnectionFingerprint::layers`](crate::ConnectionFingerprint::layers) has those of a connection.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectionLayers {
    /// The operating system of the SYN.
    pub system: Option<TcpMatch>,
    /// The software of the ClientHello.
    pub tls: Option<ClientMatch>,
    /// The Akamai fingerprint of HTTP/2.
    pub akamai: Option<Akamai>,
    /// The software of the Akamai fingerprint.
    pub http2: Option<ClientMatch>,
    /// The software of the headers of the first request, for HTTP/1.
    pub http1: Option<HttpMatch>,
    /// The first request.
    pub request: Option<Request>,
}

impl ConnectionLayers {
    /// The layers of one request of the connection.
    ///
    /// p0f's signatures of HTTP/1 include the spelling of header names, which only the first request has. Its match counts for
    /// requests with the same names in the same order and the same User-Agent, and for no other.
    pub fn with_request<'a>(&'a self, request: &'a Request) -> ClientLayers<'a> {
        let has_same_headers = |first: &Request| has_same_headers(first, request);
        ClientLayers::default()
            .system(self.system.as_ref().and_then(firm_system))
            .tls(self.tls.as_ref().map(|found| &*found.software))
            .akamai(self.akamai.as_ref())
            .http2(self.http2.as_ref().map(|found| &*found.software))
            .http1(self.http1.as_ref().filter(|_| self.request.as_ref().is_some_and(has_same_headers)))
            .request(request)
    }
}

/// Whether two requests have the same version, User-Agent, and names of headers in the same order, ignoring case. Repeated
/// names count once: servers group them.
fn has_same_headers(first: &Request, other: &Request) -> bool {
    (first.version(), first.user_agent()) == (other.version(), other.user_agent())
        && names(first).eq(names(other))
}

fn names(request: &Request) -> impl Iterator<Item = Vec<u8>> {
    let mut seen = HashSet::new();
    let names = request.headers().iter().map(|header| header.name.to_ascii_lowercase());
    names.filter(move |name| seen.insert(name.clone()))
}

/// The head of a request that a server parsed. The order of the headers is that of the map, which is the order of the wire
/// until a header is removed.
#[cfg(feature = "http")]
pub(crate) fn parsed_request<B>(request: &http::Request<B>) -> Request {
    use huginn_net_http::HttpVersion;

    let version = match request.version() {
        http::Version::HTTP_09 => HttpVersion::Http09,
        http::Version::HTTP_10 => HttpVersion::Http10,
        http::Version::HTTP_11 => HttpVersion::Http11,
        http::Version::HTTP_3 => HttpVersion::Http3,
        _ => HttpVersion::Http2,
    };
    let headers = request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    Request::new(version, request.method().as_str().as_bytes(), target.as_bytes(), headers.collect())
}
