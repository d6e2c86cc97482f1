//! The systems that the handshakes of an address name one after another: what proves another host, or several.

use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_consistency::systems::{names_host, same_stack};
use huginn_net_db::TcpMatch;
use serde::{Deserialize, Serialize};

use super::Conclusion;
use super::stored::at_most;
use crate::observation::ChangeObservation;

/// Systems of an address in one role that changes are reported of: the database has about twenty.
const MAX_NAMED_SYSTEMS: usize = 8;

/// The systems of an address in one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum NamedSystems {
    #[default]
    None,
    One(Arc<str>),
    Several(Box<Several>),
}

/// At least two systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Several {
    /// Systems with different TCP stacks, in the order of their first handshakes.
    #[serde(deserialize_with = "at_most::<MAX_NAMED_SYSTEMS, _, _>")]
    pub(super) names: Vec<Arc<str>>,
    pub(super) latest: Arc<str>,
    /// Whether the address is reported as shared.
    pub(super) is_shared: bool,
}

/// The systems of an address as a client, and as a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AddressSystems {
    pub(super) client: NamedSystems,
    pub(super) server: NamedSystems,
    /// The port of the last SYN+ACK that named the latest system of the server.
    pub(super) server_port: u16,
}

/// Whether a handshake is evidence of changes: it names a system of hosts exactly, and the address belongs to a network.
pub(super) fn is_evidence(found: &TcpMatch, ip: IpAddr) -> bool {
    names_host(found) && !ip.to_canonical().is_loopback()
}

impl AddressSystems {
    /// Adds the system that a SYN names.
    pub(super) fn add_client(&mut self, name: &Arc<str>) -> Option<Conclusion> {
        self.client.add(name)
    }

    /// Adds the system that a SYN+ACK names. Another system on another port is no evidence: a router that forwards ports has
    /// hosts of several systems behind it.
    pub(super) fn add_server(&mut self, name: &Arc<str>, port: u16) -> Option<Conclusion> {
        if self.server.latest().is_some_and(|latest| !same_stack(latest, name)) && self.server_port != port {
            return None;
        }
        self.server_port = port;
        self.server.add(name)
    }

    /// Heap memory, in bytes. The database owns the names.
    pub(super) fn heap_bytes(&self) -> usize {
        self.client.heap_bytes().saturating_add(self.server.heap_bytes())
    }
}

impl NamedSystems {
    fn latest(&self) -> Option<&Arc<str>> {
        match self {
            Self::None => None,
            Self::One(name) => Some(name),
            Self::Several(several) => Some(&several.latest),
        }
    }

    /// A system that the address did not have before is a change; one that returns proves that several hosts share the address,
    /// which is reported once. A further system of a shared address is reported again.
    fn add(&mut self, name: &Arc<str>) -> Option<Conclusion> {
        let from = match self.latest() {
            None => {
                *self = Self::One(Arc::clone(name));
                return None;
            }
            Some(latest) if same_stack(latest, name) => return None,
            Some(latest) => Arc::clone(latest),
        };
        let to = Arc::clone(name);
        let several = match self {
            Self::Several(several) => several,
            Self::None | Self::One(_) => {
                let names = vec![Arc::clone(&from), Arc::clone(name)];
                *self =
                    Self::Several(Box::new(Several { names, latest: Arc::clone(name), is_shared: false }));
                return Some(Conclusion::Changed(ChangeObservation::Systems { from, to }));
            }
        };
        several.latest = Arc::clone(name);
        let returns = several.names.iter().any(|known| same_stack(known, name));
        if returns && several.is_shared || !returns && several.names.len() >= MAX_NAMED_SYSTEMS {
            return None;
        }
        if !returns {
            several.names.push(Arc::clone(name));
        }
        several.is_shared |= returns;
        let observation = ChangeObservation::Systems { from, to };
        Some(if several.is_shared {
            Conclusion::Shared(observation)
        } else {
            Conclusion::Changed(observation)
        })
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::None | Self::One(_) => 0,
            Self::Several(several) => {
                let names = several.names.capacity().saturating_mul(size_of::<Arc<str>>());
                size_of::<Several>().saturating_add(names)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conclusion after each system: `A>B` for a change, `A&B` for sharing, nothing otherwise.
    fn conclusions(names: &[&str]) -> Vec<String> {
        let mut systems = NamedSystems::default();
        let in_words = |conclusion| match conclusion {
            Some(Conclusion::Changed(ChangeObservation::Systems { from, to })) => format!("{from}>{to}"),
            Some(Conclusion::Shared(ChangeObservation::Systems { from, to })) => format!("{from}&{to}"),
            _ => String::new(),
        };
        names.iter().map(|name| in_words(systems.add(&(*name).into()))).collect()
    }

    #[test]
    fn system_that_returns_is_sharing_once() {
        let rows: [(&[&str], &[&str]); 4] = [
            (&["A", "A", "B", "B"], &["", "", "A>B", ""]),
            (&["A", "B", "A", "B", "A"], &["", "A>B", "B&A", "", ""]),
            (&["A", "B", "C", "A", "B", "C"], &["", "A>B", "B>C", "C&A", "", ""]),
            (&["A", "B", "A", "C", "B", "C", "A"], &["", "A>B", "B&A", "A&C", "", "", ""]),
        ];
        for (names, expected) in rows {
            assert_eq!(conclusions(names), expected, "{names:?}");
        }
    }

    #[test]
    fn systems_with_one_stack_are_no_difference() {
        let names = ["Linux", "Android", "Linux", "iOS", "macOS or iOS", "Android"];
        assert_eq!(conclusions(&names), ["", "", "", "Linux>iOS", "", "iOS&Android"]);
    }

    #[test]
    fn number_of_systems_has_limit() {
        let names: Vec<String> = (0..20).map(|n| format!("system {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = conclusions(&names).iter().filter(|text| !text.is_empty()).count();
        assert_eq!(found, MAX_NAMED_SYSTEMS - 1);
    }

    #[test]
    fn another_port_of_server_is_no_evidence() {
        let mut systems = AddressSystems::default();
        let [linux, windows] = ["Linux", "Windows"].map(Arc::<str>::from);
        for _ in 0..3 {
            assert_eq!(systems.add_server(&linux, 80), None);
            assert_eq!(systems.add_server(&windows, 3389), None, "the router forwards the port");
        }
        let expected = ChangeObservation::Systems { from: Arc::clone(&linux), to: Arc::clone(&windows) };
        assert_eq!(systems.add_server(&windows, 80), Some(Conclusion::Changed(expected)));
        assert_eq!(systems.add_client(&linux), None, "SYNs are compared with SYNs");
    }
}
