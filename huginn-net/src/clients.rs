//! Names of clients by the text of a fingerprint: JA4, JA3, HASSH, or Akamai's fingerprint of HTTP/2.
//!
//! [`enrich`](crate::explain::enrich) names lines of logs with it.
//!
//! ```
//! use huginn_net::clients::{ClientDatabase, ClientValue, ClientValueKind, MatchKind};
//!
//! let text = "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6";
//! let ja4 = ClientValue::parse(ClientValueKind::Ja4, text).expect("a JA4");
//! let found = ja4.find(ClientDatabase::builtin()).expect("a known client");
//! assert_eq!(found.software.to_string(), "libcurl 7.88 and older");
//! assert_eq!(found.kind, MatchKind::Exact);
//!
//! // A name of its own for each value of a column.
//! let column = ["t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", "0149f47eabf9a20d0893e2a44e5a6323", "-"];
//! let names = column.map(|text| {
//!     let fingerprint = ClientValue::parse(ClientValueKind::Any, text)?;
//!     Some(fingerprint.find(ClientDatabase::builtin())?.software.to_string())
//! });
//! assert_eq!(names.each_ref().map(Option::as_deref), [Some("libcurl 7.88 and older"), Some("OpenSSL"), None]);
//! ```

use std::str::FromStr;
use std::sync::Arc;

use huginn_net_core::md5_from_digits;
use huginn_net_db::Database;
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{Ja3Hash, Ja4};

pub use huginn_net_db::{ClientDatabase, ClientMatch, HelloVariant, MatchKind, Software};

/// The databases that name what is observed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamingDatabases {
    /// Signatures of operating systems and HTTP software.
    pub signatures: Arc<Database>,
    /// Clients; `None` for the built-in ones.
    pub clients: Option<Arc<ClientDatabase>>,
}

impl NamingDatabases {
    /// Takes two databases; `None` for the built-in clients.
    pub fn new(signatures: Arc<Database>, clients: Option<Arc<ClientDatabase>>) -> Self {
        Self { signatures, clients }
    }
}

huginn_net_core::named! {
    /// What a column or field has.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum ClientValueKind {
        /// JA4.
        Ja4 = "ja4",
        /// The MD5 of JA3.
        Ja3 = "ja3",
        /// HASSH of an SSH client.
        Hassh = "hassh",
        /// The MD5 of Akamai's fingerprint of an HTTP/2 client.
        Akamai = "akamai",
        /// JA4 or one of the MD5, which is then looked up as JA3, HASSH and Akamai's.
        Any = "any",
    }
}

/// A text that is not a kind of fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a kind of fingerprint: expected ja4, ja3, hassh, akamai or any")]
#[non_exhaustive]
pub struct ClientValueKindError;

impl FromStr for ClientValueKind {
    type Err = ClientValueKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|kind| kind.name() == text).ok_or(ClientValueKindError)
    }
}

/// A fingerprint of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientValue {
    /// JA4.
    Ja4(Ja4),
    /// The MD5 of JA3.
    Ja3(Ja3Hash),
    /// HASSH.
    Hassh([u8; 16]),
    /// The MD5 of Akamai's fingerprint.
    Akamai(AkamaiHash),
    /// An MD5 of an unknown kind.
    Md5([u8; 16]),
}

impl ClientValue {
    /// Reads a fingerprint; `None` if the text is not one. A JA4 may be in capitals.
    pub fn parse(kind: ClientValueKind, text: &str) -> Option<Self> {
        let md5 = || md5_from_digits(text);
        match kind {
            ClientValueKind::Ja4 => ja4(text).map(Self::Ja4),
            ClientValueKind::Ja3 => md5().map(|hash| Self::Ja3(Ja3Hash(hash))),
            ClientValueKind::Hassh => md5().map(Self::Hassh),
            ClientValueKind::Akamai => md5().map(|hash| Self::Akamai(AkamaiHash(hash))),
            ClientValueKind::Any => ja4(text).map(Self::Ja4).or_else(|| md5().map(Self::Md5)),
        }
    }

    /// The software that sends it; `None` if no known client does.
    pub fn find(&self, clients: &ClientDatabase) -> Option<ClientMatch> {
        match *self {
            Self::Ja4(ja4) => clients.match_ja4(ja4),
            Self::Ja3(hash) => clients.match_ja3(hash),
            Self::Hassh(hash) => clients.match_hassh(hash),
            Self::Akamai(hash) => clients.match_akamai(hash),
            Self::Md5(hash) => clients
                .match_ja3(Ja3Hash(hash))
                .or_else(|| clients.match_hassh(hash))
                .or_else(|| clients.match_akamai(AkamaiHash(hash))),
        }
    }
}

/// Reads a JA4, also one that a tool wrote in capitals.
fn ja4(text: &str) -> Option<Ja4> {
    let in_capitals = || !text.bytes().any(|byte| byte.is_ascii_lowercase());
    text.parse().ok().or_else(|| in_capitals().then(|| text.to_ascii_lowercase().parse().ok())?)
}
