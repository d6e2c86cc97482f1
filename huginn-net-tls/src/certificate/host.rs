//! Names of hosts in certificates (RFC 9525).

use std::net::IpAddr;
use std::str;

/// The IP address that a text is; `None` for the name of a host.
pub(super) fn address(host: &[u8]) -> Option<IpAddr> {
    str::from_utf8(host).ok()?.parse().ok()
}

/// Whether a DNS name in a certificate covers the name of a host. A final dot of the host is ignored: it is not part of
/// names in certificates.
pub(super) fn matches_dns(pattern: &str, host: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    if !is_host_name(host) || address(host).is_some() {
        return false;
    }
    match pattern.strip_prefix("*.") {
        Some(parent) => {
            let dot = host.iter().position(|byte| *byte == b'.');
            let (_, rest) = dot.and_then(|at| host.split_at_checked(at)).unwrap_or_default();
            // The rule of OpenSSL, NSS and webpki: a wildcard right below a top-level domain matches nothing.
            parent.contains('.')
                && rest.strip_prefix(b".").is_some_and(|rest| rest.eq_ignore_ascii_case(parent.as_bytes()))
        }
        None => pattern.as_bytes().eq_ignore_ascii_case(host),
    }
}

/// Whether bytes are labels between dots, and not a pattern.
fn is_host_name(host: &[u8]) -> bool {
    host.split(|byte| *byte == b'.').all(|label| !label.is_empty() && !label.contains(&b'*'))
}
