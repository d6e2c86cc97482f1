//! A signature database.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use foldhash::fast::RandomState;
use huginn_net_http::{HttpSignature, Role};
use huginn_net_tcp::{Handshake, Mtu, TcpSignature};
use memchr::memmem::Finder;

use crate::entry::{Entry, LinkEntry};
use crate::http::{HeaderNames, HttpIndex, HttpMatch, HttpPattern};
use crate::tcp::{MatchRule, TcpIndex, TcpMatch, TcpPattern};
use crate::{DatabaseError, Label, UserAgentSystem, parser};

/// A database of signatures in the syntax of p0f v3 (p0f's README, section 5).
///
/// A database is immutable and owns its data: share it in an [`Arc`].
#[derive(Clone, Debug, Default)]
pub struct Database {
    pub(crate) classes: Vec<Arc<str>>,
    /// Classes that a fragment takes from its base; see [`Database::parse_fragment`].
    pub(crate) base_classes: Vec<Arc<str>>,
    /// System names that the `sys` lines of a fragment take from its base.
    pub(crate) base_systems: HashSet<Box<str>>,
    pub(crate) user_agent_systems: Vec<UserAgentSystem>,
    /// Searchers for the texts of `user_agent_systems`, in the same order: building a searcher takes longer than a
    /// search.
    pub(crate) user_agent_searches: Vec<Finder<'static>>,
    pub(crate) labels: Vec<Arc<Label>>,
    pub(crate) labels_without_flavor: Vec<Arc<Label>>,
    pub(crate) links: Vec<LinkEntry>,
    pub(crate) link_by_mtu: HashMap<Mtu, Arc<str>, RandomState>,
    pub(crate) tcp_request: TcpIndex,
    pub(crate) tcp_response: TcpIndex,
    pub(crate) header_names: HeaderNames,
    pub(crate) http_request: HttpIndex,
    pub(crate) http_response: HttpIndex,
}

