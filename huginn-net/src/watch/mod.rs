//! Watch lists: indicators of public or own lists, and the events that match them.
//!
//! Entries are fingerprints, names, certificates, addresses and User-Agents, in the formats of [`WatchLists`]. With lists, the
//! analysis reports a [`Match`](crate::observation::Match) after each event that has a value of a list:
//!
//! ```
//! use huginn_net::watch::{WatchListHandle, WatchLists};
//! use huginn_net::{CaptureReader, Configure, Observation, HuginnNet};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-rustls/tls-rustls.pcap");
//! let mut lists = WatchLists::default();
//! lists.add("incident.csv", b"type,value,label\nja3,767cd7645936b7916bcb8d106c29f99e,loader\n")?;
//!
//! let mut labels = Vec::new();
//! let analyzer = HuginnNet::builder().watch_lists(WatchListHandle::new(lists));
//! analyzer.build().analyze(CaptureReader::open(path)?, |event| {
//!     if let Observation::Match(found) = event.kind {
//!         labels.push(found.label.to_string());
//!     }
//! })?;
//! assert_eq!(labels, ["loader"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod documents;
mod error;
mod index;
mod rows;
mod search;
mod stix;
mod value;
mod watcher;

use std::sync::Arc;

use huginn_net_tls::ClientHello;

pub use self::error::{WatchListError, WatchListFault};
pub use self::watcher::WatchListHandle;
pub(crate) use self::watcher::{FlowMatches, Matches, Watcher};

use self::index::{Entry, Index};
use self::rows::Rows;
use self::search::Search;
use crate::limits::MAX_LIST_ENTRIES;
use crate::observation::ListEntry;

/// Entries of lists, found by their value.
///
/// # Formats
/// The format of a list is recognised:
///
/// | format | what it has |
/// |---|---|
/// | CSV (RFC 4180) | a header, also in a comment, with the columns below; or rows of `type,value,label` or `value,label` |
/// | lines | a value in each; its type is recognised. Lines of `hosts` files, too |
/// | JSON Lines | an object in each line with the fields below |
/// | JSON | an array of such objects, or objects that contain them |
/// | MISP | events with attributes, also in objects; those with `to_ids` only |
/// | STIX 2.1 | a bundle; the indicators whose pattern compares values, combined by OR |
///
/// Names of columns and fields are case-insensitive:
///
/// | value | columns |
/// |---|---|
/// | type of the value | `type`, `ioc_type`, `indicator_type` |
/// | value of that type | `value`, `ioc_value`, `ioc`, `indicator` |
/// | value of the type in its name | `ja4`, `ja4_r`, `ja4_stable`, `ja3`, `ja3s`, `hassh`, `hassh_server`, `akamai`, `sig`, `host`, `sha1`, `certificate_sha256`, `ip`, `user_agent`, and other spellings |
/// | port beside an address | `port`, `dst_port`, `dstport` |
/// | label | `label`, `application`, `name`, `description`, `listingreason`, `reason`, `malware`, `malware_printable`, `fk_malware`, `threat_type` |
/// | watch mark | `watch`: `true`, `1`, `yes` or empty; `false`, `0` or `no` for an entry that only labels events |
///
/// Lines that start with `#` are comments.
#[derive(Clone, Debug, Default)]
pub struct WatchLists {
    lists: Vec<WatchListSummary>,
    index: Index,
}

/// What was read of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchListSummary {
    /// The name of the list.
    pub name: Arc<str>,
    /// Number of entries.
    pub entries: u64,
    /// Number of rows without a value, which tables of several kinds of fingerprints have.
    pub without_value: u64,
    /// Number of rows of an export that this program cannot watch: files, other types and combined patterns; and of URLs in any list.
    pub foreign: u64,
    /// Number of rows that their list excludes: MISP attributes that are not for detection, revoked STIX indicators.
    pub excluded: u64,
}

impl WatchLists {
    /// Adds the entries of a list. Matches name the list.
    ///
    /// # Errors
    /// The first invalid line. No entry of the text is added then.
    pub fn add(&mut self, name: &str, text: &[u8]) -> Result<(), WatchListError> {
        let rows = Rows::read(text, MAX_LIST_ENTRIES.saturating_sub(self.len()))?;
        let number = u16::try_from(self.lists.len()).unwrap_or(u16::MAX);
        self.lists.push(WatchListSummary {
            name: name.into(),
            entries: rows.len(),
            without_value: rows.without_value,
            foreign: rows.foreign,
            excluded: rows.excluded,
        });
        self.index.add(number, rows);
        Ok(())
    }

    /// What was read of each list, in their order.
    pub fn summaries(&self) -> &[WatchListSummary] {
        &self.lists
    }

    /// Number of entries of all lists.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether no list has an entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a list has certificates, which events have only if [handshakes](crate::Configure::handshakes) are followed.
    pub fn has_certificates(&self) -> bool {
        self.index.has_certificates()
    }

    /// Returns the entries of a ClientHello, by its fingerprints and its server name, in the order of the lists; at most 16 that are
    /// watched, and 16 others.
    pub fn lookup_hello(&self, hello: &ClientHello<'_>) -> Vec<ListEntry> {
        let mut search = Search::new(&self.index);
        search.hello(hello);
        search.finish().entries.into_iter().filter_map(|hit| self.index.list_entry(hit.entry)).collect()
    }

    fn list_name(&self, entry: &Entry) -> Arc<str> {
        self.lists.get(usize::from(entry.list)).map_or_else(|| "".into(), |list| Arc::clone(&list.name))
    }
}
