//! Names the software behind the fingerprints of clients: TLS, HTTP/2, HTTP/3 and SSH.

mod browser_fields;
mod error;
mod ja3;
mod nearest;
mod releases;
mod software;
mod structural_cache;
mod table;
mod variants;
mod versions;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use foldhash::fast::RandomState;
#[cfg(feature = "http")]
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{ClientFamily, ClientHello, Ja3Hash, Ja4, Ja4Hash, Ja4Raw};

pub use browser_fields::{BrowserImitation, HelloField, ImitatedBrowser};
pub use error::{ClientTableError, ClientTableFault};
pub use nearest::{Difference, NearestClient};
pub use releases::LibraryAge;
pub use software::{ClientMatch, MatchKind, Software};
pub use variants::HelloVariant;

use ja3::Ja3Entries;
use nearest::Nearest;
use software::Entry;
use structural_cache::StructuralCache;
use table::{Kind, Lists};
use variants::{Session, VariantIndex};

/// Defines the tables of the built-in database.
macro_rules! tables {
    ($($(#[$attribute:meta])* $name:literal,)*) => {
        /// File names and texts.
        const TABLES: &[(&str, &str)] =
            &[$($(#[$attribute])* ($name, include_str!(concat!("../../clients/", $name))),)*];
    };
}

tables! {
    #[cfg(feature = "http")]
    "android-http2.tsv",
    "android.tsv",
    "bun.tsv",
    #[cfg(feature = "http")]
    "chromium-http2.tsv",
    "chromium.tsv",
    "constructed.tsv",
    "cpython.tsv",
    #[cfg(feature = "http")]
    "curl_cffi-http2.tsv",
    "curl_cffi.tsv",
    #[cfg(feature = "http")]
    "debian-http2.tsv",
    "debian.tsv",
    #[cfg(feature = "http")]
    "decrypted-http2.tsv",
    #[cfg(feature = "http")]
    "decrypted-http3.tsv",
    #[cfg(feature = "http")]
    "deno-http2.tsv",
    "deno.tsv",
    "firefox.tsv",
    "gecko.tsv",
    #[cfg(feature = "http")]
    "go-http2.tsv",
    "go.tsv",
    #[cfg(feature = "http")]
    "java-http2.tsv",
    "java.tsv",
    "java8.tsv",
    "libraries.tsv",
    "mbedtls.tsv",
    #[cfg(feature = "http")]
    "node-http2.tsv",
    "node.tsv",
    "openssl.tsv",
    #[cfg(feature = "http")]
    "python-http2.tsv",
    "python.tsv",
    #[cfg(feature = "http")]
    "qt-http2.tsv",
    "qt.tsv",
    #[cfg(feature = "http")]
    "qt5-http2.tsv",
    "qt5.tsv",
    "quic.tsv",
    #[cfg(feature = "http")]
    "rust-http2.tsv",
    "rust.tsv",
    "ssh.tsv",
    #[cfg(feature = "http")]
    "suites-http2.tsv",
    "suites.tsv",
    #[cfg(feature = "http")]
    "tls_client-http2.tsv",
    "tls_client.tsv",
    "utls.tsv",
    "webkit.tsv",
}

static BUILTIN: LazyLock<Arc<ClientDatabase>> = LazyLock::new(|| {
    // A test parses the tables with `from_tables`, which checks them, so the default is never used.
    let tables = TABLES.iter().map(|(_, text)| Cow::Borrowed(*text)).collect();
    Arc::new(ClientDatabase::read(tables, Lists::Checked).unwrap_or_default())
});

/// A database of recorded clients, keyed by the stable JA4 (TLS), Akamai fingerprint (HTTP/2), HTTP/3 fingerprint and HASSH (SSH).
///
/// Several recordings of one fingerprint become one [`Software`]: what they have in common, and the candidates.
/// `docs/clients.md` describes the tables. A database is immutable and owns its data: share it in an [`Arc`].
///
/// ```
/// use huginn_net_db::{ClientDatabase, MatchKind};
/// use huginn_net_tls::ClientHello;
///
/// // Sent by curl 7.88.1 with OpenSSL 3.0.
/// # let bytes = include_bytes!("../../../huginn-net-tls/hellos/curl-openssl.bin");
/// let hello = ClientHello::from_records(bytes)?.expect("a complete hello").value;
/// let found = ClientDatabase::builtin().match_hello(&hello).expect("a known library");
/// assert_eq!(found.software.library.as_deref(), Some("OpenSSL"));
/// assert_eq!(found.kind, MatchKind::Exact);
/// assert!(found.is_recorded());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct ClientDatabase {
    tls: HashMap<Ja4, Arc<Entry>, RandomState>,
    /// TLS entries by cipher hash and by extension hash.
    by_hash: HashMap<Ja4Hash, Vec<Arc<Entry>>, RandomState>,
    ja3: Ja3Entries,
    /// Computed when a fingerprint was not recorded.
    variants: OnceLock<VariantIndex>,
    /// The kinds of the tables, each once or more.
    kinds: Vec<Kind>,
    structural: StructuralCache,
    /// By the hash of the Akamai fingerprint.
    http2: HashMap<[u8; 16], Arc<Entry>, RandomState>,
    ssh: HashMap<[u8; 16], Arc<Entry>, RandomState>,
    /// By the MD5 of the text.
    http3: HashMap<[u8; 16], Arc<Entry>, RandomState>,
}

impl ClientDatabase {
    /// The built-in database. It is parsed on first use and then shared: lend it, or clone the [`Arc`].
    pub fn builtin() -> &'static Arc<Self> {
        &BUILTIN
    }

    /// The file names and texts of the built-in tables: templates for other tables.
    pub fn builtin_tables() -> &'static [(&'static str, &'static str)] {
        TABLES
    }

    /// Parses one table.
    ///
    /// # Errors
    /// The first line with a missing column or an invalid value.
    pub fn parse(text: &str) -> Result<Self, ClientTableError> {
        Self::from_tables([text])
    }

    /// Parses several tables. Recordings of one fingerprint may be in different tables.
    ///
    /// # Errors
    /// The first line, of the first table, with a missing column or an invalid value.
    pub fn from_tables<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, ClientTableError> {
        let tables = texts.into_iter().map(|text| Cow::Owned(text.to_owned())).collect();
        Self::read(tables, Lists::Unchecked)
    }

    fn read(tables: Vec<Cow<'static, str>>, lists: Lists) -> Result<Self, ClientTableError> {
        let (mut rows, mut database) = (Vec::new(), Self::default());
        for table in &tables {
            database.kinds.extend(table::parse(table, lists, &mut rows)?);
        }
        for (key, entry) in software::merge(&rows, |row| Some(row.key)) {
            database.insert(&key, Arc::new(entry));
        }
        database.ja3 = Ja3Entries::new(tables);
        Ok(database)
    }

    fn insert(&mut self, key: &table::Key, entry: Arc<Entry>) {
        match key {
            table::Key::Tls(ja4_stable) => {
                for hash in [ja4_stable.cipher_hash(), ja4_stable.extension_hash()] {
                    self.by_hash.entry(hash).or_default().push(Arc::clone(&entry));
                }
                self.tls.insert(*ja4_stable, entry);
            }
            // Those are merged when they are asked for.
            table::Key::Ja3(_) => {}
            table::Key::Http2(hash) => drop(self.http2.insert(*hash, entry)),
            table::Key::Ssh(hash) => drop(self.ssh.insert(*hash, entry)),
            table::Key::Http3(hash) => drop(self.http3.insert(*hash, entry)),
        }
    }

    /// Adds the built-in fingerprints of each kind (TLS, HTTP/2, HTTP/3, SSH) that has no table in this database.
    #[must_use]
    pub fn or_builtin(mut self) -> Self {
        let builtin = Self::builtin();
        let lacks = |kind| !self.kinds.contains(&kind);
        let [tls, http2, ssh, http3] = [Kind::Tls, Kind::Http2, Kind::Ssh, Kind::Http3].map(lacks);
        if tls {
            self.tls.clone_from(&builtin.tls);
            self.by_hash.clone_from(&builtin.by_hash);
            self.ja3 = builtin.ja3.clone();
            self.variants = OnceLock::new();
        }
        if http2 {
            self.http2.clone_from(&builtin.http2);
        }
        if ssh {
            self.ssh.clone_from(&builtin.ssh);
        }
        if http3 {
            self.http3.clone_from(&builtin.http3);
        }
        self
    }

    /// Number of distinct fingerprints, without JA3.
    pub fn len(&self) -> usize {
        [self.tls.len(), self.http2.len(), self.ssh.len(), self.http3.len()].iter().sum()
    }

    /// Whether the database has no fingerprint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names the software that sent a ClientHello.
    ///
    /// A known stable JA4 is preferred, then a computed one. Otherwise the structure of the hello may identify the library;
    /// then [`ClientMatch::nearest`] is the most similar known fingerprint, if one has the same cipher suites, or the same
    /// extensions and signature algorithms.
    ///
    /// A hello with the fingerprint of a browser is compared with what the browser sends in [other fields](HelloField). If one
    /// differs, the software is an [imitation](Software::imitation). A structure without a known fingerprint is not compared.
    pub fn match_hello(&self, hello: &ClientHello<'_>) -> Option<ClientMatch> {
        let found = self.match_fingerprint(hello)?;
        // Structure alone may be that of a relative of the browser.
        if !hello.is_well_formed() || found.kind == MatchKind::Structural {
            return Some(found);
        }
        Some(match BrowserImitation::of_hello(&found.software, hello) {
            Some(imitation) => found.into_imitation(imitation),
            None => found.into_agreeing(),
        })
    }

    fn match_fingerprint(&self, hello: &ClientHello<'_>) -> Option<ClientMatch> {
        let ja4 = hello.ja4();
        if let Some(entry) = self.tls.get(&hello.ja4_stable()) {
            if entry.has_ja4(ja4) {
                return Some(
                    ClientMatch::new(&entry.software, MatchKind::Exact).of_family(|| hello.family()),
                );
            }
            let session = Session::from_types(hello.extensions().map(|extension| extension.kind));
            let variant = session.change_from(entry.sessions());
            let found = ClientMatch::new(&entry.software, MatchKind::Stable).of_family(|| hello.family());
            return Some(found.with_variant(variant));
        }
        let family = hello.family();
        self.structural.get_or_find(ja4, family, || {
            let variants = self.variants();
            variants
                .client(ja4)
                .map(|client| client.of_family(|| family))
                .or_else(|| self.match_structure(&hello.ja4_stable_r(), family))
                .or_else(|| variants.library(ja4))
        })
    }

    fn variants(&self) -> &VariantIndex {
        self.variants.get_or_init(|| VariantIndex::new(self.tls.iter()))
    }

    fn match_structure(&self, raw: &Ja4Raw, family: Option<ClientFamily>) -> Option<ClientMatch> {
        let ja4_stable = raw.ja4();
        let similar = [ja4_stable.cipher_hash(), ja4_stable.extension_hash()];
        let entries = similar.iter().filter_map(|hash| self.by_hash.get(hash)).flatten();
        let nearest = Nearest::find(raw, entries);
        let software = match family {
            Some(family) => Arc::new(software::from_family(family)),
            None => nearest.as_ref().filter(|nearest| nearest.is_same_library())?.library(),
        };
        Some(ClientMatch {
            software,
            kind: MatchKind::Structural,
            variant: None,
            nearest: nearest.map(|nearest| Arc::new(nearest.into_client())),
        })
    }

    /// Finds the TLS fingerprint with the fewest differences; `raw` may be of any form.
    pub fn nearest(&self, raw: &Ja4Raw) -> Option<NearestClient> {
        Some(Nearest::find(&raw.clone().session_stable(), self.tls.values())?.into_client())
    }

    /// Looks up a JA4 or a stable JA4: recorded, or that of a recorded client in another session, to an address, or with
    /// other ALPN ([`ClientMatch::variant`]). Unknown cipher suites leave the library of the extensions.
    ///
    /// The first one that was not recorded computes the others with its cipher suites, or those of all libraries.
    ///
    /// ```
    /// use huginn_net_db::{ClientDatabase, MatchKind};
    ///
    /// // Of curl, which was recorded with a server name.
    /// let found = ClientDatabase::builtin().match_ja4("t13i3111h2_e8f1e7e78f70_b26ce05bbdd6".parse()?).expect("known");
    /// assert_eq!((found.software.to_string(), found.kind), ("libcurl 7.88 and older".to_owned(), MatchKind::Variant));
    /// assert_eq!(found.variant.expect("a difference").to_string(), "to an address");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn match_ja4(&self, ja4: Ja4) -> Option<ClientMatch> {
        if let Some(entry) = self.tls.get(&ja4) {
            let kind = if entry.has_ja4(ja4) { MatchKind::Exact } else { MatchKind::Stable };
            return Some(ClientMatch::new(&entry.software, kind));
        }
        let recorded = self.by_hash.get(&ja4.cipher_hash()).into_iter().flatten();
        if let Some(entry) = recorded.into_iter().find(|entry| entry.has_ja4(ja4)) {
            return Some(ClientMatch::new(&entry.software, MatchKind::Exact));
        }
        let variants = self.variants();
        variants.client(ja4).or_else(|| variants.library(ja4))
    }

    /// The recorded JA4 and their stable forms, sorted.
    ///
    /// ```
    /// use huginn_net_db::ClientDatabase;
    ///
    /// let clients = ClientDatabase::builtin();
    /// assert!(clients.recorded_ja4().into_iter().all(|ja4| clients.match_ja4(ja4).is_some()));
    /// ```
    pub fn recorded_ja4(&self) -> Vec<Ja4> {
        let recorded = self.tls.iter().flat_map(|(stable, entry)| entry.ja4.iter().chain([stable]));
        sorted(recorded.copied())
    }

    /// The recorded JA3, sorted.
    pub fn recorded_ja3(&self) -> Vec<Ja3Hash> {
        sorted(self.ja3.get().keys().copied())
    }

    /// The recorded hashes of Akamai fingerprints, sorted.
    #[cfg(feature = "http")]
    pub fn recorded_akamai(&self) -> Vec<AkamaiHash> {
        sorted(self.http2.keys().copied()).into_iter().map(AkamaiHash).collect()
    }

    /// The recorded HASSH, sorted.
    pub fn recorded_hassh(&self) -> Vec<[u8; 16]> {
        sorted(self.ssh.keys().copied())
    }

    /// Looks up a JA3 hash that was recorded. It names a library and no application: ALPN values and signature algorithms have no
    /// part in it.
    pub fn match_ja3(&self, hash: Ja3Hash) -> Option<ClientMatch> {
        let entry = self.ja3.get().get(&hash)?;
        Some(ClientMatch::new(&entry.software, MatchKind::Exact))
    }

    /// Looks up the hash of an Akamai fingerprint of HTTP/2.
    #[cfg(feature = "http")]
    pub fn match_akamai(&self, hash: AkamaiHash) -> Option<ClientMatch> {
        Some(ClientMatch::new(&self.http2.get(&hash.0)?.software, MatchKind::Exact))
    }

    /// Looks up the text of an HTTP/3 fingerprint.
    ///
    /// ```
    /// use huginn_net_db::ClientDatabase;
    ///
    /// let clients = ClientDatabase::builtin();
    /// let found = clients.match_http3("1:65536;6:262144;7:100;51:1;GREASE|m,a,s,p").expect("known");
    /// assert_eq!(found.software.to_string(), "Chromium");
    /// ```
    #[cfg(feature = "http")]
    pub fn match_http3(&self, text: &str) -> Option<ClientMatch> {
        self.match_http3_hash(table::http3_key(text))
    }

    /// Looks up the MD5 of the text of an HTTP/3 fingerprint.
    #[cfg(feature = "http")]
    pub fn match_http3_hash(&self, hash: [u8; 16]) -> Option<ClientMatch> {
        Some(ClientMatch::new(&self.http3.get(&hash)?.software, MatchKind::Exact))
    }

    /// Looks up a HASSH: the MD5 of the algorithms of an SSH client.
    pub fn match_hassh(&self, hash: [u8; 16]) -> Option<ClientMatch> {
        Some(ClientMatch::new(&self.ssh.get(&hash)?.software, MatchKind::Exact))
    }
}

/// Sorts values, each once.
fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}
