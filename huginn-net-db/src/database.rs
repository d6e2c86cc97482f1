//! A signature database, read once and shared.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use foldhash::fast::RandomState;
use huginn_net_http::HttpSignature;
use huginn_net_tcp::{Mtu, TcpSignature};
use memchr::memmem::Finder;

use crate::http_index::{HeaderNames, HttpIndex};
use crate::tcp_index::TcpIndex;
use crate::{DatabaseError, HttpMatch, HttpPattern, Label, TcpMatch, TcpPattern, UserAgentSystem, parser};

/// A database of signatures in the syntax of p0f v3 (the README of p0f, section 5).
///
/// It is read once, owns all that it holds and is never changed: share it behind an [`Arc`].
#[derive(Clone, Debug, Default)]
pub struct Database {
    pub(crate) classes: Vec<Arc<str>>,
    /// Classes that a fragment takes from its base; see [`Database::parse_fragment`].
    pub(crate) base_classes: Vec<Arc<str>>,
    /// System names that the `sys` lines of a fragment take from its base.
    pub(crate) base_systems: HashSet<Box<str>>,
    pub(crate) user_agent_systems: Vec<UserAgentSystem>,
    /// The searches for their texts, in their order: to prepare one takes longer than to search.
    pub(crate) user_agent_searches: Vec<Finder<'static>>,
    pub(crate) labels: Vec<Arc<Label>>,
    pub(crate) links: Vec<LinkEntry>,
    pub(crate) link_by_mtu: HashMap<Mtu, Arc<str>, RandomState>,
    pub(crate) tcp_request: TcpIndex,
    pub(crate) tcp_response: TcpIndex,
    pub(crate) header_names: HeaderNames,
    pub(crate) http_request: HttpIndex,
    pub(crate) http_response: HttpIndex,
}

/// A signature with its label.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<P> {
    /// The signature.
    pub pattern: P,
    /// What it is the signature of.
    pub label: Arc<Label>,
    /// Its line in the file, counted from 1.
    pub line: u32,
}

/// A kind of link, known by its transmission unit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkEntry {
    /// The transmission unit.
    pub mtu: Mtu,
    /// The kind of link.
    pub link: Arc<str>,
    /// Its line in the file, counted from 1.
    pub line: u32,
}

/// How much a database holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Classes of systems.
    pub classes: usize,
    /// Labels of systems and software.
    pub labels: usize,
    /// Transmission units.
    pub mtu: usize,
    /// Signatures of SYNs.
    pub tcp_request: usize,
    /// Signatures of SYN+ACKs.
    pub tcp_response: usize,
    /// Signatures of HTTP requests.
    pub http_request: usize,
    /// Signatures of HTTP responses.
    pub http_response: usize,
}

impl Database {
    /// Reads a database.
    ///
    /// # Errors
    /// The first line that cannot be read, or whose signature can never be reached.
    pub fn parse(text: &str) -> Result<Self, DatabaseError> {
        parser::parse(text, None)
    }

    /// Reads one file of a database that is divided into files, such as [the built-in one](Self::builtin).
    ///
    /// Labels may name the classes of `base`, and [`lint`](Self::lint) accepts the systems of `base` in `sys`. Nothing else
    /// of `base` is part of the result.
    ///
    /// ```
    /// use huginn_net_db::Database;
    ///
    /// let file = "[tcp:request]\nlabel = s:unix:Linux:6.x\nsig = *:64:0:*:mss*10,7:mss,sok,ts,nop,ws::0\n";
    /// assert!(Database::parse(file).is_err(), "the file does not list the class");
    /// assert!(Database::parse_fragment(file, &Database::builtin())?.lint().is_empty());
    /// # Ok::<(), huginn_net_db::DatabaseError>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::parse`].
    pub fn parse_fragment(text: &str, base: &Self) -> Result<Self, DatabaseError> {
        parser::parse(text, Some(base))
    }

