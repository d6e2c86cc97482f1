//! Answers each HTTP/3 request with the fingerprints of its client.
//!
//! `cargo run -p huginn-net-proxy --features http,quinn --example http3_server 0.0.0.0:8443 cert.pem key.pem`

use std::error::Error;
use std::sync::Arc;

use huginn_net_proxy::*;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [listen, cert, key] = args.try_into().map_err(|_| "usage: LISTEN CERT KEY")?;
    let (cert, key) = (CertificateDer::pem_file_iter(cert)?, PrivateKeyDer::from_pem_file(key)?);
    let tls = rustls::ServerConfig::builder().with_no_client_auth();
    let mut tls = tls.with_single_cert(cert.collect::<Result<_, _>>()?, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let recorder = QuicHelloRecorder::new(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = Endpoint::server(ServerConfig::with_crypto(Arc::new(recorder)), listen.parse()?)?;
    let fingerprinter = Fingerprinter::default();
    while let Some(incoming) = endpoint.accept().await {
        // A client that goes away needs no answer.
        tokio::spawn(serve(incoming, fingerprinter.clone()));
    }
    Ok(())
}

async fn serve(incoming: Incoming, fingerprinter: Fingerprinter) -> Outcome {
    let connection = incoming.await?;
    let client = ConnectionFingerprint::new(fingerprinter, QuicHelloRecorder::parts(&connection));
    let client = client.fingerprint();
    let values = FingerprintField::ALL.iter().filter_map(|field| Some((field.name(), field.value(&client)?)));
    let answer: String = values.map(|(name, value)| format!("{name}: {value}\n")).collect();
    let mut connection = h3::server::Connection::new(h3_quinn::Connection::new(connection)).await?;
    while let Some(request) = connection.accept().await? {
        let (_request, mut stream) = request.resolve_request().await?;
        stream.send_response(http::Response::new(())).await?;
        stream.send_data(bytes::Bytes::from(answer.clone())).await?;
        stream.finish().await?;
    }
    Ok(())
}
