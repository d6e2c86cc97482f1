//! Ends TLS, and passes requests on to an upstream with the fingerprints of their client in headers.
//!
//! `cargo run -p huginn-net-proxy --features axum --example axum_proxy 0.0.0.0:8443 cert.pem key.pem 127.0.0.1:8080`

use axum::http::{StatusCode, Uri, Version};
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
const HOP_BY_HOP: &str = ",connection,keep-alive,proxy-connection,te,transfer-encoding,upgrade";
async fn pass_on(client: Upstream, upstream: String, mut request: Request) -> Result<Response, StatusCode> {
    let path = request.uri().path_and_query().cloned().ok_or(StatusCode::METHOD_NOT_ALLOWED)?;
    let host = request.uri().authority().and_then(|host| host.as_str().rsplit('@').next()?.parse().ok());
    let host = host.or_else(|| request.headers_mut().remove("host"));
    let listed = request.headers().get_all("connection").iter().filter_map(|list| list.to_str().ok());
    for name in (listed.collect::<Vec<_>>().join(",") + HOP_BY_HOP).split(',') {
        request.headers_mut().remove(name.trim());
    }
    host.and_then(|host| request.headers_mut().insert("host", host));
    let uri = Uri::builder().scheme("http").authority(upstream).path_and_query(path).build();
    *request.uri_mut() = uri.map_err(|_| StatusCode::BAD_REQUEST)?;
    *request.version_mut() = Version::HTTP_11;
    client.request(request).await.map(|answer| answer.map(Body::new)).map_err(|_| StatusCode::BAD_GATEWAY)
}
