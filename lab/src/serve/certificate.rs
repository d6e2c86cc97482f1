//! A self-signed certificate, made at each start.

use std::sync::Arc;

use anyhow::Context;
use quinn::crypto::rustls::QuicServerConfig;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// TLS settings of both transports.
pub(super) struct Tls {
    pub(super) tcp: Arc<ServerConfig>,
    pub(super) quic: quinn::ServerConfig,
}

/// Makes a P-256 key and a certificate for `localhost` and `huginn-lab.test`.
pub(super) fn self_signed() -> anyhow::Result<Arc<Tls>> {
    let names = ["localhost", "huginn-lab.test"].map(String::from);
    let made = rcgen::generate_simple_self_signed(names).context("cannot make a certificate")?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let chain = vec![made.cert.der().clone()];
    let tcp = config(chain.clone(), key.clone_key(), &[b"h2", b"http/1.1"])?;
    let quic = QuicServerConfig::try_from(config(chain, key, &[b"h3"])?)?;
    let mut quic = quinn::ServerConfig::with_crypto(Arc::new(quic));
    quic.max_incoming(4096);
    Ok(Arc::new(Tls { tcp: Arc::new(tcp), quic }))
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    alpn: &[&[u8]],
) -> anyhow::Result<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
