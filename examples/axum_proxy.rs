//! Ends TLS, and passes requests on to an upstream with the fingerprints of their client in headers.
//!
//! `cargo run -p huginn-net-proxy --features axum --example axum_proxy 0.0.0.0:8443 cert.pem key.pem 127.0.0.1:8080`

use axum::http::{HeaderValue, StatusCode, Version, header::HOST};
use axum::{Router, body::Body, extract::Request, response::Response};
use huginn_net_proxy::*;
use hyper_util::{client::legacy, client::legacy::connect::HttpConnector, rt::TokioExecutor};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [listen, cert, key, upstream] = args.try_into().map_err(|_| "usage: LISTEN CERT KEY UPSTREAM")?;
    let (cert, key) = (CertificateDer::pem_file_iter(cert)?, PrivateKeyDer::from_pem_file(key)?);
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(cert.collect::<Result<_, _>>()?, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = tokio::net::TcpListener::bind(listen).await?;
    let listener = FingerprintListener::new(listener, FingerprintAcceptor::new(config.into()))?;
    let client = legacy::Client::builder(TokioExecutor::new()).build_http();
    let app = Router::new().fallback(move |request| pass_on(client.clone(), upstream.clone(), request));
    let headers = FingerprintHeaders::new("x-client-")?.with_fields(FingerprintField::ALL);
    Ok(axum::serve(listener, FingerprintMakeService::new(app).with_headers(headers)).await?)
}

type Upstream = legacy::Client<HttpConnector, Body>;

async fn pass_on(client: Upstream, upstream: String, mut request: Request) -> Result<Response, StatusCode> {
    let host = request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
    let host = host.or_else(|| request.headers().get(HOST).cloned());
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = format!("http://{upstream}{path}").parse().map_err(|_| StatusCode::BAD_REQUEST)?;
    *request.version_mut() = Version::HTTP_11;
    // Host is set again; the others are hop-by-hop headers (RFC 9110, section 7.6.1).
    for name in "host connection keep-alive proxy-connection te trailer transfer-encoding upgrade".split(' ')
    {
        request.headers_mut().remove(name);
    }
    request.headers_mut().extend(host.map(|host| (HOST, host)));
    client.request(request).await.map(|answer| answer.map(Body::new)).map_err(|_| StatusCode::BAD_GATEWAY)
}
