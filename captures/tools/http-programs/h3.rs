//! HTTP/3 with quinn and h3: h3 serve CERTIFICATE KEY ADDRESS, or h3 get URL ADDRESS.
//!
//! The client sends three requests, the second with a body, updates its keys before the last one, and logs its keys to the file that
//! SSLKEYLOGFILE names.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http::{Request, Response};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [serve, certificate, key, address] if serve == "serve" => {
            run_server(certificate, key, address.parse()?).await
        }
        [get, url, address] if get == "get" => run_client(url.parse()?, address.parse()?).await,
        _ => Err("h3 serve CERTIFICATE KEY ADDRESS, or h3 get URL ADDRESS".into()),
    }
}

async fn run_server(certificate: &str, key: &str, address: SocketAddr) -> Result<()> {
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<std::result::Result<_, _>>()?;
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.max_early_data_size = u32::MAX;
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, address)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let mut connection =
                h3::server::Connection::new(h3_quinn::Connection::new(incoming.await?)).await?;
            while let Some(resolver) = connection.accept().await? {
                tokio::spawn(async move {
                    let (_, mut stream) = resolver.resolve_request().await?;
                    while stream.recv_data().await?.is_some() {}
                    stream
                        .send_response(
                            Response::builder().header("server", "quinn").header("x-b", "1").body(())?,
                        )
                        .await?;
                    stream.send_data(Bytes::from("A page.\n".repeat(100))).await?;
                    stream.finish().await?;
                    Ok::<(), Box<dyn Error + Send + Sync>>(())
                });
            }
            Ok::<(), Box<dyn Error + Send + Sync>>(())
        });
    }
    Ok(())
}

async fn run_client(url: http::Uri, address: SocketAddr) -> Result<()> {
    let mut tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAll(rustls::crypto::ring::default_provider())))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    let mut endpoint = quinn::Endpoint::client(([0, 0, 0, 0], 0).into())?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let quic = endpoint.connect(address, url.host().ok_or("a host")?)?.await?;
    let (mut driver, mut requests) = h3::client::new(h3_quinn::Connection::new(quic.clone())).await?;
    let driving = tokio::spawn(async move { driver.wait_idle().await });
    for (number, method) in ["GET", "POST", "GET"].into_iter().enumerate() {
        let target = format!("https://{}{}?{number}", url.authority().ok_or("an authority")?, url.path());
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header("user-agent", "h3")
            .header("x-name", "value");
        let mut stream = requests.send_request(request.header("accept", "*/*").body(())?).await?;
        if method == "POST" {
            stream.send_data(Bytes::from("text".repeat(500))).await?;
            quic.force_key_update();
        }
        stream.finish().await?;
        stream.recv_response().await?;
        while let Some(mut data) = stream.recv_data().await? {
            data.advance(data.remaining());
        }
    }
    drop(requests);
    let _ = driving.await;
    endpoint.wait_idle().await;
    Ok(())
}

/// Accepts every certificate: the server's is its own authority.
#[derive(Debug)]
struct AcceptAll(rustls::crypto::CryptoProvider);

impl rustls::client::danger::ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
