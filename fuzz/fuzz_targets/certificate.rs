//! Parses any bytes as a certificate, as a Certificate message, compressed too, and as a CertificateRequest of each version: what is listed
//! lies within the input and the limits, texts are printable, and a name of the certificate matches it.
#![no_main]

use huginn_net_decrypt::decompress_certificate;
use huginn_net_tls::{AlternativeName, Certificate, CertificateMessage, CertificateRequest, Version};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    certificate(data);
    if let Some(decompressed) = decompress_certificate(data) {
        assert!(decompressed.len() <= 64 << 10);
    }
    let message = CertificateMessage::from_body(data);
    let listed: usize = message.certificates().map(|der| der.len() + 3).sum();
    assert!(listed <= data.len() && message.certificates().count() <= 16);
    message.certificates().for_each(certificate);
    for version in [Version::TLS_1_1, Version::TLS_1_2] {
        let Ok(request) = CertificateRequest::from_body(data, version) else { continue };
        assert!(request.authorities().map(|name| name.der().len() + 2).sum::<usize>() <= data.len());
        for text in request.authorities().filter_map(|name| name.text()) {
            assert!(is_printable(&text));
        }
    }
});

fn certificate(der: &[u8]) {
    let certificate = Certificate::from_der(der);
    assert_eq!(certificate.len(), der.len());
    assert_eq!(Certificate::from_der(der), certificate);
    assert!(!certificate.to_string().is_empty());
    let Some(fields) = certificate.fields() else {
        assert_eq!(certificate.matches_name(b"example.com"), None);
        return;
    };
    assert!(fields.version.is_none_or(|version| (1..=3).contains(&version)));
    for text in [&fields.subject, &fields.issuer].into_iter().flatten() {
        assert!(is_printable(text) && text.len() <= 2048);
    }
    for time in [fields.not_before, fields.not_after].into_iter().flatten() {
        assert_eq!(time.to_string().len(), "2026-01-01T00:00:00Z".len());
        let is_valid = fields.not_before.zip(fields.not_after).map(|(start, end)| start <= end);
        assert_eq!(fields.is_valid_at(time.seconds()), is_valid);
    }
    let Some(found) = &fields.alternative_names else { return };
    assert!(found.names.len() <= 256);
    for name in &found.names {
        match name {
            AlternativeName::Ip(address) => {
                assert_eq!(fields.matches_name(address.to_string().as_bytes()), Some(true));
            }
            AlternativeName::Dns(name) if is_host_name(name) => {
                assert_eq!(fields.matches_name(name.as_bytes()), Some(true));
            }
            _ => {}
        }
    }
}

/// Whether text is a name of a host, and not an address.
fn is_host_name(name: &str) -> bool {
    name.split('.').all(|label| !label.is_empty() && !label.contains('*'))
        && name.parse::<std::net::IpAddr>().is_err()
}

fn is_printable(text: &str) -> bool {
    !text.chars().any(char::is_control)
}
