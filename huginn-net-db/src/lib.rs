//! Names of systems and clients: signature databases in the syntax of p0f v3, recorded clients, and matching.
//!
//! A [`ClientDatabase`] names the software behind a JA4, JA3, Akamai fingerprint or HASSH:
//!
//! ```
//! use huginn_net_db::ClientDatabase;
//!
//! # #[cfg(feature = "tls")] {
//! let found = ClientDatabase::builtin().match_ja4("t13d3112h2_e8f1e7e78f70_b26ce05bbdd6".parse()?).expect("recorded");
//! assert_eq!(found.software.to_string(), "libcurl 7.88 and older");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Database`] is parsed from text, or is the [built-in one](Database::builtin). It matches signatures, not packets.
//!
//! ```
//! # #[cfg(feature = "signatures")] {
//! use huginn_net_db::Database;
//! use huginn_net_tcp::TcpSignature;
//!
//! let database: Database = "
//!     classes = unix
//!
//!     [tcp:request]
//!     label = s:unix:Linux:3.11 and newer
//!     sig   = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0
//! "
//! .parse()?;
//! let signature: TcpSignature = "4:61+3:0:1460:mss*20,7:mss,sok,ts,nop,ws:df,id+:0".parse()?;
//! let found = database.match_syn(&signature).expect("the signature is in the database");
//! assert_eq!(found.label.to_string(), "Linux 3.11 and newer");
//! assert_eq!(found.distance.to_string(), "3");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `http` | yes | names of HTTP/2 and HTTP/3 clients in [`ClientDatabase`]; includes `tls` |
//! | `signatures` | yes | [`Database`]: p0f's signatures of TCP and HTTP |
//! | `tls` | yes | [`ClientDatabase`]: names of TLS and SSH clients |
//! | `serde` | no | `Serialize` and `Deserialize` for what a record names of a database |
//!
//! A program that names a JA4 needs `tls` alone, which depends on no parser of packets:
//!
//! ```toml
//! huginn-net-db = { path = "../huginn-net/huginn-net-db", default-features = false, features = ["tls"] }
//! ```
#![cfg_attr(
    not(all(feature = "http", feature = "signatures")),
    allow(rustdoc::broken_intra_doc_links, reason = "the docs link to items that this build lacks")
)]

#[cfg(feature = "signatures")]
mod builtin;
#[cfg(any(feature = "signatures", feature = "tls"))]
mod cache_id;
#[cfg(feature = "tls")]
mod clients;
#[cfg(feature = "signatures")]
mod database;
#[cfg(feature = "signatures")]
mod entry;
#[cfg(feature = "signatures")]
mod error;
#[cfg(feature = "signatures")]
mod http;
#[cfg(feature = "signatures")]
mod label;
#[cfg_attr(
    not(all(feature = "signatures", feature = "tls")),
    allow(dead_code, reason = "each feature has limits of its own")
)]
mod limits;
#[cfg(feature = "signatures")]
mod lint;
#[cfg(feature = "signatures")]
mod parser;
mod stack;
#[cfg(feature = "signatures")]
mod syntax;
#[cfg(feature = "signatures")]
mod tcp;

#[cfg(feature = "signatures")]
pub use builtin::SourceLine;
#[cfg(feature = "tls")]
pub use clients::{
    BrowserImitation, ClientDatabase, ClientMatch, ClientTableError, ClientTableFault, Difference,
    HelloField, HelloVariant, ImitatedBrowser, LibraryAge, MatchKind, NearestClient, Software,
};
#[cfg(feature = "signatures")]
pub use database::{Database, Stats};
#[cfg(feature = "signatures")]
pub use entry::{Entry, LinkEntry};
#[cfg(feature = "signatures")]
pub use error::{DatabaseError, Fault};
#[cfg(feature = "signatures")]
pub use http::{HeaderPattern, HttpMatch, HttpParams, HttpPattern, SoftwareClaim, SoftwareName};
#[cfg(feature = "signatures")]
pub use label::{Label, System, UserAgentSystem};
#[cfg(feature = "signatures")]
pub use lint::{Lint, Remark, SignatureContradiction};
#[doc(hidden)]
pub use stack::{SHARED_STACKS, same_stack};
#[cfg(feature = "signatures")]
pub use tcp::{
    Distance, FuzzyReason, SystemName, TcpMatch, TcpParams, TcpPattern, TtlPattern, WindowPattern,
};
