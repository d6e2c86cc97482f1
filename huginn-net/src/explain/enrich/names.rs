//! Names of fingerprints, kept for the next lines with them.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use huginn_net_core::md5_from_digits;
use huginn_net_db::{ClientMatch, Software};
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{Ja3Hash, Ja4};

use crate::consistency::tls_contradicts;
use crate::json::append;
use crate::limits::MAX_KEPT_NAMES;
use crate::record::SoftwareRecord;
use crate::{ClientDatabase, Database};

/// A fingerprint of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fingerprint {
    Ja4(Ja4),
    Ja3([u8; 16]),
    Hassh([u8; 16]),
    /// An MD5 of a kind that the line does not tell.
    Md5([u8; 16]),
}

/// The kind of a value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Ja4,
    Ja3,
    Hassh,
    /// JA4 or an MD5.
    Any,
    UserAgent,
    /// An object of ours: the line has names.
    Own,
}

impl Fingerprint {
    fn parse(kind: ValueKind, text: &str) -> Option<Self> {
        let md5 = || md5_from_digits(text);
        match kind {
            ValueKind::Ja4 => ja4(text).map(Self::Ja4),
            ValueKind::Ja3 => md5().map(Self::Ja3),
            ValueKind::Hassh => md5().map(Self::Hassh),
            ValueKind::Any => ja4(text).map(Self::Ja4).or_else(|| md5().map(Self::Md5)),
            ValueKind::UserAgent | ValueKind::Own => None,
        }
    }
}

/// Reads a JA4, also one that a tool wrote in capitals.
fn ja4(text: &str) -> Option<Ja4> {
    let in_capitals = || !text.bytes().any(|byte| byte.is_ascii_lowercase());
    text.parse().ok().or_else(|| in_capitals().then(|| text.to_ascii_lowercase().parse().ok())?)
}

/// The values of a line.
#[derive(Debug, Default)]
pub(super) struct LineValues {
    /// JA4 before others: it is the fingerprint with most names.
    ja4: Option<Fingerprint>,
    other: Option<Fingerprint>,
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
        self.has_asked |= kind == Some(ValueKind::Any);
        self.has_field |= kind.is_some_and(|kind| !matches!(kind, ValueKind::UserAgent | ValueKind::Own));
    }

    /// Takes a value.
    pub(super) fn take(&mut self, kind: ValueKind, text: &str) {
        if kind == ValueKind::UserAgent {
            if !text.is_empty() && text != "-" {
                self.user_agent = Some(text.to_owned());
            }
            return;
        }
        match Fingerprint::parse(kind, text) {
            Some(found @ Fingerprint::Ja4(_)) => self.ja4 = Some(found),
            Some(found) => self.other = Some(found),
            None => {}
        }
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
        append(&mut json, &name);
        json.extend_from_slice(b",\"software\":");
        append(&mut json, &SoftwareRecord::from(found));
        Self { json, name, kind, variant, software, is_tls }
    }
}

/// Names by fingerprint.
pub(super) struct Names<'d> {
    clients: &'d ClientDatabase,
    signatures: &'d Database,
    known: HashMap<Fingerprint, Option<Name>, RandomState>,
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
    fn first_named(&mut self, values: &LineValues) -> Option<Fingerprint> {
        [values.ja4, values.other].into_iter().flatten().find(|fingerprint| self.is_known(*fingerprint))
    }

    fn is_known(&mut self, fingerprint: Fingerprint) -> bool {
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

    fn look_up(&self, fingerprint: Fingerprint) -> Option<Name> {
        let clients = self.clients;
        let tls = |found: Option<ClientMatch>| found.map(|found| Name::new(found, true));
        let other = |found: Option<ClientMatch>| found.map(|found| Name::new(found, false));
        match fingerprint {
            Fingerprint::Ja4(ja4) => tls(clients.match_ja4(ja4)),
            Fingerprint::Ja3(hash) => tls(clients.match_ja3(Ja3Hash(hash))),
            Fingerprint::Hassh(hash) => other(clients.match_hassh(hash)),
            Fingerprint::Md5(hash) => tls(clients.match_ja3(Ja3Hash(hash))).or_else(|| {
                other(clients.match_hassh(hash).or_else(|| clients.match_akamai(AkamaiHash(hash))))
            }),
        }
    }

    /// What the User-Agent claims, and what TLS is instead.
    pub(super) fn contradiction(&mut self, values: &LineValues) -> Option<String> {
        let user_agent = values.user_agent.as_ref()?;
        let signatures = self.signatures;
        let found = self.find(values).filter(|found| found.is_tls)?;
        tls_contradicts(user_agent.as_bytes(), &found.software, signatures)
    }
}
