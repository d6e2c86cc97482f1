//! TLS settings of the load, and the fingerprint of the hello that they produce.

use std::sync::Arc;

use anyhow::Context;
use huginn_net_tls::{ClientHello, Transport};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, client::Resumption, quic,
};

/// Makes the settings of a client that accepts any certificate and never resumes a session, so that every connection has
/// a whole handshake and the same JA4.
pub(super) fn config(http: u8) -> anyhow::Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let alpn: &[u8] = match http {
        1 => b"http/1.1",
        2 => b"h2",
        _ => b"h3",
    };
    config.alpn_protocols = vec![alpn.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Computes the JA4 of the hello that these settings produce.
pub(super) fn ja4(
    config: &Arc<ClientConfig>,
    host: &ServerName<'static>,
    http: u8,
) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let (message, transport) = if http == 3 {
        let mut client =
            quic::ClientConnection::new(Arc::clone(config), quic::Version::V1, host.clone(), vec![])?;
        client.write_hs(&mut bytes);
        (bytes.as_slice(), Transport::Quic)
    } else {
        ClientConnection::new(Arc::clone(config), host.clone())?.write_tls(&mut bytes)?;
        // One record: type, version and length precede the message (RFC 8446, section 5.1).
        (bytes.get(5..).unwrap_or_default(), Transport::Tls)
    };
    let hello = ClientHello::from_message(message, transport)?.context("rustls wrote no whole hello")?;
    Ok(hello.value.ja4().to_string())
}

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn ja4_names_transport_and_alpn() {
        let host = ServerName::try_from("huginn-lab.test").unwrap();
        for (http, prefix, alpn) in [(1, "t13d", "h1"), (2, "t13d", "h2"), (3, "q13d", "h3")] {
            let ja4 = ja4(&config(http).unwrap(), &host, http).unwrap();
            assert!(ja4.starts_with(prefix), "{ja4}");
            assert_eq!(ja4.get(8..10), Some(alpn), "{ja4}");
        }
    }
}
