//! The events that a command line can write.

use huginn_net::record::EVENT_NAMES;

use super::refusals;
use crate::args::{EventArguments, Format, ProtocolArgument};
use crate::failure::Failure;

/// The events of p0f.
const P0F_EVENTS: [&str; 7] =
    ["tcp_syn", "tcp_syn_ack", "uptime", "host_change", "ip_sharing", "http_request", "http_response"];

/// The findings that need a baseline.
const BASELINE_FINDINGS: [&str; 5] =
    ["new_fingerprint", "new_server", "new_issuer", "new_client_of_host", "full_baseline"];

/// What decides whether an event can occur.
pub(super) struct Scope<'a> {
    pub(super) format: Format,
    pub(super) protocols: &'a [ProtocolArgument],
    pub(super) connections: bool,
    /// Whether there are watch lists.
    pub(super) watches: bool,
    /// Whether there is a baseline.
    pub(super) has_baseline: bool,
    pub(super) written: Written<'a>,
}

/// The kinds of events that a command writes or counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a> {
    /// All kinds if there are none.
    pub(super) kinds: &'a [&'static str],
    /// What leaves out the others: `--events leaves out`.
    pub(super) by: &'static str,
}

impl Written<'_> {
    pub(super) const ALL: Self = Self { kinds: &[], by: "" };

    pub(super) fn contains(&self, event: &str) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&event)
    }
}

impl<'a> Scope<'a> {
    /// Events as JSON.
    pub(super) fn new(
        protocols: &'a [ProtocolArgument],
        events: &EventArguments,
        written: Written<'a>,
    ) -> Self {
        let (connections, watches) = (events.connections, !events.alerts.fingerprints.is_empty());
        Self { format: Format::Json, protocols, connections, watches, has_baseline: false, written }
    }

    /// Events that a view counts, with connections.
    pub(super) fn of_view(protocols: &'a [ProtocolArgument], written: Written<'a>) -> Self {
        let (connections, watches) = (true, false);
        Self { format: Format::Json, protocols, connections, watches, has_baseline: false, written }
    }

    /// Fails if one of these events cannot occur.
    pub(super) fn check(&self, events: &[&str]) -> Result<(), Failure> {
        let obstacle = events.iter().find_map(|event| self.obstacle(event));
        obstacle.map_or(Ok(()), |advice| Err(Failure::Usage(advice.into())))
    }

    /// What to do so that an event can occur; `None` if it can.
    fn obstacle(&self, event: &str) -> Option<String> {
        if self.format == Format::P0f && !P0F_EVENTS.contains(&event) {
            return Some(refusals::P0F_EVENT.advice(&[event]));
        }
        let needed = match event {
            "connection" if !self.connections => "--connections",
            "match" if !self.watches => "--fingerprints",
            _ => &format!("{} in --protocols", self.missing_protocol(event)?),
        };
        Some(refusals::EVENT_NEEDS.advice(&[event, needed]))
    }

    /// What to do so that one of several events can occur; `None` if one can. Without its protocol, no other option helps.
    pub(super) fn common_obstacle(&self, events: &[&str]) -> Option<String> {
        let obstacles: Option<Vec<String>> = events.iter().map(|event| self.obstacle(event)).collect();
        let place = events.iter().position(|event| self.missing_protocol(event).is_some());
        obstacles?.into_iter().nth(place.unwrap_or_default())
    }

    /// What to do so that a field can have one of these texts, or any value.
    pub(super) fn field_obstacle(&self, field: &str, texts: &[String]) -> Option<String> {
        let needs_baseline = |text: &String| BASELINE_FINDINGS.contains(&text.as_str());
        let is_of_baseline = match field {
            "finding" => !texts.is_empty() && texts.iter().all(needs_baseline),
            "known" | "since" | "baseline" => true,
            _ => false,
        };
        if is_of_baseline && !self.has_baseline {
            let (what, name) = match texts {
                [finding, ..] if field == "finding" => ("finding", finding.as_str()),
                _ => ("field", field),
            };
            return Some(refusals::FIELD_NEEDS.advice(&[what, name, "--baseline"]));
        }
        let is_listed = field == "listed" || field.starts_with("listed.");
        let needed = ["field", field, "--fingerprints"];
        (is_listed && !self.watches).then(|| refusals::FIELD_NEEDS.advice(&needed))
    }

    /// The protocol that an event comes from, if it is not analysed.
    fn missing_protocol(&self, event: &str) -> Option<&'static str> {
        protocol(event).filter(|(protocol, _)| !self.protocols.contains(protocol)).map(|(_, name)| name)
    }

    /// Why none of several events is written; `None` if one is.
    pub(super) fn common_omission(&self, events: &[&str]) -> Option<String> {
        if events.iter().any(|event| self.written.contains(event)) {
            return None;
        }
        let Written { by, .. } = self.written;
        Some(match events {
            [] => "the condition cannot hold: no event has all of its fields".to_owned(),
            [event] => format!("{by} the event '{event}', and no other can fulfil the condition"),
            [first @ .., last] => {
                let names: Vec<String> = first.iter().map(|event| format!("'{event}'")).collect();
                let names = names.join(", ");
                format!("{by} the events {names} and '{last}', and no other can fulfil the condition")
            }
        })
    }

    /// The events of `selected`, or all if it is empty, that can occur.
    pub(super) fn possible(&self, selected: &[&'static str]) -> Vec<&'static str> {
        let is_selected = |event: &&str| selected.is_empty() || selected.contains(event);
        EVENT_NAMES
            .iter()
            .copied()
            .filter(is_selected)
            .filter(|event| self.obstacle(event).is_none())
            .collect()
    }
}

/// The only protocol that an event comes from; `None` if there are several.
fn protocol(event: &str) -> Option<(ProtocolArgument, &'static str)> {
    match event {
        "tcp_syn" | "tcp_syn_ack" | "uptime" | "tool" => Some((ProtocolArgument::Tcp, "tcp")),
        "http_request" | "http_response" => Some((ProtocolArgument::Http, "http")),
        "tls_client" | "tls_server" | "tls_handshake" | "tls_certificates" => {
            Some((ProtocolArgument::Tls, "tls"))
        }
        "ssh_client" | "ssh_server" | "ssh_handshake" => Some((ProtocolArgument::Ssh, "ssh")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_library() {
        let of_one_protocol = EVENT_NAMES.iter().copied().filter(|event| protocol(event).is_some());
        assert_eq!(of_one_protocol.count(), 13);
        assert!(P0F_EVENTS.iter().all(|event| EVENT_NAMES.contains(event)));
    }
}
