//! What a ServerHello or a certificate says of a TLS server.

use huginn_net_tls::{Certificate, CertificateFields, CertificateTime};
use serde::{Deserialize, Deserializer, Serialize};

use super::known_servers;
use crate::observation::{CertificateNames, ServerMark, ServerMarks, StaticText};

/// Maximum size of an RSA key that is a mark of its server, in bits.
const MAX_WEAK_KEY_BITS: u32 = 1024;

/// 2014-01-01, in seconds since 1970: public authorities signed smaller RSA keys until then (CA/Browser Forum, Baseline
/// Requirements 1.0, appendix A).
const FIRST_WEAK_KEY_SECS: i64 = 1_388_534_400;

/// Minimum validity of a certificate that is a mark of its server, in seconds: 3,650 days.
const MIN_LONG_VALIDITY_SECS: i64 = 315_360_000;

/// What a ServerHello or a certificate says of a TLS server over TCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFacts {
    /// Whether the connection is one of a client that [names no server](RequestFacts::is_nameless).
    pub(crate) is_nameless: bool,
    /// Whether the server selected TLS 1.0 or an earlier version.
    pub(crate) is_old: bool,
    /// Whether the version encrypts certificates.
    pub(crate) hides_certificate: bool,
    pub(crate) certificate: Option<CertificateFacts>,
}

/// Reads the name of a C2 program of the table.
fn c2_program<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StaticText>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.as_deref().and_then(known_servers::c2_program_named))
}

/// What a certificate says of its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CertificateFacts {
    #[serde(deserialize_with = "c2_program")]
    pub(crate) program: Option<StaticText>,
    pub(crate) marks: ServerMarks,
    /// Whether the certificate explains why the server has no name.
    pub(crate) is_explained: bool,
    pub(crate) names: CertificateNames,
}

impl CertificateFacts {
    /// The facts of the certificate of a server. `None` without one that can be read, or if it is neither that of a C2 program nor
    /// wanted for a server without a name.
    pub(crate) fn new(certificate: Option<&Certificate>, is_nameless: bool) -> Option<Self> {
        Self::of_fields(certificate?.fields()?, is_nameless)
    }

    fn of_fields(fields: &CertificateFields, is_nameless: bool) -> Option<Self> {
        let program = known_servers::c2_program(fields);
        if program.is_none() && !is_nameless {
            return None;
        }
        let is_public = known_servers::has_public_issuer(fields);
        let [start, end] =
            [fields.not_before, fields.not_after].map(|time| time.map(CertificateTime::seconds));
        let length = start.zip(end).map(|(start, end)| end.saturating_sub(start));
        let is_weak = fields.key.as_deref() == Some("RSA")
            && fields.key_bits.is_some_and(|bits| bits <= MAX_WEAK_KEY_BITS);
        let mut marks = ServerMarks::default();
        marks.add(ServerMark::Issuer, !is_public);
        marks.add(ServerMark::Placeholder, !is_public && known_servers::has_placeholder(fields));
        marks.add(ServerMark::Authority, fields.is_ca == Some(true) && !fields.is_self_issued);
        marks.add(ServerMark::Key, is_weak && start.is_some_and(|start| start >= FIRST_WEAK_KEY_SECS));
        marks.add(ServerMark::Validity, length.is_some_and(|length| length >= MIN_LONG_VALIDITY_SECS));
        let is_explained =
            is_public || known_servers::is_of_product(fields) || known_servers::is_of_tor(fields);
        Some(Self { program, marks, is_explained, names: CertificateNames::new(fields) })
    }
}
