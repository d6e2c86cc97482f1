//! Computes fingerprints.

use std::fmt::{self, Display, Write};
use std::sync::Arc;

use huginn_net_consistency::{ClientBytes, Consistency, check};
use huginn_net_db::{ClientDatabase, Database};
use huginn_net_db::{ClientMatch, Distance, TcpMatch};
use huginn_net_http::http2::{Akamai, Http2Event, Http2Reader, PREFACE};
use huginn_net_http::{HttpSignature, Request};
use huginn_net_tcp::TcpSignature;
use huginn_net_tls::{
    ClientHello, Ja4Form, Ja4Raw, KeyShare, QuicFingerprint, QuicVersion, Transport, is_grease,
    names as tls_names,
};
use huginn_net_wire::{Escaped, Joined};

use crate::fingerprint::{
    ClientVerdict, HttpFingerprint, JoinedNames, JoinedReasons, TcpFingerprint, TlsFingerprint,
};
use crate::{ClientFingerprint, ConnectionLayers, MAX_TEXT_LEN};

/// Computes [`ClientFingerprint`]s with a database of signatures and a database of clients. Cheap to clone.
///
/// ```
/// use huginn_net_consistency::ClientBytes;
/// use huginn_net_proxy::Fingerprinter;
///
/// // Sent by curl 7.88.1 with OpenSSL 3.0.
/// let (hello, http) = (include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin"), include_bytes!("../../huginn-net-http/http2/curl.bin"));
/// let client = ClientBytes::default().tls(hello).http(http);
/// let fingerprint = Fingerprinter::default().fingerprint(&client);
/// let (tls, http) = (fingerprint.tls.as_ref().unwrap(), fingerprint.http.as_ref().unwrap());
/// assert_eq!(tls.ja4.to_string(), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
/// assert_eq!(http.akamai.as_deref(), Some("3:100;4:33554432;2:0|33488897|0|m,p,s,a"));
/// assert!(http.header_order.as_ref().unwrap().iter().eq(["user-agent", "accept"]));
/// ```
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    signatures: Arc<Database>,
    /// `None` for the built-in one.
    clients: Option<Arc<ClientDatabase>>,
}

/// The built-in databases.
impl Default for Fingerprinter {
    fn default() -> Self {
        Self { signatures: Database::builtin().clone(), clients: None }
    }
}

impl Fingerprinter {
    /// Names operating systems and HTTP/1 software with these signatures.
    #[must_use]
    pub fn with_signatures(mut self, signatures: Arc<Database>) -> Self {
        self.signatures = signatures;
        self
    }

    /// Names TLS and HTTP/2 clients with this database.
    #[must_use]
    pub fn with_clients(mut self, clients: Arc<ClientDatabase>) -> Self {
        self.clients = Some(clients);
        self
    }

    /// Computes the fingerprint of the first bytes of a client. A layer that is incomplete or cannot be parsed is `None`.
    pub fn fingerprint(&self, client: &ClientBytes<'_>) -> ClientFingerprint {
        self.parse(client).0
    }

    /// Parses the layers of a client, without the texts of a fingerprint. A layer that is incomplete or cannot be parsed
    /// is `None`.
    pub fn layers(&self, client: &ClientBytes<'_>) -> ConnectionLayers {
        self.parse(client).1
    }

    /// Compares a request with the layers of its connection.
    pub fn verdict(&self, layers: &ConnectionLayers, request: &Request) -> ClientVerdict {
        verdict(&check(&layers.with_request(request), &self.signatures))
    }

    /// Computes the fingerprint and the layers.
    pub(crate) fn parse(&self, client: &ClientBytes<'_>) -> (ClientFingerprint, ConnectionLayers) {
        let clients = self.clients.as_deref().unwrap_or_else(|| ClientDatabase::builtin());
        let syn = client.syn.and_then(|bytes| TcpSignature::from_ip_packet(bytes).ok()?);
        let syn = syn.map(|parsed| parsed.value);
        let hello = client.client_hello().ok().flatten();
        let (request, akamai) = client.http.map(parse_http).unwrap_or_default();
        let http1 = request.as_ref().filter(|_| akamai.is_none()).map(HttpSignature::from_request);
        let layers = ConnectionLayers {
            system: syn.as_ref().and_then(|syn| self.signatures.match_syn(syn)),
            tls: hello.as_ref().and_then(|hello| clients.match_hello(hello)),
            http2: akamai.as_ref().and_then(|akamai| clients.match_akamai(akamai.hash())),
            http1: http1.and_then(|signature| self.signatures.match_request(&signature)),
            akamai,
            request,
        };
        let fingerprint = ClientFingerprint {
            tcp: syn.map(|syn| tcp(&syn, layers.system.as_ref())),
            tls: hello.map(|hello| tls(&hello, client.quic_version, layers.tls.as_ref())),
            http: layers.request.as_ref().map(|request| self.http(request, &layers)),
            consistency: layers.request.as_ref().map(|request| self.verdict(&layers, request)),
        };
        (fingerprint, layers)
    }

    fn http(&self, request: &Request, layers: &ConnectionLayers) -> HttpFingerprint {
        let raw_sig = HttpSignature::from_request(request);
        let label = layers.http1.as_ref().map(|found| found.label.to_string());
        let akamai = layers.akamai.as_ref();
        HttpFingerprint {
            version: request.version(),
            akamai: akamai.and_then(text),
            akamai_hash: akamai.map(Akamai::hash),
            header_order: names(|| request.headers().iter().map(|header| header.name)),
            sig: text(raw_sig.raw_sig(|name| self.signatures.contains_header_name(name))),
            software: layers.http2.as_ref().map(|found| found.software.to_string()).or(label),
        }
    }
}

