//! What is known of TLS servers: ports, public authorities, products with certificates of their own, and the default certificates of
//! C2 programs.

use huginn_net_tls::CertificateFields;

/// Ports of TLS services, and of services that turn to TLS, by the registry of IANA and the documents of the programs that use them.
const PORTS: [u16; 141] = [
    21, 25, 110, 119, 143, 261, 322, 389, 443, 448, 465, 563, 587, 614, 631, 636, 684, 695, 832, 853, 902,
    903, 989, 990, 992, 993, 994, 995, 1194, 1311, 1433, 1716, 1883, 2083, 2087, 2096, 2221, 2252, 2376,
    2377, 2379, 2380, 2478, 2479, 2482, 2484, 2679, 2762, 3001, 3077, 3128, 3183, 3191, 3220, 3268, 3269,
    3306, 3389, 3410, 3424, 3471, 3496, 3509, 3529, 3539, 3660, 3661, 3747, 3766, 3864, 3885, 3896, 3995,
    4031, 4036, 4064, 4081, 4083, 4116, 4335, 4336, 4443, 4536, 4647, 4849, 5001, 5061, 5222, 5223, 5228,
    5269, 5349, 5432, 5443, 5480, 5671, 5684, 5783, 5868, 5986, 5989, 6443, 6513, 6514, 6568, 6619, 6679,
    6697, 6771, 7000, 7070, 7202, 7443, 7673, 7674, 8002, 8006, 8009, 8089, 8140, 8200, 8243, 8443, 8501,
    8834, 8843, 8883, 8884, 8991, 9001, 9090, 9093, 9200, 9443, 10000, 10250, 10443, 16443, 22000, 27017,
    32400,
];

/// Organizations of public authorities: those of Mozilla's list, and earlier ones.
const AUTHORITIES: &str = include_str!("known_servers/authorities.txt");

/// Starts of attributes in the subject or the issuer of certificates that products make for themselves, or that the private
/// authorities of their makers issue.
const PRODUCTS: &str = include_str!("known_servers/products.txt");

/// Attributes that examples and installers leave in certificates: those of OpenSSL and of distributions, and of instructions.
const PLACEHOLDERS: [&str; 10] = [
    "CN=domain.com",
    "CN=example.com",
    "CN=example.org",
    "CN=localhost",
    "CN=www.example.com",
    "O=Default Company Ltd",
    "O=Dis",
    "O=Global Security",
    "O=Internet Widgits Pty Ltd",
    "O=My Company Name LTD.",
];

/// Where a default certificate has the value that identifies it.
enum Place {
    /// The common name of the subject or of the issuer.
    CommonName,
    /// The common names of subject and issuer.
    Names(&'static str),
    /// The serial number.
    Serial,
    /// The whole issuer.
    Issuer,
}

/// Default certificates of C2 programs: program, place and value. docs/findings.md has the sources.
const C2_CERTIFICATES: [(&str, Place, &str); 17] = [
    ("AsyncRAT", Place::CommonName, "AsyncRAT Server"),
    ("BitRAT", Place::CommonName, "BitRAT"),
    ("Cobalt Strike", Place::CommonName, "Major Cobalt Strike"),
    ("Cobalt Strike", Place::Serial, "08bb00ee"),
    ("Covenant", Place::Names("Covenant"), "Covenant"),
    ("DcRat", Place::CommonName, "DcRat"),
    ("DcRat", Place::CommonName, "DcRat Server"),
    ("Gozi", Place::Issuer, "CN=*,OU=1,O=1,L=1,ST=1,C=XX"),
    ("Metasploit", Place::CommonName, "MetasploitSelfSignedCA"),
    ("Orcus", Place::CommonName, "Orcus Server"),
    ("Orcus", Place::CommonName, "OrcusServerCertificate"),
    ("PoshC2", Place::CommonName, "P18055077"),
    ("Quasar", Place::CommonName, "Anony96"),
    ("Quasar", Place::CommonName, "Quasar Server CA"),
    ("Sliver", Place::Names("operators"), "multiplayer"),
    ("VenomRAT", Place::CommonName, "VenomRAT"),
    ("VenomRAT", Place::CommonName, "VenomRAT Server"),
];

/// Whether TLS services have the port.
pub(in crate::hosts) fn is_tls_port(port: u16) -> bool {
    PORTS.binary_search(&port).is_ok()
}

/// Whether the issuer says that it is a public authority. Anybody can write that: nothing is verified.
pub(in crate::hosts) fn has_public_issuer(fields: &CertificateFields) -> bool {
    let Some(issuer) = fields.issuer.as_deref().filter(|_| !fields.is_self_issued) else { return false };
    let mut organizations = issuer.split(',').filter_map(|attribute| attribute.strip_prefix("O="));
    organizations.any(|name| AUTHORITIES.lines().any(|start| name.starts_with(start)))
}

/// Whether an attribute of the subject is one that examples and installers leave.
pub(in crate::hosts) fn has_placeholder(fields: &CertificateFields) -> bool {
    let mut attributes = fields.subject.as_deref().unwrap_or_default().split(',');
    attributes.any(|attribute| PLACEHOLDERS.contains(&attribute))
}

/// Whether the certificate is that of a relay of Tor: its names are random (tor-spec, "Negotiating TLS").
pub(in crate::hosts) fn is_of_tor(fields: &CertificateFields) -> bool {
    let is_random = |name: &Option<Box<str>>, end: &str| {
        let name = name.as_deref().and_then(|name| name.strip_prefix("CN=www.")?.strip_suffix(end));
        name.is_some_and(|name| {
            (8..=20).contains(&name.len())
                && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
        })
    };
    is_random(&fields.subject, ".net") && is_random(&fields.issuer, ".com")
}

/// Whether the certificate says that a product made it for itself.
pub(in crate::hosts) fn is_of_product(fields: &CertificateFields) -> bool {
    let names = [&fields.subject, &fields.issuer].into_iter().flatten();
    let mut attributes = names.flat_map(|name| name.split([',', '+']));
    attributes.any(|attribute| PRODUCTS.lines().any(|start| attribute.starts_with(start)))
}

/// The C2 program whose default certificate it is.
pub(in crate::hosts) fn c2_program(fields: &CertificateFields) -> Option<&'static str> {
    let issuer_has = |name: &str| {
        let parts = fields.issuer.as_deref().unwrap_or_default().split(',');
        parts.filter_map(|part| part.strip_prefix("CN=")).any(|found| found == name)
    };
    let subject_has = |name: &str| fields.common_name.as_deref() == Some(name);
    let is = |(_, place, value): &&(&str, Place, &str)| match place {
        Place::CommonName => subject_has(value) || issuer_has(value),
        Place::Names(issuer) => subject_has(value) && issuer_has(issuer),
        Place::Serial => fields.serial.as_deref() == Some(value),
        Place::Issuer => fields.issuer.as_deref() == Some(value),
    };
    C2_CERTIFICATES.iter().find(is).map(|(program, ..)| *program)
}

/// The program of the table with this name.
pub(super) fn c2_program_named(name: &str) -> Option<&'static str> {
    C2_CERTIFICATES.iter().map(|(program, ..)| *program).find(|program| *program == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(PORTS.is_sorted() && AUTHORITIES.lines().is_sorted() && PRODUCTS.lines().is_sorted());
    }
}
