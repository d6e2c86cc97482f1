//! Clients by JA3.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use huginn_net_tls::Ja3Hash;

use super::software::{self, Entry};
use super::table::{self, Key, Lists};

/// The recorded clients by JA3. They are merged at the first lookup: few ask for a JA3, so that a start need not wait for it.
#[derive(Debug, Default)]
pub(super) struct Ja3Entries {
    tables: Vec<Cow<'static, str>>,
    entries: OnceLock<HashMap<Ja3Hash, Entry, RandomState>>,
}

impl Ja3Entries {
    /// The clients of tables that were parsed without error.
    pub(super) fn new(tables: Vec<Cow<'static, str>>) -> Self {
        Self { tables, entries: OnceLock::new() }
    }

    pub(super) fn get(&self) -> &HashMap<Ja3Hash, Entry, RandomState> {
        self.entries.get_or_init(|| {
            let mut rows = Vec::new();
            for table in &self.tables {
                // `new` takes only tables that were parsed without error.
                _ = table::parse(table, Lists::Checked, &mut rows);
            }
            let of_ja3 = |(key, entry)| match key {
                Key::Ja3(hash) => Some((hash, entry)),
                _ => None,
            };
            software::merge(&rows, |row| row.ja3.map(Key::Ja3)).into_iter().filter_map(of_ja3).collect()
        })
    }
}

impl Clone for Ja3Entries {
    fn clone(&self) -> Self {
        Self::new(self.tables.clone())
    }
}
