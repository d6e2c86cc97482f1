//! Names of fingerprints, kept for the next lines with them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use huginn_net_consistency::tls_contradicts;
use huginn_net_db::{ClientMatch, Software};
use huginn_net_tls::Ja3Hash;

use crate::clients::{ClientValue, ClientValueKind};
use crate::json::write_text;
use crate::record::SoftwareRecord;
use crate::record::describe::append;
use crate::{ClientDatabase, Database};

/// Maximum number of fingerprints whose names are kept: a few hundred occur in most networks, and a name has about 500 bytes.
const MAX_KEPT_NAMES: usize = 1 << 16;

/// The kind of a value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Fingerprint(ClientValueKind),
    UserAgent,
    /// An object of ours: the line has names.
    Own,
}

/// The column or field that the user names.
pub(super) const ASKED: ValueKind = ValueKind::Fingerprint(ClientValueKind::Any);

/// The values of a line.
#[derive(Debug, Default)]
pub(super) struct LineValues {
    /// JA4 before others: it is the fingerprint with most names.
    ja4: Option<ClientValue>,
    other: Option<ClientValue>,
    user_agent: Option<String>,
    pub(super) is_own: bool,
    /// Whether a field for fingerprints is there, with any value.
    pub(super) has_field: bool,
    /// Whether the field that was asked for is there.
    pub(super) has_asked: bool,
}

impl LineValues {
    /// Notes a field.
    pub(super) fn note(&mut self, kind: Option<ValueKind>) {
        self.is_own |= kind == Some(ValueKind::Own);
        self.has_asked |= kind == Some(ASKED);
        self.has_field |= matches!(kind, Some(ValueKind::Fingerprint(_)));
    }

    /// Takes a value.
    pub(super) fn take(&mut self, kind: ValueKind, text: &str) {
        match kind {
            ValueKind::Own => {}
            ValueKind::UserAgent if text.is_empty() || text == "-" => {}
            ValueKind::UserAgent => self.user_agent = Some(text.to_owned()),
            ValueKind::Fingerprint(kind) => match ClientValue::parse(kind, text) {
                Some(found @ ClientValue::Ja4(_)) => self.ja4 = Some(found),
                Some(found) => self.other = Some(found),
                None => {}
            },
        }
    }

    /// The fingerprint that is counted: JA4, or else the other.
    pub(super) fn counted(&self) -> Option<ClientValue> {
        self.ja4.or(self.other)
    }
}

/// The software of a fingerprint, as it is written.
pub(super) struct Name {
    /// The fields `name` and `software`.
    pub(super) json: Vec<u8>,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) variant: String,
    software: Arc<Software>,
    is_tls: bool,
}

impl Name {
    fn new(found: ClientMatch, is_tls: bool) -> Self {
        let name = found.software.to_string();
        let variant = found.variant.as_ref().map(ToString::to_string).unwrap_or_default();
        let (kind, software) = (found.kind.name(), Arc::clone(&found.software));
        let mut json = b"\"name\":".to_vec();
        write_text(&mut json, &name);
        json.extend_from_slice(b",\"software\":");
        append(&mut json, &SoftwareRecord::from(found));
        Self { json, name, kind, variant, software, is_tls }
    }
}

/// Names by fingerprint.
pub(super) struct Names<'d> {
    clients: &'d ClientDatabase,
    signatures: &'d Database,
    known: HashMap<ClientValue, Option<Name>, RandomState>,
}

impl<'d> Names<'d> {
    pub(super) fn new(clients: &'d ClientDatabase, signatures: &'d Database) -> Self {
        Self { clients, signatures, known: HashMap::default() }
    }

    /// The name of the client of a line.
    pub(super) fn find(&mut self, values: &LineValues) -> Option<&Name> {
        let fingerprint = self.first_named(values)?;
        self.known.get(&fingerprint)?.as_ref()
    }

    /// The first fingerprint with a name.
    fn first_named(&mut self, values: &LineValues) -> Option<ClientValue> {
        [values.ja4, values.other].into_iter().flatten().find(|fingerprint| self.is_known(*fingerprint))
    }

    fn is_known(&mut self, fingerprint: ClientValue) -> bool {
        if let Some(found) = self.known.get(&fingerprint) {
            return found.is_some();
        }
        // Input may have any number of fingerprints.
        if self.known.len() >= MAX_KEPT_NAMES {
            self.known.clear();
        }
        let found = self.look_up(fingerprint);
        let is_known = found.is_some();
        self.known.insert(fingerprint, found);
        is_known
    }

    fn look_up(&self, fingerprint: ClientValue) -> Option<Name> {
        let found = fingerprint.find(self.clients)?;
        let is_tls = match fingerprint {
            ClientValue::Ja4(_) | ClientValue::Ja3(_) => true,
            ClientValue::Md5(hash) => self.clients.match_ja3(Ja3Hash(hash)).is_some(),
            ClientValue::Hassh(_) | ClientValue::Akamai(_) => false,
        };
        Some(Name::new(found, is_tls))
    }

    /// What the User-Agent claims, and what TLS is instead.
    pub(super) fn contradiction(&mut self, values: &LineValues) -> Option<String> {
        let user_agent = values.user_agent.as_ref()?;
        let signatures = self.signatures;
        let found = self.find(values).filter(|found| found.is_tls)?;
        tls_contradicts(user_agent.as_bytes(), &found.software, signatures)
    }
}
