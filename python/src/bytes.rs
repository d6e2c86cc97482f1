//! Fingerprints of bytes, for programs that end connections themselves.

use huginn_net::consistency::ClientBytes;
use huginn_net::core::Escaped;
use huginn_net::explain::Fingerprint;
use huginn_net::http::http2::Akamai;
use huginn_net::tcp::{Handshake, TcpSignature};
use huginn_net::tls::quic::ClientInitials;
use huginn_net::tls::{self, Ja4Form};
use huginn_net::{ClientDatabase, Database};
use huginn_net_proxy::{Fingerprinter, Recording};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The fingerprints of a ClientHello.
#[pyclass(frozen, get_all)]
pub(crate) struct ClientHello {
    ja4: String,
    ja4_r: String,
    ja4_o: String,
    ja4_ro: String,
    ja3: String,
    ja3_hash: String,
    /// The server name, if the client asks for one.
    sni: Option<String>,
    alpn: Vec<String>,
    /// The software that the fingerprint names, if it is known.
    software: Option<String>,
    /// Length of the hello in the bytes.
    consumed: usize,
}

#[pymethods]
impl ClientHello {
    fn __repr__(&self) -> String {
        format!("<ClientHello {}>", self.ja4)
    }
}

/// Parses the TLS records that a client sends first; `None` if they are not complete yet.
///
/// Raises ValueError if they are not a ClientHello.
#[pyfunction]
pub(crate) fn client_hello(data: &[u8]) -> PyResult<Option<ClientHello>> {
    let Some(parsed) = tls::ClientHello::from_records(data).map_err(invalid)? else { return Ok(None) };
    let hello = parsed.value;
    let ja3 = hello.ja3();
    let [sorted, original] = [Ja4Form::Sorted, Ja4Form::Original].map(|form| hello.ja4_raw(form));
    Ok(Some(ClientHello {
        ja4: sorted.ja4().to_string(),
        ja4_r: sorted.to_string(),
        ja4_o: original.ja4().to_string(),
        ja4_ro: original.to_string(),
        ja3: ja3.as_str().to_owned(),
        ja3_hash: ja3.hash().to_string(),
        sni: hello.server_name().map(|name| format!("{:#}", Escaped(name))),
        alpn: hello.alpn().map(|name| format!("{:#}", Escaped(name))).collect(),
        software: ClientDatabase::builtin().match_hello(&hello).map(|found| found.software.to_string()),
        consumed: parsed.consumed,
    }))
}

/// The fingerprint of an HTTP/2 client.
#[pyclass(frozen, get_all)]
pub(crate) struct Http2Client {
    akamai: String,
    akamai_hash: String,
}

#[pymethods]
impl Http2Client {
    fn __repr__(&self) -> String {
        format!("<Http2Client {}>", self.akamai)
    }
}

/// Parses the decrypted bytes that an HTTP/2 client sends first, to its first HEADERS; `None` if they are not complete
/// yet.
///
/// Raises ValueError if they are not HTTP/2.
#[pyfunction]
pub(crate) fn http2_client(data: &[u8]) -> PyResult<Option<Http2Client>> {
    let parsed = Akamai::from_client_bytes(data).map_err(invalid)?;
    Ok(parsed.map(|parsed| Http2Client {
        akamai: parsed.value.to_string(),
        akamai_hash: parsed.value.hash().to_string(),
    }))
}

/// The signature of a SYN or SYN+ACK, and the system that it matches.
#[pyclass(frozen, get_all)]
pub(crate) struct TcpSyn {
    sig: String,
    /// The label of the match: `Linux 4.20 or newer`.
    label: Option<String>,
}

#[pymethods]
impl TcpSyn {
    fn __repr__(&self) -> String {
        format!("<TcpSyn {}>", self.sig)
    }
}

/// Parses an IP packet with a SYN or SYN+ACK, such as Linux saves with TCP_SAVE_SYN; `None` if it is cut.
///
/// Raises ValueError if it is not such a packet.
#[pyfunction]
pub(crate) fn tcp_syn(data: &[u8]) -> PyResult<Option<TcpSyn>> {
    let Some(parsed) = TcpSignature::from_ip_packet(data).map_err(invalid)? else { return Ok(None) };
    let signature = parsed.value;
    let database = Database::builtin();
    let found = match signature.handshake {
        Handshake::Syn => database.match_syn(&signature),
        Handshake::SynAck => database.match_syn_ack(&signature),
    };
    Ok(Some(TcpSyn { sig: signature.to_string(), label: found.map(|found| found.name().to_string()) }))
}

/// The fingerprint of a client over all layers, as JSON.
#[pyfunction]
#[pyo3(signature = (syn, tls, quic, http))]
pub(crate) fn client_fingerprint(
    syn: Option<&[u8]>,
    tls: Option<&[u8]>,
    quic: Vec<Vec<u8>>,
    http: Option<&[u8]>,
) -> PyResult<String> {
    let mut initials = ClientInitials::new();
    // A damaged datagram hides nothing.
    let hello = quic.iter().find_map(|datagram| initials.push(datagram).ok()?.value());
    let record = |mut recording: Recording, bytes: Option<&[u8]>| {
        recording.push(bytes.unwrap_or_default());
        recording
    };
    let (tls, http) = (record(Recording::tls(), tls), record(Recording::http(), http));
    let quic_version = initials.client().map(|client| client.version);
    let (tls, http) = (tls.complete(), http.complete());
    let mut bytes = ClientBytes::default().hello(hello.as_ref()).quic_version(quic_version);
    (bytes.syn, bytes.tls, bytes.http) = (syn, tls, http);
    serde_json::to_string(&Fingerprinter::default().fingerprint(&bytes)).map_err(invalid)
}

/// Describes a fingerprint in text, as `huginn-net explain` does: JA4, JA3, JA3S, HASSH, Akamai's fingerprint of HTTP/2, the
/// MD5 of these, a QUIC fingerprint, or a p0f signature. With a second JA4 it lists the differences.
///
/// Raises ValueError for other texts.
#[pyfunction]
#[pyo3(signature = (fingerprint, other=None))]
pub(crate) fn explain(fingerprint: &str, other: Option<&str>) -> PyResult<String> {
    let fingerprint: Fingerprint = fingerprint.parse().map_err(invalid)?;
    let mut text = Vec::new();
    match other {
        Some(other) => {
            let other: Fingerprint = other.parse().map_err(invalid)?;
            let written = fingerprint.compare(&mut text, &other);
            written.ok_or_else(|| PyValueError::new_err("only two JA4 are compared"))??;
        }
        None => fingerprint.describe(&mut text, ClientDatabase::builtin(), Database::builtin())?,
    }
    String::from_utf8(text).map_err(invalid)
}
