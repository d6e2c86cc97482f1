//! Unusual servers, and those with a certificate of a C2 program, as findings.

use std::fmt::{self, Display};
use std::net::SocketAddr;

use huginn_net_core::{Joined, Timestamp};
use huginn_net_tls::CertificateFields;

use crate::addresses::is_public;

/// Marks of a TLS server without a name that are reported, if its address is public, and if it is not.
const MIN_MARKS_OUTSIDE: u32 = 2;

const MIN_MARKS_INSIDE: u32 = 3;

/// Maximum length of the subject and of the issuer of a certificate in a finding, in bytes.
const MAX_FINDING_NAME_BYTES: usize = 200;

/// A TLS server without a name that has further marks.
///
/// [`Display`] is a sentence: `contacts 198.51.100.7:7084 by TLS without a server name: port without a TLS service, private issuer`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusualServerFinding {
    /// The server.
    pub server: SocketAddr,
    /// What is unusual about it.
    pub marks: ServerMarks,
    /// The certificate of the server, if it was seen.
    pub certificate: Option<CertificateNames>,
    /// Number of connections.
    pub connections: u32,
    /// Time of the first connection.
    pub first_seen: Timestamp,
}

/// A TLS server that has the default certificate of a C2 program.
///
/// [`Display`] is a sentence: `198.51.100.7:7084 has the default certificate of DcRat: CN=DcRat, issued by CN=DcRat Server`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct C2CertificateFinding {
    /// The server.
    pub server: SocketAddr,
    /// The program.
    pub program: &'static str,
    /// The certificate.
    pub certificate: CertificateNames,
}

/// The names of a certificate, as RFC 4514 writes them, at most 200 bytes of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct CertificateNames {
    /// The subject.
    pub subject: Box<str>,
    /// The issuer.
    pub issuer: Box<str>,
}

huginn_net_core::table_enum! {
    /// What is unusual about a TLS server without a name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum ServerMark {
        /// No TLS service has the port.
        Port: "port", "port without a TLS service";
        /// The certificate is self-issued, or its issuer is not a public authority.
        Issuer: "private_issuer", "private issuer";
        /// The names of the certificate are those that an example or an installer leaves.
        Placeholder: "placeholder", "names of an example";
        /// The certificate is that of an authority.
        Authority: "authority", "certificate of an authority";
        /// The key is RSA of at most 1,024 bits, years after public authorities stopped signing them.
        Key: "weak_key", "RSA of 1024 bits or less";
        /// The certificate is valid for ten years or longer.
        Validity: "long_validity", "valid for ten years or longer";
        /// The server selects TLS 1.0 or SSL 3.0, years after browsers dropped them.
        Version: "old_version", "TLS 1.0 or older";
        /// Other connections of the client are those of a browser, and this one is not.
        Client: "client", "other fingerprint than the browser of the client";
        /// The client contacts the server at regular intervals.
        Regular: "regular", "regular intervals";
    }
    /// The name in events.
    pub fn name -> &'static str = 0;
    fn meaning -> &'static str = 1;
}

impl Display for ServerMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.meaning())
    }
}

/// A set of [marks](ServerMark).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerMarks(u16);

impl ServerMarks {
    /// Whether the set has a mark.
    pub fn has(self, mark: ServerMark) -> bool {
        self.0 & Self::of(mark).0 != 0
    }

    /// The marks.
    pub fn iter(self) -> impl Iterator<Item = ServerMark> {
        ServerMark::ALL.iter().copied().filter(move |mark| self.has(*mark))
    }

    /// The marks of both sets.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn of(mark: ServerMark) -> Self {
        Self(1 << mark as u8)
    }

    pub(crate) fn add(&mut self, mark: ServerMark, is_set: bool) {
        if is_set {
            self.0 |= Self::of(mark).0;
        }
    }

    fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the marks suffice for a server. Issuer and validity alone are those of appliances.
    pub(crate) fn suffice(self, is_outside: bool) -> bool {
        let ordinary = [ServerMark::Issuer, ServerMark::Validity];
        let has_other = self.iter().any(|mark| !ordinary.contains(&mark));
        if is_outside {
            return has_other && self.len() >= MIN_MARKS_OUTSIDE;
        }
        let is_set_up = self.has(ServerMark::Port) || self.has(ServerMark::Regular);
        is_set_up && self.len() >= MIN_MARKS_INSIDE
    }
}

impl UnusualServerFinding {
    /// Whether the marks suffice without the fingerprint of the client, and the server is outside.
    pub(crate) fn is_strong(&self) -> bool {
        let client = ServerMarks::of(ServerMark::Client);
        is_public(self.server.ip()) && ServerMarks(self.marks.0 & !client.0).suffice(true)
    }
}

impl CertificateNames {
    pub(crate) fn new(fields: &CertificateFields) -> Self {
        let name = |name: &Option<Box<str>>| match name.as_deref() {
            Some("") => "(no name)".into(),
            Some(name) => start(name).into(),
            None => "(unreadable name)".into(),
        };
        Self { subject: name(&fields.subject), issuer: name(&fields.issuer) }
    }
}

/// The start of a name, of a limited length.
fn start(name: &str) -> &str {
    let ends = (0..=MAX_FINDING_NAME_BYTES.min(name.len())).rev();
    ends.into_iter().find_map(|end| name.get(..end)).unwrap_or_default()
}

impl Display for CertificateNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, issuer } = self;
        if subject == issuer {
            return write!(f, "{subject}, self-issued");
        }
        write!(f, "{subject}, issued by {issuer}")
    }
}

impl Display for UnusualServerFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, marks) = (self.server, self.marks.iter().collect::<Vec<_>>());
        write!(f, "contacts {server} by TLS without a server name: {}", Joined(marks, ", "))?;
        match &self.certificate {
            Some(names) => write!(f, "; certificate {names}"),
            None => Ok(()),
        }
    }
}

impl Display for C2CertificateFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, program, certificate } = self;
        write!(f, "{server} has the default certificate of {program}: {certificate}")
    }
}