/// Numbers of entries in a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Classes of systems.
    pub classes: usize,
    /// Labels of systems and software.
    pub labels: usize,
    /// MTUs.
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
    /// Parses a database.
    ///
    /// # Errors
    /// The first line with a syntax error or with a signature that can never match.
    pub fn parse(text: &str) -> Result<Self, DatabaseError> {
        parser::parse(text, None)
    }

    /// Parses one file of a database that consists of several files, such as [the built-in one](Self::builtin).
    ///
    /// Labels may use the classes of `base`, and [`lint`](Self::lint) accepts the systems of `base` in `sys`. The
    /// result contains nothing else of `base`.
    ///
    /// ```
    /// use huginn_net_db::Database;
    ///
    /// let file = "[tcp:request]\nlabel = s:unix:Linux:6.x\nsig = *:64:0:*:mss*10,7:mss,sok,ts,nop,ws::0\n";
    /// assert!(Database::parse(file).is_err(), "the file does not list the class");
    /// assert!(Database::parse_fragment(file, Database::builtin())?.lint().is_empty());
    /// # Ok::<(), huginn_net_db::DatabaseError>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`Self::parse`].
    pub fn parse_fragment(text: &str, base: &Self) -> Result<Self, DatabaseError> {
        parser::parse(text, Some(base))
    }

    /// Parses a database from bytes. Invalid UTF-8, which occurs in labels and HTTP values of old files, becomes
    /// U+FFFD.
    ///
    /// # Errors
    /// The same as for [`Self::parse`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DatabaseError> {
        Self::parse(&String::from_utf8_lossy(bytes))
    }

    /// Looks up the sender of a SYN.
    ///
    /// A specific signature is preferred to a generic one, and both to a fuzzy match. Among equals, the first in the
    /// file matches. A fuzzy match is one of these, in this order:
    ///
    /// - the packet differs in quirks that the network may change;
    /// - it has another initial TTL, and options that one system alone has: then the label has no flavor;
    /// - its timestamps or "SACK permitted" are NOPs.
    ///
    /// User-space tools have no fuzzy matches, and neither have signatures without options other than the MSS, because many
    /// stacks send the same.
    ///
    /// The label has no flavor if only window and scale tell the version, and a program may have set both by its receive buffer
    /// (`SO_RCVBUF`).
    pub fn match_syn(&self, signature: &TcpSignature) -> Option<TcpMatch> {
        self.tcp_request.find(signature, MatchRule::Identified)
    }

    /// Looks up the sender of a SYN+ACK; see [`Self::match_syn`].
    pub fn match_syn_ack(&self, signature: &TcpSignature) -> Option<TcpMatch> {
        self.tcp_response.find(signature, MatchRule::Identified)
    }

    /// Looks up the sender of a SYN or SYN+ACK as p0f does: every signature of a system may match fuzzily, and labels keep their
    /// flavors.
    pub fn match_as_p0f(&self, signature: &TcpSignature) -> Option<TcpMatch> {
        match signature.handshake {
            Handshake::Syn => self.tcp_request.find(signature, MatchRule::P0f),
            Handshake::SynAck => self.tcp_response.find(signature, MatchRule::P0f),
        }
    }

    /// Looks up the sender of an HTTP request.
    ///
    /// The first specific signature is preferred to the first generic one. HTTP/2 never matches, and neither does a
    /// request whose User-Agent names a browser in a version, or for a kind of request, of which the database has no
    /// signature, unless the headers are those of that browser.
    pub fn match_request(&self, signature: &HttpSignature) -> Option<HttpMatch> {
        self.http_request.find(signature, &self.header_names)
    }

    /// Looks up the sender of an HTTP response; see [`Self::match_request`].
    pub fn match_response(&self, signature: &HttpSignature) -> Option<HttpMatch> {
        self.http_response.find(signature, &self.header_names)
    }

    /// Looks up the sender of an HTTP head as p0f does, whatever the User-Agent or Server header says. The
    /// [claim](HttpMatch::claim) of such a match is not computed.
    pub fn match_http_as_p0f(&self, signature: &HttpSignature) -> Option<HttpMatch> {
        match signature.role() {
            Role::Request => self.http_request.find_as_p0f(signature, &self.header_names),
            Role::Response => self.http_response.find_as_p0f(signature, &self.header_names),
        }
    }

    /// Whether a header name, case-sensitive, occurs in an HTTP signature as required or forbidden; for
    /// [`HttpSignature::raw_sig`].
    pub fn contains_header_name(&self, name: &[u8]) -> bool {
        self.header_names.contains(name)
    }

    /// Looks up the link type with this MTU.
    pub fn match_mtu(&self, mtu: Mtu) -> Option<&Arc<str>> {
        self.link_by_mtu.get(&mtu)
    }

    /// Counts the entries.
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

    /// The classes that `classes` lists.
    pub fn classes(&self) -> &[Arc<str>] {
        &self.classes
    }

    /// The systems that `ua_os` lists, which User-Agent strings are searched for.
    pub fn user_agent_systems(&self) -> &[UserAgentSystem] {
        &self.user_agent_systems
    }

    /// The system that a User-Agent names: the first of [`user_agent_systems`](Self::user_agent_systems) whose text it
    /// contains.
    pub fn user_agent_system(&self, user_agent: &[u8]) -> Option<&UserAgentSystem> {
        let mut systems = self.user_agent_systems.iter().zip(&self.user_agent_searches);
        let (system, _) = systems.find(|(_, search)| search.find(user_agent).is_some())?;
        Some(system)
    }

    /// The labels of all sections except `[mtu]`, in file order.
    pub fn labels(&self) -> &[Arc<Label>] {
        &self.labels
    }

    /// The labels of matches whose flavor is [not certain](Self::match_syn): one for each system, with the line of its first
    /// label.
    pub fn labels_without_flavor(&self) -> &[Arc<Label>] {
        &self.labels_without_flavor
    }

    /// The names of the systems that have labels; tools are not systems.
    pub(crate) fn system_names(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().filter(|label| !label.is_tool()).map(|label| label.name.as_ref())
    }

    /// The entries of `[mtu]`.
    pub fn links(&self) -> &[LinkEntry] {
        &self.links
    }

    /// The signatures of `[tcp:request]`.
    pub fn tcp_request(&self) -> &[Entry<TcpPattern>] {
        &self.tcp_request.entries
    }

    /// The signatures of `[tcp:response]`.
    pub fn tcp_response(&self) -> &[Entry<TcpPattern>] {
        &self.tcp_response.entries
    }

    /// The signatures of `[http:request]`.
    pub fn http_request(&self) -> &[Entry<HttpPattern>] {
        &self.http_request.entries
    }

    /// The signatures of `[http:response]`.
    pub fn http_response(&self) -> &[Entry<HttpPattern>] {
        &self.http_response.entries
    }
}

impl FromStr for Database {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Self, DatabaseError> {
        Self::parse(text)
    }
}
