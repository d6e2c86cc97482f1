//! Conflicts between the handshake of a connection and its HTTP or TLS layer.

use std::sync::Arc;

use huginn_net_consistency::systems;
use huginn_net_consistency::systems::{same_stack, system_from_family};
use huginn_net_db::{SoftwareClaim, System};
use huginn_net_http::Role;
use serde::{Deserialize, Serialize};

use super::{Contradiction, Explanation, HttpUpdate, Statement, TlsUpdate};

/// A disagreement of TCP and another layer on the operating system of one sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Conflict {
    pub(super) tcp: Arc<str>,
    pub(super) other: Statement,
    pub(super) explanation: Explanation,
}

/// The contradiction between a request and the handshake of its connection.
pub(crate) fn contradiction_of_head(update: &HttpUpdate) -> Option<Contradiction> {
    Some(Conflict::from_head(update)?.to_contradiction(1))
}

impl Conflict {
    /// The conflict between an HTTP head and the handshake of its connection.
    pub(super) fn from_head(update: &HttpUpdate) -> Option<Self> {
        let tcp = update.tcp.as_deref()?;
        let matched = update.matched.as_ref();
        let is_dishonest = matched.is_some_and(|found| found.claim == SoftwareClaim::Dishonest);
        let explanation = match update.role {
            // A CDN or load balancer ends the connections of its servers.
            Role::Response => Explanation::LoadBalancer,
            Role::Request if update.is_imitation || is_dishonest => Explanation::Imitation,
            Role::Request => Explanation::Unexplained,
        };
        if let Some((system, text)) = update.claimed().filter(|(system, _)| !same_stack(system, &tcp.name)) {
            let who = match update.role {
                Role::Request => "User-Agent",
                Role::Response => "Server",
            };
            let by = (text != system).then(|| Arc::clone(text));
            let other = Statement { who, says: Arc::clone(system), by };
            return Some(Self { tcp: Arc::clone(&tcp.name), other, explanation });
        }
        let software = &matched.filter(|found| found.claim == SoftwareClaim::Agrees)?.label;
        // Software that runs on most systems is not evidence.
        let says = match &*software.systems {
            _ if systems::runs_on(software, tcp) => return None,
            [System::Name(name)] => Arc::clone(name),
            [System::Class(class)] => format!("a {class} system").into(),
            _ => return None,
        };
        let other = Statement { who: "software", says, by: Some(Arc::clone(&software.name)) };
        Some(Self { tcp: Arc::clone(&tcp.name), other, explanation })
    }

    /// The conflict between a ClientHello and the handshake of its connection.
    pub(super) fn from_hello(update: &TlsUpdate) -> Option<Self> {
        let (tcp, family) = update.tcp.as_deref().zip(update.family)?;
        let says = system_from_family(family).filter(|system| !same_stack(system, &tcp.name))?;
        let by = update.software.as_deref().unwrap_or(family.name()).into();
        let other = Statement { who: "TLS", says: says.into(), by: Some(by) };
        Some(Self { tcp: Arc::clone(&tcp.name), other, explanation: Explanation::Unexplained })
    }

    /// Whether the conflict makes the same claim as a statement. The matched software and the
    /// User-Agent or Server header count as one source, because both come from the same head.
    pub(super) fn matches(&self, statement: &Statement) -> bool {
        let is_hello = |one: &Statement| one.who == "TLS";
        self.other.says == statement.says && is_hello(&self.other) == is_hello(statement)
    }

    /// Upper bound of the heap memory, in bytes; the database shares some of the texts.
    pub(super) fn heap_bytes(&self) -> usize {
        let arc = |text: &Arc<str>| text.len().saturating_add(size_of::<[usize; 2]>());
        arc(&self.other.says).saturating_add(self.other.by.as_ref().map_or(0, arc))
    }

    /// Converts the conflict to a contradiction of a verdict.
    pub(super) fn to_contradiction(&self, count: u32) -> Contradiction {
        let one = Statement { who: "TCP", says: Arc::clone(&self.tcp), by: None };
        Contradiction { one, other: self.other.clone(), count, explanation: self.explanation }
    }
}
