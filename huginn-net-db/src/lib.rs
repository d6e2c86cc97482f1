//! Signature databases in the syntax of p0f v3, and matching.
//!
//! A [`Database`] is parsed from text, or is the [built-in one](Database::builtin). It matches signatures, not packets.
//!
//! ```
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
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin;
mod cache_id;
mod clients;
mod database;
mod entry;
mod error;
mod http;
mod label;
mod limits;
mod lint;
mod parser;
mod stack;
mod syntax;
mod tcp;

pub use builtin::SourceLine;
pub use clients::{
    BrowserImitation, ClientDatabase, ClientMatch, ClientTableError, ClientTableFault, Difference,
    HelloField, HelloVariant, ImitatedBrowser, LibraryAge, MatchKind, NearestClient, Software,
};
pub use database::{Database, Stats};
pub use entry::{Entry, LinkEntry};
pub use error::{DatabaseError, Fault};
pub use http::{HeaderPattern, HttpMatch, HttpParams, HttpPattern, SoftwareClaim, SoftwareName};
pub use label::{Label, System, UserAgentSystem};
pub use lint::{Lint, Remark, SignatureContradiction};
pub use stack::{SHARED_STACKS, same_stack};
pub use tcp::{
    Distance, FuzzyReason, SystemName, TcpMatch, TcpParams, TcpPattern, TtlPattern, WindowPattern,
};
