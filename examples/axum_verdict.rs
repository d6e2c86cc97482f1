//! An axum application that refuses clients that are not the browser that they claim to be: a verdict for each request.
//!
//! `cargo run -p huginn-net-proxy --features axum --example axum_verdict 0.0.0.0:8443 cert.pem key.pem`

use std::sync::Arc;

use axum::http::StatusCode;
use axum::{Extension, Router};
use huginn_net_consistency::Outcome;
use huginn_net_proxy::{ClientFingerprint, FingerprintAcceptor, FingerprintListener, FingerprintMakeService};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [listen, cert, key] = args.try_into().map_err(|_| "usage: LISTEN CERT KEY")?;
    let (cert, key) = (CertificateDer::pem_file_iter(cert)?, PrivateKeyDer::from_pem_file(key)?);
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(cert.collect::<Result<_, _>>()?, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = tokio::net::TcpListener::bind(listen).await?;
    let listener = FingerprintListener::new(listener, FingerprintAcceptor::new(config.into()))?;
    let app = Router::new().fallback(answer);
    Ok(axum::serve(listener, FingerprintMakeService::new(app)).await?)
}

async fn answer(Extension(client): Extension<Arc<ClientFingerprint>>) -> (StatusCode, String) {
    let ja4 = client.tls.as_ref().map_or("no JA4".to_owned(), |tls| tls.ja4.to_string());
    match &client.consistency {
        Some(verdict) if verdict.outcome == Outcome::Imitation => {
            (StatusCode::FORBIDDEN, format!("{ja4} {}: {}\n", verdict.outcome, verdict.reasons.as_str()))
        }
        Some(verdict) => (StatusCode::OK, format!("{ja4} {}\n", verdict.outcome)),
        None => (StatusCode::OK, format!("{ja4}\n")),
    }
}