    /// Reads a database from bytes. What is not UTF-8, as labels and HTTP values in old files may be, is replaced by
    /// U+FFFD.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DatabaseError> {
        Self::parse(&String::from_utf8_lossy(bytes))
    }

    /// What sent a SYN, if known.
    ///
    /// A specific signature is better than a generic one, which is better than a fuzzy match; of equals the first in
    /// the file is taken. User-space tools are not matched in a fuzzy way.
    pub fn match_syn(&self, signature: &TcpSignature) -> Option<TcpMatch> {
        self.tcp_request.find(signature)
    }

    /// What sent a SYN+ACK, if known; see [`Self::match_syn`].
    pub fn match_syn_ack(&self, signature: &TcpSignature) -> Option<TcpMatch> {
        self.tcp_response.find(signature)
    }

    /// What sent an HTTP request, if known.
    ///
    /// The first specific signature that matches is taken, else the first generic one. Nothing is known of HTTP/2.
    pub fn match_request(&self, signature: &HttpSignature) -> Option<HttpMatch> {
        self.http_request.find(signature, &self.header_names)
    }

    /// What sent an HTTP response, if known; see [`Self::match_request`].
    pub fn match_response(&self, signature: &HttpSignature) -> Option<HttpMatch> {
        self.http_response.find(signature, &self.header_names)
    }

    /// Whether a header of this name, case counted, occurs in an HTTP signature, be it as one that must be absent: for
    /// [`HttpSignature::raw_sig`].
    pub fn contains_header_name(&self, name: &[u8]) -> bool {
        self.header_names.contains(name)
    }

    /// The kind of link that has this transmission unit, if known.
    pub fn match_mtu(&self, mtu: Mtu) -> Option<&Arc<str>> {
        self.link_by_mtu.get(&mtu)
    }

    /// How much it holds.
    pub fn stats(&self) -> Stats {
        Stats {
            classes: self.classes.len(),
            labels: self.labels.len(),
            mtu: self.links.len(),
            tcp_request: self.tcp_request().len(),
            tcp_response: self.tcp_response().len(),
            http_request: self.http_request().len(),
            http_response: self.http_response().len(),
        }
    }

    /// The classes of systems, as `classes` lists them.
    pub fn classes(&self) -> &[Arc<str>] {
        &self.classes
    }

    /// The systems that User-Agent strings are searched for, as `ua_os` lists them.
    pub fn user_agent_systems(&self) -> &[UserAgentSystem] {
        &self.user_agent_systems
    }

    /// The system that a User-Agent names: the first of [`user_agent_systems`](Self::user_agent_systems) whose text occurs
    /// in it.
    pub fn user_agent_system(&self, user_agent: &[u8]) -> Option<&UserAgentSystem> {
        let mut systems = self.user_agent_systems.iter().zip(&self.user_agent_searches);
        let (system, _) = systems.find(|(_, search)| search.find(user_agent).is_some())?;
        Some(system)
    }

    /// The labels of all sections but `[mtu]`, in the order of the file.
    pub fn labels(&self) -> &[Arc<Label>] {
        &self.labels
    }

    /// The names of all systems that have a label; tools are not systems.
    pub(crate) fn system_names(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().filter(|label| !label.is_tool()).map(|label| label.name.as_ref())
    }

    /// The section `[mtu]`.
    pub fn links(&self) -> &[LinkEntry] {
        &self.links
    }

    /// The sections `[tcp:request]`.
    pub fn tcp_request(&self) -> &[Entry<TcpPattern>] {
        self.tcp_request.entries()
    }

    /// The sections `[tcp:response]`.
    pub fn tcp_response(&self) -> &[Entry<TcpPattern>] {
        self.tcp_response.entries()
    }

    /// The sections `[http:request]`.
    pub fn http_request(&self) -> &[Entry<HttpPattern>] {
        self.http_request.entries()
    }

    /// The sections `[http:response]`.
    pub fn http_response(&self) -> &[Entry<HttpPattern>] {
        self.http_response.entries()
    }
}

impl FromStr for Database {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Self, DatabaseError> {
        Self::parse(text)
    }
}
