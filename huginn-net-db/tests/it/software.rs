//! Matches of the built-in database for HTTP heads of known software.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::HashSet;

use huginn_net_db::{Database, HttpParams};
use huginn_net_http::{Headers, HttpSignature, HttpVersion, Role};

#[test]
fn headers_identify_software() {
    let database = Database::builtin();
    let mut found_labels = HashSet::new();
    for row in include_str!("software.txt").lines().filter(|line| !line.starts_with('#')) {
        let [role, label, params, _source, raw_sig] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let role = if role == "request" { Role::Request } else { Role::Response };
        let signature = signature_from_raw_sig(role, raw_sig);
        assert_eq!(
            signature.raw_sig(|name| database.contains_header_name(name)).to_string(),
            raw_sig,
            "{row}"
        );
        let found = match role {
            Role::Request => database.match_request(&signature),
            Role::Response => database.match_response(&signature),
        };
        let printed = found.as_ref().map_or_else(|| "???".into(), |found| found.label.to_string());
        assert_eq!(printed, label, "{row}");
        assert_eq!(HttpParams::from_signature(&signature, found.as_ref()).to_string(), params, "{row}");
        found_labels.extend(found.map(|found| found.label));
    }
    let http = database.http_request().iter().chain(database.http_response()).map(|entry| &entry.label);
    let missing: Vec<_> =
        http.filter(|label| !found_labels.contains(*label)).map(ToString::to_string).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

/// Rebuilds the head from a raw signature of p0f. Values that the raw signature omits are empty.
fn signature_from_raw_sig(role: Role, raw_sig: &str) -> HttpSignature {
    let (version, mut rest) = raw_sig.split_once(':').unwrap();
    let mut headers = Vec::new();
    while !rest.starts_with(':') {
        let (name, after) = rest.split_at(rest.find([',', ':', '=']).unwrap());
        let (value, after) = match after.strip_prefix("=[") {
            Some(inside) => inside.split_once(']').unwrap(),
            None => ("", after),
        };
        headers.push((name.trim_start_matches('?'), value));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    let (_, software) = rest.strip_prefix(':').unwrap().split_once(':').unwrap();
    let software_header = if role == Role::Request { "User-Agent" } else { "Server" };
    for (_, value) in headers.iter_mut().filter(|(name, _)| *name == software_header) {
        *value = software;
    }
    let version = if version == "0" { HttpVersion::Http10 } else { HttpVersion::Http11 };
    HttpSignature::new(role, version, headers.into_iter().collect::<Headers>())
}
