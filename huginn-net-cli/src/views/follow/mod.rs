//! One host with its connections, or the hosts that sent something.

mod context;
mod host;
mod offers;
mod senders;

use std::io::{self, Write};

use huginn_net::core::Escaped;
use huginn_net::hosts::JoinedHosts;
use huginn_net::http::without_port;
use huginn_net::{Event, Observation, Side};

use self::context::start_of;
pub(crate) use self::context::{Context, Subject};
use self::host::FollowedHost;
use self::senders::Senders;
use super::store::{Part, Store, ValueKind};

/// The events that concern a subject.
pub(crate) struct Followed {
    subject: Subject,
    content: Content,
    /// Index of the capture that the next events come from.
    file: usize,
}

enum Content {
    Host(Box<FollowedHost>),
    Senders(Senders),
}

impl Followed {
    pub(crate) fn new(subject: Subject) -> Self {
        let content = match subject {
            Subject::Host(ip) => Content::Host(Box::new(FollowedHost::new(ip))),
            _ => Content::Senders(Senders::default()),
        };
        Self { subject, content, file: 0 }
    }

    /// Begins a capture.
    pub(crate) fn begin_file(&mut self, index: usize) {
        self.file = index;
        if let Content::Host(host) = &mut self.content {
            host.begin_file(index);
        }
    }

    /// Whether an event concerns the subject.
    pub(crate) fn concerns(&self, event: &Event) -> bool {
        match &self.subject {
            Subject::Host(ip) => [event.flow.client, event.flow.server].iter().any(|end| end.ip() == *ip),
            Subject::ServerAddress(ip) => event.flow.server.ip() == *ip && is_asking(event),
            Subject::ServerName(name) => asked_name(event).is_some_and(|asked| is_name(asked, name)),
            // The value decides.
            Subject::Fingerprint(_) => !matches!(event.kind, Observation::Connection(_)),
        }
    }

    /// Remembers what a later event of the flow is shown with.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Content::Host(host) = &mut self.content {
            host.note(event);
        }
    }

    /// Adds an event that concerns the subject.
    pub(crate) fn add(&mut self, event: Event) {
        let Self { subject, content, file } = self;
        match (content, subject) {
            (Content::Host(host), _) => host.add(event, *file),
            (Content::Senders(senders), Subject::Fingerprint(value)) => {
                let mut store = Store::new(&[Part::Fingerprints]);
                store.add(&event);
                let mut kinds = ValueKind::fingerprints();
                if let Some(seen) = kinds.find_map(|kind| store.values.of(kind).get(value)) {
                    let name = seen.name.as_deref().map(str::to_owned);
                    senders.add(&event, event.subject_addr().ip(), name, *file);
                }
            }
            (Content::Senders(senders), _) => {
                senders.add(&event, event.flow.client.ip(), name_of(&event), *file)
            }
        }
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self, hosts: &JoinedHosts) -> bool {
        match (&self.content, &self.subject) {
            (Content::Host(host), Subject::Host(ip)) => {
                host.is_empty() && hosts.profiles_of(*ip).next().is_none()
            }
            (Content::Host(host), _) => host.is_empty(),
            (Content::Senders(senders), _) => senders.is_empty(),
        }
    }

    /// Says that nothing was found.
    pub(crate) fn nothing(&self) -> String {
        let subject = &self.subject;
        match subject {
            Subject::Host(_) => format!("No packet of a host {subject} that an event describes"),
            Subject::ServerName(_) => format!("No client asked for the name {subject}"),
            Subject::ServerAddress(_) => format!("No client asked a server {subject} for anything"),
            Subject::Fingerprint(_) => format!("No host sent {subject}"),
        }
    }

    pub(crate) fn write_text(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        match &self.content {
            Content::Host(host) => host.write_text(out, context),
            Content::Senders(senders) => senders.write_text(out, &self.subject, context),
        }
    }

    pub(crate) fn write_json(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        match &self.content {
            Content::Host(host) => host.write_json(out, context),
            Content::Senders(senders) => senders.write_json(out, context),
        }
    }
}

/// Whether a client sent something by which it is known: a SYN, a hello, a request.
fn is_asking(event: &Event) -> bool {
    let is_known = matches!(
        event.kind,
        Observation::Tcp(_)
            | Observation::HttpRequest(_)
            | Observation::TlsClient(_)
            | Observation::SshClient(_)
    );
    is_known && event.subject == Side::Client
}

/// The name that a hello or a request asks for.
fn asked_name(event: &Event) -> Option<&[u8]> {
    match &event.kind {
        Observation::TlsClient(observation) => observation.client.hello.server_name(),
        Observation::HttpRequest(observation) => observation.request.host(),
        _ => None,
    }
}

/// Whether a text is this name, in any case and with any port.
fn is_name(text: &[u8], name: &str) -> bool {
    without_port(text).eq_ignore_ascii_case(name.as_bytes())
}

/// The software of a client, as the event shows it.
fn name_of(event: &Event) -> Option<String> {
    match &event.kind {
        Observation::TlsClient(observation) => observation.software().map(|found| found.software.to_string()),
        Observation::HttpRequest(observation) => {
            match (observation.verdict.name(), observation.request.user_agent()) {
                (Some(name), _) => Some(name.to_string()),
                (None, Some(text)) => Some(format!("{:#}", Escaped(start_of(text)))),
                (None, None) => None,
            }
        }
        Observation::SshClient(observation) => observation.software().map(|found| found.software.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn name_matches_in_any_case_and_with_any_port() {
        let rows: [(&[u8], bool); 6] = [
            (b"example.org", true),
            (b"EXAMPLE.org:8080", true),
            (b"example.org.", false),
            (b"www.example.org", false),
            (b"example.or", false),
            (b"example.org:x", false),
        ];
        for (text, wanted) in rows {
            assert_eq!(is_name(text, "example.org"), wanted, "{}", text.escape_ascii());
        }
    }
}
