//! The names that clients asked servers for, and the certificates of servers.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use huginn_net::core::{Escaped, HexDigits};
use huginn_net::tls::Certificate;
use huginn_net::{Event, Observation, Side};

use super::bounded::Bounded;
use crate::limits::{MAX_FOLLOWED_SERVERS, MAX_OVERVIEW_TEXT};

/// Maximum number of servers of a side in a comparison.
const MAX_COMPARED_SERVERS: usize = 1 << 16;

/// Servers with a list of texts of each. Memory is bounded.
pub(crate) type ServerTexts = Bounded<SocketAddr, BTreeSet<String>, MAX_COMPARED_SERVERS>;

/// The servers of events.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Names that clients asked a server for.
    pub(crate) names: ServerTexts,
    /// The own certificates of servers.
    pub(crate) certificates: ServerTexts,
    /// Whether a server has more names or certificates.
    has_more_texts: bool,
}

impl Servers {
    /// Whether a limit left out servers, names or certificates.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more_texts || self.names.left_out() > 0 || self.certificates.left_out() > 0
    }

    /// Adds an event, if it is one of a server.
    pub(super) fn add(&mut self, event: &Event) {
        let server = event.flow.server;
        match &event.kind {
            Observation::TlsServer(_) | Observation::HttpResponse(_) | Observation::SshServer(_) => {
                self.add_name(server, None)
            }
            Observation::TlsClient(observation) => {
                self.add_name(server, observation.client.hello.server_name())
            }
            Observation::HttpRequest(observation) => self.add_name(server, observation.request.host()),
            Observation::TlsCertificates(observation) if event.subject == Side::Server => {
                let own = observation.certificates.certificates.first().map(certificate_in_words);
                self.has_more_texts |= add_text(&mut self.certificates, event.subject_addr(), own);
            }
            _ => {}
        }
    }

    fn add_name(&mut self, server: SocketAddr, name: Option<&[u8]>) {
        let name = name.map(|name| {
            let name = name.get(..MAX_OVERVIEW_TEXT).unwrap_or(name).to_ascii_lowercase();
            format!("{:#}", Escaped(&name))
        });
        self.has_more_texts |= add_text(&mut self.names, server, name);
    }
}

/// Adds a server and a text of it. Returns whether the server has more texts than the limit.
fn add_text(servers: &mut ServerTexts, server: SocketAddr, text: Option<String>) -> bool {
    let (Some(texts), Some(text)) = (servers.entry(server), text) else { return false };
    if texts.len() >= MAX_FOLLOWED_SERVERS {
        return !texts.contains(&text);
    }
    texts.insert(text);
    false
}

/// Subject, issuer and validity of a certificate, and its SHA-256.
fn certificate_in_words(certificate: &Certificate) -> String {
    let text = certificate.to_string();
    let text = text.as_bytes().get(..MAX_OVERVIEW_TEXT).unwrap_or(text.as_bytes());
    format!("{:#}, SHA-256 {}", Escaped(text), HexDigits(certificate.sha256()))
}
