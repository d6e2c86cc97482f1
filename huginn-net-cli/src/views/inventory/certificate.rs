//! Certificates of servers.

use huginn_net::Timestamp;
use huginn_net::core::HexDigits;
use huginn_net::tls::{Certificate, CertificateFields};

use crate::limits::CERTIFICATE_WARNING_DAYS;

const SECONDS_PER_DAY: i64 = 86_400;

/// Shortest RSA and DSA key that NIST SP 800-131A, revision 2, allows for signatures, in bits.
const MIN_KEY_BITS: u32 = 2048;

huginn_net::core::table_enum! {
    /// What is wrong with a certificate, the worst first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum CertificateProblem {
        /// It was used after its validity.
        Expired: "certificate_expired", "certificate expired";
        /// Its key is shorter than NIST SP 800-131A allows.
        ShortKey: "certificate_key_short", "short certificate key";
        /// It is signed with MD5 or SHA-1 (RFC 9155 for hashes in TLS; NIST SP 800-131A for certificates).
        WeakSignature: "certificate_signature_weak", "weak certificate signature";
        /// Its validity ends soon.
        ExpiresSoon: "certificate_expires_soon", "certificate ends soon";
        /// It has fields that cannot be read.
        Unreadable: "certificate_fields_unreadable", "unreadable certificate fields";
    }
    /// The name in JSON.
    pub(crate) fn name -> &'static str = 0;
    /// The text in a table.
    pub(crate) fn text -> &'static str = 1;
}

impl CertificateProblem {
    /// The problems of a certificate that was seen last at this time.
    pub(super) fn of(certificate: &Certificate, last: Timestamp) -> impl Iterator<Item = Self> {
        let problems = certificate.fields().map(|fields| {
            let now = i64::try_from(last.as_secs()).unwrap_or(i64::MAX);
            let left = fields.not_after.map(|end| end.seconds().saturating_sub(now));
            let soon = 0..CERTIFICATE_WARNING_DAYS.saturating_mul(SECONDS_PER_DAY);
            [
                (left.is_some_and(|left| left < 0), Self::Expired),
                (has_short_key(fields), Self::ShortKey),
                (has_weak_signature(fields), Self::WeakSignature),
                (left.is_some_and(|left| soon.contains(&left)), Self::ExpiresSoon),
                (fields.unreadable().next().is_some(), Self::Unreadable),
            ]
        });
        problems.into_iter().flatten().filter_map(|(is_so, problem)| is_so.then_some(problem))
    }
}

fn has_short_key(fields: &CertificateFields) -> bool {
    let is_sized = fields.key.as_deref().is_some_and(|key| key.starts_with("RSA") || key.starts_with("DSA"));
    is_sized && fields.key_bits.is_some_and(|bits| bits < MIN_KEY_BITS)
}

/// Whether MD5 or SHA-1 is in OpenSSL's name of the signature algorithm. A signature with the certificate's own key protects
/// nothing.
fn has_weak_signature(fields: &CertificateFields) -> bool {
    let is_weak = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("md5") || name.contains("md2") || name.contains("sha1")
    };
    !fields.is_self_issued && fields.signature_algorithm.as_deref().is_some_and(is_weak)
}

/// The SHA-256 of a certificate in hexadecimal digits.
pub(super) fn sha256_of(certificate: &Certificate) -> String {
    HexDigits(certificate.sha256()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(der: &[u8], last: u64) -> Vec<CertificateProblem> {
        CertificateProblem::of(&Certificate::from_der(der), Timestamp::new(last, 0, 0)).collect()
    }

    /// The key of `rsa1023` has 1023 bits, and it is signed with SHA-1, but by itself (`openssl x509 -text`).
    #[test]
    fn short_key_is_a_problem_and_own_signature_is_not() {
        let der = include_bytes!("../../../../huginn-net-tls/certificates/rsa1023.der");
        let found = problems(der, 1_800_000_000);
        assert!(found.contains(&CertificateProblem::ShortKey), "{found:?}");
        assert!(!found.contains(&CertificateProblem::WeakSignature), "{found:?}");
    }

    /// `openssl x509 -enddate` of `dates-utc`: Dec 31 23:59:59 2049 GMT, 2524607999 seconds since the epoch.
    #[test]
    fn validity_ends_after_its_last_second() {
        const DAY: u64 = 86_400;
        const END: u64 = 2_524_607_999;
        let der = include_bytes!("../../../../huginn-net-tls/certificates/dates-utc.der");
        let rows = [
            (END - 30 * DAY, vec![]),
            (END - 30 * DAY + 1, vec![CertificateProblem::ExpiresSoon]),
            (END, vec![CertificateProblem::ExpiresSoon]),
            (END + 1, vec![CertificateProblem::Expired]),
        ];
        for (last, wanted) in rows {
            assert_eq!(problems(der, last), wanted, "{last}");
        }
    }

    /// The end of `dates-utc`, 491231235959Z, with a month that does not exist.
    #[test]
    fn unreadable_end_is_a_problem_and_no_expiry() {
        let mut der = include_bytes!("../../../../huginn-net-tls/certificates/dates-utc.der").to_vec();
        let at = der.windows(13).position(|bytes| bytes == b"491231235959Z").unwrap();
        der[at + 2..at + 4].copy_from_slice(b"13");
        assert_eq!(problems(&der, u64::MAX), [CertificateProblem::Unreadable]);
    }

    #[test]
    fn bytes_that_are_not_a_certificate_have_no_problems() {
        assert_eq!(problems(b"\x30\x03\x02\x01\x05", 0), []);
    }
}
