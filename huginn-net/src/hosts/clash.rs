//! What the layers of one connection say otherwise than its handshake.

use std::sync::Arc;

use huginn_net_db::{Label, System};
use huginn_net_http::Role;

use super::stack::{same_stack, system_of};
use super::{Contradiction, Explanation, HttpNote, Statement, TlsNote};
use crate::system_check;

/// What TCP and another layer said of the sender of one connection, where they do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    tcp: Arc<str>,
    other: Statement,
    explanation: Explanation,
}

impl Clash {
    /// What a head says otherwise than the handshake of its connection.
    pub(super) fn of_head(note: &HttpNote) -> Option<Self> {
        let tcp = firm(note.tcp.as_deref())?;
        let lies = note.matched.as_ref().is_some_and(|found| found.dishonest);
        if let Some((system, text)) = note.claimed().filter(|(system, _)| !same_stack(system, &tcp.name)) {
            let who = match note.signature.role() {
                Role::Request => "User-Agent",
                Role::Response => "Server",
            };
            let by = (text != system).then(|| text.into());
            let other = Statement { who, says: system.into(), by };
            let explanation = if lies { Explanation::Lie } else { Explanation::NatProxyOrLie };
            return Some(Self { tcp: Arc::clone(&tcp.name), other, explanation });
        }
        let software = &note.matched.as_ref().filter(|found| !found.dishonest)?.label;
        // What runs nearly anywhere tells nothing.
        let says = match &*software.systems {
            _ if system_check::runs_on(software, tcp) => return None,
            [System::Name(name)] => Arc::clone(name),
            [System::Class(class)] => format!("a {class} system").into(),
            _ => return None,
        };
        let other = Statement { who: "software", says, by: Some(Arc::clone(&software.name)) };
        Some(Self { tcp: Arc::clone(&tcp.name), other, explanation: Explanation::NatProxyOrLie })
    }

    /// What a hello says otherwise than the handshake of its connection.
    pub(super) fn of_hello(note: &TlsNote) -> Option<Self> {
        let (tcp, family) = firm(note.tcp.as_deref()).zip(note.family)?;
        let says = system_of(family).filter(|system| !same_stack(system, &tcp.name))?;
        let other = Statement { who: "TLS", says: says.into(), by: Some(family.to_string().into()) };
        Some(Self { tcp: Arc::clone(&tcp.name), other, explanation: Explanation::NatProxyOrLie })
    }

    /// It, in a verdict.
    pub(super) fn told(&self, count: u32) -> Contradiction {
        let one = Statement { who: "TCP", says: Arc::clone(&self.tcp), by: None };
        Contradiction { one, other: self.other.clone(), count, explanation: self.explanation }
    }
}

/// A label that says enough to be contradicted.
fn firm(label: Option<&Label>) -> Option<&Label> {
    label.filter(|label| !label.generic && !label.is_tool())
}
