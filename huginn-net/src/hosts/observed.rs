//! The values of events.

use std::net::IpAddr;

use huginn_net_core::{Escaped, Side};
use huginn_net_tcp::{Handshake, TcpSignature};
use huginn_net_tls::Transport;
use serde::{Deserialize, Serialize};

use super::host_name;
use crate::Observation;
use crate::limits::MAX_BASELINE_VALUE_BYTES;
use crate::observation::{
    BaselineType, HttpRequestObservation, TlsCertificatesObservation, TlsClientObservation,
};

/// What an event shows of the values of baselines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Observed {
    /// In the order in which they are compared. [`BaselineType::Client`] is without its address, [`BaselineType::Server`] is the
    /// name or empty: the flow of the event has the rest.
    pub(in crate::hosts) values: Vec<BaselineValue>,
    /// What the event says of a server without a name.
    pub(in crate::hosts) unnamed: Option<Unnamed>,
}

/// A step of a TLS handshake with a server without a name, which is compared once the handshake completed, unless the certificate has
/// decided before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::hosts) enum Unnamed {
    /// The client asks for no name.
    Asked,
    /// A public authority issued the certificate, which has the names.
    Certified,
    /// The handshake completed, whether or not the client asked for a name.
    Completed,
}

impl Observed {
    /// The values of an observation about a side; `None` if it has none that baselines list.
    pub(crate) fn of(observation: &Observation, subject: Side) -> Option<Self> {
        let mut found = Self::default();
        match observation {
            Observation::Tcp(tcp) if tcp.signature.handshake == Handshake::Syn => {
                found.add(BaselineType::TcpSyn, at_sender(&tcp.signature).to_string());
            }
            Observation::TlsClient(hello) => found.add_hello(hello),
            Observation::TlsHandshake(found) if found.handshake.completed => {
                return Some(Self { unnamed: Some(Unnamed::Completed), ..Self::default() });
            }
            Observation::TlsCertificates(certificates) if subject == Side::Server => {
                found.add_certificate(certificates);
            }
            Observation::HttpRequest(request) => found.add_request(request),
            Observation::SshClient(client) => {
                found.add(BaselineType::Hassh, client.peer.hassh()?.to_string());
            }
            Observation::SshServer(server) => {
                found.add(BaselineType::HasshServer, server.peer.hassh()?.to_string());
            }
            Observation::Tool(tool) => found.add(BaselineType::Tool, tool.label.to_string()),
            _ => return None,
        }
        (!found.values.is_empty()).then_some(found)
    }

    fn add(&mut self, kind: BaselineType, value: String) {
        self.values.push(BaselineValue { kind, value: value.into_boxed_str() });
    }

    fn add_hello(&mut self, hello: &TlsClientObservation) {
        let hello = &hello.client.hello;
        let ja4 = hello.ja4_stable();
        self.add(BaselineType::Ja4Stable, ja4.to_string());
        // Datagrams are easily forged, and peers of calls have neither names nor addresses that stay.
        let is_tls = hello.transport() == Transport::Tls;
        if is_tls {
            self.add(BaselineType::Client, ja4.cipher_hash().to_string());
        }
        match hello.server_name().and_then(name_text) {
            Some(name) => self.add(BaselineType::Name, name),
            None => self.unnamed = is_tls.then_some(Unnamed::Asked),
        }
    }

    fn add_request(&mut self, found: &HttpRequestObservation) {
        if let Some(akamai) = &found.akamai {
            let text = akamai.to_string();
            let is_long = text.len() > MAX_BASELINE_VALUE_BYTES;
            self.add(BaselineType::Akamai, if is_long { akamai.hash().to_string() } else { text });
        }
        if let Some(user_agent) = found.request.user_agent().filter(|text| !text.is_empty()) {
            let text = user_agent.get(..MAX_BASELINE_VALUE_BYTES).unwrap_or(user_agent);
            self.add(BaselineType::UserAgent, printable(text));
        }
        match found.request.host().and_then(name_text) {
            Some(name) => self.add(BaselineType::Name, name),
            None => self.add(BaselineType::Server, String::new()),
        }
    }

    fn add_certificate(&mut self, found: &TlsCertificatesObservation) {
        let Some(leaf) = found.certificates.certificates.first() else { return };
        let digits: String = leaf.sha256().iter().map(|byte| format!("{byte:02x}")).collect();
        self.add(BaselineType::Certificate, digits);
        let Some(fields) = leaf.fields() else { return };
        let issuer = fields.issuer.as_deref().filter(|_| !fields.is_self_issued);
        let authority = issuer.and_then(authority);
        if let Some(issuer) = issuer {
            let name = authority.clone().unwrap_or_else(|| shortened(issuer.to_owned()));
            self.add(BaselineType::Issuer, name);
        }
        if authority.is_none() {
            let name = found.certificates.server_name.as_deref().and_then(name_text);
            self.add(BaselineType::Server, name.unwrap_or_default());
        } else {
            self.unnamed = Some(Unnamed::Certified);
        }
    }
}

/// A server name or Host header without port; `None` for an address.
fn name_text(name: &[u8]) -> Option<String> {
    let name = host_name(name)?;
    let text = printable(&name);
    let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text);
    address.parse::<IpAddr>().is_err().then_some(text)
}

fn printable(bytes: &[u8]) -> String {
    shortened(format!("{:#}", Escaped(bytes)))
}

fn shortened(mut text: String) -> String {
    let mut end = text.len().min(MAX_BASELINE_VALUE_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.truncate(end);
    text
}

/// Organization and country of an issuer, which all public authorities have (CA/Browser Forum's Baseline Requirements, section
/// 7.1.2.10.2), and which stay when an authority changes its intermediate certificates. `None` for other issuers: they are private.
pub(in crate::hosts) fn authority(issuer: &str) -> Option<String> {
    let (organization, country) = (attribute(issuer, "O")?, attribute(issuer, "C")?);
    Some(shortened(format!("O={organization},C={country}")))
}

/// The value of an attribute of a name as in RFC 4514.
fn attribute<'n>(name: &'n str, wanted: &str) -> Option<&'n str> {
    let mut is_escaped = false;
    let mut parts = name.split(|character| {
        let separates = matches!(character, ',' | '+') && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        separates
    });
    parts.find_map(|part| part.strip_prefix(wanted)?.strip_prefix('='))
}

/// The signature with the TTL that the sender most likely used: the way to the sender is not part of a fingerprint.
fn at_sender(signature: &TcpSignature) -> TcpSignature {
    let mut signature = *signature;
    signature.ttl = signature.ttl.saturating_add(signature.distance());
    signature
}

/// A value of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BaselineValue {
    #[serde(rename = "type")]
    pub(in crate::hosts) kind: BaselineType,
    pub(in crate::hosts) value: Box<str>,
}
