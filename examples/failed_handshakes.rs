//! Prints the fingerprints of clients whose TLS handshake fails: scanners, and programs that accept no certificate but their own.
//!
//! `cargo run -p huginn-net-proxy --features axum --example failed_handshakes 0.0.0.0:8443 cert.pem key.pem`

#![allow(clippy::print_stdout, reason = "the output of the example")]

use axum::Router;
use huginn_net_proxy::*;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [listen, cert, key] = args.try_into().map_err(|_| "usage: LISTEN CERT KEY")?;
    let (cert, key) = (CertificateDer::pem_file_iter(cert)?, PrivateKeyDer::from_pem_file(key)?);
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(cert.collect::<Result<_, _>>()?, key)?;
    let listener = tokio::net::TcpListener::bind(listen).await?;
    let listener = FingerprintListener::new(listener, FingerprintAcceptor::new(config.into()))?;
    let counters = listener.counters();
    let listener = listener.on_failed_handshake(move |address, failure| {
        let client = failure.connection.fingerprint();
        let ja4 = client.tls.as_ref().map_or("no ClientHello".to_owned(), |tls| tls.ja4.to_string());
        let software = client.tls.as_ref().and_then(|tls| tls.software.as_deref()).unwrap_or("unknown");
        let system = client.tcp.as_ref().and_then(|tcp| tcp.system.as_deref()).unwrap_or("unknown");
        println!("{address}: {ja4}, {software}, system {system}: {}", failure.error);
        println!("{} failed, {} completed", counters.failed(), counters.completed());
    });
    let app = Router::new().fallback(|| async { "hello" });
    Ok(axum::serve(listener, FingerprintMakeService::new(app)).await?)
}
