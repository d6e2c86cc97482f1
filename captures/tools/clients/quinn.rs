//! Opens an HTTP/3 connection; the server does not answer.

use std::sync::Arc;
use std::time::Duration;

#[tokio::main]
async fn main() {
    let url = std::env::args().nth(1).expect("the URL is the first argument");
    let port = url.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let mut tls = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let tls = quinn::crypto::rustls::QuicClientConfig::try_from(tls).expect("a suite for Initial packets");
    let mut endpoint = quinn::Endpoint::client(([0, 0, 0, 0], 0).into()).expect("a socket");
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(tls)));
    let connecting = endpoint.connect(([127, 0, 0, 1], port).into(), "www.example.test").expect("an address");
    let _ = tokio::time::timeout(Duration::from_secs(1), connecting).await;
}