/// The first request, and the fingerprint of HTTP/2. Damage behind the first request changes nothing.
fn parse_http(bytes: &[u8]) -> (Option<Request>, Option<Akamai>) {
    let (mut request, mut akamai) = (None, None);
    if bytes.starts_with(PREFACE) {
        let _ = Http2Reader::client().push(bytes, &mut |event| match event {
            Http2Event::Akamai(found) => akamai = Some(found),
            Http2Event::Request { request: found, .. } if request.is_none() => request = Some(found),
            _ => {}
        });
    } else {
        // Empty lines may precede a request (RFC 9112, section 2.2).
        let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len());
        let parsed = Request::parse(bytes.get(start..).unwrap_or_default());
        request = parsed.ok().flatten().map(|parsed| parsed.value);
    }
    (request, akamai)
}

fn tcp(syn: &TcpSignature, found: Option<&TcpMatch>) -> TcpFingerprint {
    TcpFingerprint {
        sig: syn.to_string(),
        system: found.map(|found| found.name().to_string()),
        fuzzy: found.is_some_and(TcpMatch::is_fuzzy),
        distance: found.map_or_else(|| Distance::guess(syn), |found| found.distance).hops,
    }
}

fn tls(
    hello: &ClientHello<'_>,
    quic_version: Option<QuicVersion>,
    found: Option<&ClientMatch>,
) -> TlsFingerprint {
    let [sorted, original, stable] =
        [Ja4Form::Sorted, Ja4Form::Original, Ja4Form::SessionStable].map(|form| hello.ja4_raw(form));
    let ja3 = hello.ja3();
    TlsFingerprint {
        version: hello.version(),
        sni: hello.server_name().and_then(|name| text(format_args!("{:#}", Escaped(name)))),
        alpn: names(|| hello.alpn()),
        ja4: sorted.ja4(),
        ja4_r: bounded(&sorted),
        ja4_o: original.ja4(),
        ja4_ro: bounded(&original),
        ja4_stable: stable.ja4(),
        ja4_stable_r: bounded(&stable),
        ja3: text(ja3.as_str()),
        ja3_hash: ja3.hash(),
        key_shares: text(KeyShareList(hello)).and_then(JoinedNames::new),
        ech: hello.ech().map(|ech| ech.kind_name().to_owned()),
        quic: quic_version
            .filter(|_| hello.transport() == Transport::Quic)
            .and_then(|version| text(QuicFingerprint::sorted(version, hello.transport_parameters()))),
        software: found.map(|found| found.software.to_string()),
    }
}

fn verdict(found: &Consistency) -> ClientVerdict {
    let reasons = text(Joined(&found.reasons, JoinedReasons::SEPARATOR)).and_then(JoinedReasons::new);
    ClientVerdict { outcome: found.outcome, reasons: reasons.unwrap_or_default() }
}

/// Displays the groups of the key shares without GREASE, each with the length of its key.
struct KeyShareList<'a>(&'a ClientHello<'a>);

impl Display for KeyShareList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = self.0.key_shares().filter(|share| !is_grease(share.group));
        for (index, KeyShare { group, key, .. }) in shares.enumerate() {
            f.write_str(if index == 0 { "" } else { JoinedNames::SEPARATOR })?;
            match tls_names::group(group) {
                Some(name) => write!(f, "{name}:{}", key.len())?,
                None => write!(f, "{group:04x}:{}", key.len())?,
            }
        }
        Ok(())
    }
}

/// The names as a list; `None` if there are none, or if their text is too long.
fn names<'a, I: Iterator<Item = &'a [u8]>>(names: impl Fn() -> I) -> Option<JoinedNames> {
    JoinedNames::new(text(List(names))?)
}

/// The lists of a hello; `None` if their text is too long.
fn bounded(lists: &Ja4Raw) -> Option<Ja4Raw> {
    /// Counts the bytes that fit.
    struct Room(usize);
    impl Write for Room {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    write!(Room(MAX_TEXT_LEN), "{lists}").ok().map(|()| lists.clone())
}

/// Displays byte strings, escaped and joined by commas.
struct List<F>(F);

impl<'a, I: Iterator<Item = &'a [u8]>, F: Fn() -> I> Display for List<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, element) in self.0().enumerate() {
            let separator = if index == 0 { "" } else { JoinedNames::SEPARATOR };
            f.write_str(separator)?;
            for (index, part) in element.split(|byte| *byte == b',').enumerate() {
                let comma = if index == 0 { "" } else { "\\x2c" };
                write!(f, "{comma}{:#}", Escaped(part))?;
            }
        }
        Ok(())
    }
}

/// The text of a value; `None` if it is empty or longer than [`MAX_TEXT_LEN`].
fn text(value: impl Display) -> Option<String> {
    struct Bounded(String);
    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if self.0.len().saturating_add(text.len()) > MAX_TEXT_LEN {
                return Err(fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut bounded = Bounded(String::new());
    write!(bounded, "{value}").ok()?;
    Some(bounded.0).filter(|text| !text.is_empty())
}
