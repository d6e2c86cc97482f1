//! Completes hosts and updates that serde has read: labels, systems and links become those of a database.

use std::borrow::Cow;
use std::sync::Arc;

use huginn_net_db::{Database, Label};
use huginn_net_http::language;

use super::change::{HttpSeen, TcpSeen};
use super::systems::{AddressSystems, NamedSystems, Several};
use super::tools::ToolSeen;
use super::update::SoftwareMatch;
use super::{
    Changes, Host, HostProfile, HttpUpdate, Latest, P0fHistory, RoleHistory, SoftwareSeen, SystemSeen,
    TcpUpdate, TlsUpdate, Tools, TopValues, Update,
};
use crate::observation::{ChangeObservation, MtuObservation};
use crate::scope::Scope;

/// The database lacks a label or a system that a stored host or update names.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the database has no label {0:?}: the record comes from another one")]
pub struct HostRecordError(String);

/// What completes a host or an update that serde has read.
#[derive(Clone, Copy)]
pub(super) struct Known<'d> {
    pub(super) database: &'d Database,
    /// Decides how signatures match.
    pub(super) scope: Scope,
}

/// A value with parts of a database.
pub(super) trait Restore {
    /// Replaces labels and systems by those of the database with the same name, and matches signatures.
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError>;
}

/// A label with the same text, at the nearest line: the database may be a newer one.
impl Restore for Arc<Label> {
    fn restore(&mut self, Known { database, .. }: Known<'_>) -> Result<(), HostRecordError> {
        let Label { line, name, flavor, .. } = &**self;
        let is_it = |label: &&Arc<Label>| (&label.name, &label.flavor) == (name, flavor);
        let labels = database.labels();
        let at_line = labels.binary_search_by_key(line, |label| label.line);
        let at_line = at_line.ok().and_then(|place| labels.get(place)).filter(is_it);
        let found = at_line.or_else(|| {
            let all = labels.iter().chain(database.labels_without_flavor());
            all.filter(is_it).min_by_key(|label| label.line.abs_diff(*line))
        });
        *self = found.cloned().ok_or_else(|| HostRecordError(self.to_string()))?;
        Ok(())
    }
}

/// The name of a system.
impl Restore for Arc<str> {
    fn restore(&mut self, Known { database, .. }: Known<'_>) -> Result<(), HostRecordError> {
        let label = database.labels().iter().find(|label| label.name == *self);
        *self =
            label.map(|label| Arc::clone(&label.name)).ok_or_else(|| HostRecordError(self.to_string()))?;
        Ok(())
    }
}

/// The name of a language, or its tag.
impl Restore for Cow<'static, str> {
    fn restore(&mut self, _: Known<'_>) -> Result<(), HostRecordError> {
        if let Some(name) = language::known(self) {
            *self = Cow::Borrowed(name);
        }
        Ok(())
    }
}

impl Restore for MtuObservation {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        self.link = known.database.match_mtu(self.mtu).cloned();
        Ok(())
    }
}

impl<T: Restore> Restore for Option<T> {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        self.iter_mut().try_for_each(|value| value.restore(known))
    }
}

impl<T: Restore> Restore for Box<T> {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        (**self).restore(known)
    }
}

impl<T: Restore> Restore for Vec<T> {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        self.iter_mut().try_for_each(|value| value.restore(known))
    }
}

impl<T: Restore> Restore for TopValues<T> {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        self.entries.iter_mut().try_for_each(|entry| entry.value.restore(known))
    }
}

/// Implements [`Restore`] for types by their fields with parts of a database.
macro_rules! restore_fields {
    ($($type:ty: $($field:ident),+;)+) => {$(
        impl Restore for $type {
            fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
                $(self.$field.restore(known)?;)+
                Ok(())
            }
        }
    )+};
}

restore_fields! {
    Host: system, systems, p0f, tools, profile;
    AddressSystems: client, server;
    Several: names, latest;
    P0fHistory: client, server;
    RoleHistory: handshake, http;
    HttpSeen: label;
    HostProfile: tools, systems, links, browsers, servers, languages, changes, sharings, latest;
    Tools: seen;
    ToolSeen: label;
    SystemSeen: label;
    SoftwareSeen: label;
    Changes: latest;
    Latest: system, software;
    HttpUpdate: matched, tcp, language;
    SoftwareMatch: label;
    TlsUpdate: tcp;
}

/// Implements [`Restore`] for signatures with a match.
macro_rules! restore_match {
    ($($type:ty),+) => {$(
        impl Restore for $type {
            fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
                self.matched = known.scope.match_handshake(known.database, &self.signature);
                Ok(())
            }
        }
    )+};
}

restore_match!(TcpSeen, TcpUpdate);

impl Restore for NamedSystems {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        match self {
            Self::None => Ok(()),
            Self::One(name) => name.restore(known),
            Self::Several(several) => several.restore(known),
        }
    }
}

impl Restore for ChangeObservation {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        match self {
            Self::Systems { from, to } => from.restore(known).and_then(|()| to.restore(known)),
            Self::Scores { .. } => Ok(()),
        }
    }
}

impl Restore for Update {
    fn restore(&mut self, known: Known<'_>) -> Result<(), HostRecordError> {
        match self {
            Self::Tcp(update) => update.restore(known),
            Self::Http(update) => update.restore(known),
            Self::Mtu(observation) => observation.restore(known),
            Self::TlsClient(update) => update.restore(known),
            Self::Clock(_)
            | Self::Timestamp(..)
            | Self::TlsServer
            | Self::Request(_)
            | Self::Server(_)
            | Self::Observed(_)
            | Self::Progress(_) => Ok(()),
        }
    }
}
