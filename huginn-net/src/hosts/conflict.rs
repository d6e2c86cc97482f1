//! What the layers of one connection say otherwise than its handshake.

use std::sync::Arc;

use huginn_net_db::System;
use huginn_net_http::Role;

use super::stack::{same_stack, system_from_family};
use super::{Contradiction, Explanation, HttpUpdate, Statement, TlsUpdate};
use crate::system_check;

/// What TCP and another layer said of the sender of one connection, where they do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    tcp: Arc<str>,
    other: Statement,
    explanation: Explanation,
}

impl Conflict {
    /// What a head says otherwise than the handshake of its connection.
    pub(super) fn from_head(update: &HttpUpdate) -> Option<Self> {
        let tcp = update.tcp.as_deref()?;
        let lies = update.matched.as_ref().is_some_and(|found| found.dishonest);
        if let Some((system, text)) = update.claimed().filter(|(system, _)| !same_stack(system, &tcp.name)) {
            let who = match update.role {
                Role::Request => "User-Agent",
                Role::Response => "Server",
            };
            let by = (text != system).then(|| Arc::clone(text));
            let other = Statement { who, says: Arc::clone(system), by };
            let explanation = if lies { Explanation::Lie } else { Explanation::NatProxyOrLie };
            return Some(Self { tcp: Arc::clone(&tcp.name), other, explanation });
        }
        let software = &update.matched.as_ref().filter(|found| !found.dishonest)?.label;
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
    pub(super) fn from_hello(update: &TlsUpdate) -> Option<Self> {
        let (tcp, family) = update.tcp.as_deref().zip(update.family)?;
        let says = system_from_family(family).filter(|system| !same_stack(system, &tcp.name))?;
        let other = Statement { who: "TLS", says: says.into(), by: Some(family.to_string().into()) };
        Some(Self { tcp: Arc::clone(&tcp.name), other, explanation: Explanation::NatProxyOrLie })
    }

    /// Whether it tells what a statement does, whatever it is held against: of a head either its software or its header.
    pub(super) fn matches(&self, statement: &Statement) -> bool {
        let is_hello = |one: &Statement| one.who == "TLS";
        self.other.says == statement.says && is_hello(&self.other) == is_hello(statement)
    }

    /// Memory that it may take up beside itself, in bytes; some of its texts are those of a database.
    pub(super) fn heap_bytes(&self) -> usize {
        let arc = |text: &Arc<str>| text.len().saturating_add(size_of::<[usize; 2]>());
        arc(&self.other.says).saturating_add(self.other.by.as_ref().map_or(0, arc))
    }

    /// It, in a verdict.
    pub(super) fn to_contradiction(&self, count: u32) -> Contradiction {
        let one = Statement { who: "TCP", says: Arc::clone(&self.tcp), by: None };
        Contradiction { one, other: self.other.clone(), count, explanation: self.explanation }
    }
}
