//! Names of the interfaces of a source.

use std::sync::{Arc, PoisonError, RwLock};

/// Names of interfaces that patterns match, by their number after those of the inputs.
pub(crate) type JoinedNames = Arc<RwLock<Vec<Arc<str>>>>;

/// The names of the interfaces of a source, by the number that [`Timestamp::interface`](huginn_net_core::Timestamp::interface) has. Clones
/// share the names of interfaces that join later.
#[derive(Clone, Debug, Default)]
pub struct InterfaceNames {
    inputs: Arc<[Arc<str>]>,
    /// `None` without patterns.
    joined: Option<JoinedNames>,
}

impl InterfaceNames {
    pub(crate) fn new(inputs: Vec<String>, joined: Option<JoinedNames>) -> Self {
        Self { inputs: inputs.into_iter().map(Arc::from).collect(), joined }
    }

    /// Returns the name of an interface. An interface that patterns match has its own name, others the one that was typed.
    pub fn get(&self, interface: u16) -> Option<Arc<str>> {
        let number = usize::from(interface);
        if let Some(name) = self.inputs.get(number) {
            return Some(Arc::clone(name));
        }
        let joined = self.joined.as_ref()?.read().unwrap_or_else(PoisonError::into_inner);
        joined.get(number.checked_sub(self.inputs.len())?).map(Arc::clone)
    }

    /// Returns the inputs as they were named; patterns are one input.
    pub fn inputs(&self) -> &[Arc<str>] {
        &self.inputs
    }

    /// Whether frames may come from several interfaces.
    pub fn are_several(&self) -> bool {
        self.joined.is_some() || self.inputs.len() > 1
    }
}

impl From<Vec<String>> for InterfaceNames {
    /// Takes the names of interfaces that never change.
    fn from(names: Vec<String>) -> Self {
        Self::new(names, None)
    }
}
