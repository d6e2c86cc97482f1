//! The HTTP/3 proxy of proxy.sh: passes requests on to an upstream with the fingerprints of their client in headers.
//!
//! `cargo run -p huginn-net-proxy --features http,quinn --example http3_proxy 0.0.0.0:8443 cert.pem key.pem 127.0.0.1:8080`

use std::{env, error::Error, sync::Arc};

use bytes::{Buf, Bytes};
use h3::server::{RequestResolver, RequestStream};
use h3_quinn::BidiStream;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Full};
use huginn_net_proxy::{
    ConnectionFingerprint, FingerprintField, FingerprintHeaders, Fingerprinter, QuicHelloRecorder,
};
use hyper::body::Incoming as Body;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, Incoming, ServerConfig};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const MAX_REQUEST_BODY: usize = 1 << 20;

#[derive(Clone)]
struct Proxy {
    fingerprinter: Fingerprinter,
    headers: FingerprintHeaders,
    client: Client<HttpConnector, Full<Bytes>>,
    upstream: Arc<str>,
}

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [listen, cert, key, upstream] =
        arguments.try_into().map_err(|_| "usage: LISTEN CERT KEY UPSTREAM")?;
    let (cert, key) = (CertificateDer::pem_file_iter(cert)?, PrivateKeyDer::from_pem_file(key)?);
    let tls = rustls::ServerConfig::builder().with_no_client_auth();
    let mut tls = tls.with_single_cert(cert.collect::<Result<_, _>>()?, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let recorder = QuicHelloRecorder::new(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = Endpoint::server(ServerConfig::with_crypto(Arc::new(recorder)), listen.parse()?)?;

    let proxy = Proxy {
        fingerprinter: Fingerprinter::default(),
        headers: FingerprintHeaders::new("x-client-")?.with_fields(FingerprintField::ALL),
        client: Client::builder(TokioExecutor::new()).build_http(),
        upstream: upstream.into(),
    };
    while let Some(incoming) = endpoint.accept().await {
        let proxy = proxy.clone();
        tokio::spawn(async move {
            // A client that goes away needs no answer.
            let _ = proxy.serve(incoming).await;
        });
    }
    Ok(())
}

impl Proxy {
    async fn serve(self, incoming: Incoming) -> Outcome {
        let connection = incoming.await?;
        let parts = QuicHelloRecorder::parts(&connection);
        let fingerprint = ConnectionFingerprint::new(self.fingerprinter.clone(), parts);
        let mut connection = h3::server::Connection::new(h3_quinn::Connection::new(connection)).await?;
        while let Some(request) = connection.accept().await? {
            let (proxy, fingerprint) = (self.clone(), fingerprint.clone());
            tokio::spawn(async move {
                let _ = proxy.answer(request, fingerprint).await;
            });
        }
        Ok(())
    }

    async fn answer(
        self,
        request: RequestResolver<h3_quinn::Connection, Bytes>,
        fingerprint: ConnectionFingerprint,
    ) -> Outcome {
        let (mut request, mut stream) = request.resolve_request().await?;
        self.headers.apply(&fingerprint.fingerprint(), request.headers_mut());
        let answer = match read_body(&mut stream, request.headers()).await? {
            Ok(body) => self.pass_on(request, body).await.map_err(|_| StatusCode::BAD_GATEWAY),
            Err(status) => Err(status),
        };
        let mut head = Response::new(());
        match &answer {
            Ok(answer) => {
                *head.status_mut() = answer.status();
                *head.headers_mut() = answer.headers().clone();
                remove_hop_by_hop_headers(head.headers_mut());
            }
            Err(status) => *head.status_mut() = *status,
        }
        stream.send_response(head).await?;
        if let Ok(mut answer) = answer {
            while let Some(frame) = answer.frame().await {
                if let Ok(data) = frame?.into_data() {
                    stream.send_data(data).await?;
                }
            }
        }
        Ok(stream.finish().await?)
    }

    async fn pass_on(&self, request: Request<()>, body: Bytes) -> Outcome<Response<Body>> {
        let (mut head, ()) = request.into_parts();
        let path = head.uri.path_and_query().cloned().ok_or("no path")?;
        // Without user information, which Host does not have.
        let host = head.uri.authority().and_then(|host| host.as_str().rsplit('@').next());
        let host = host.map(HeaderValue::from_str).transpose()?;
        head.uri = Uri::builder().scheme("http").authority(&*self.upstream).path_and_query(path).build()?;
        head.version = Version::HTTP_11;
        remove_hop_by_hop_headers(&mut head.headers);
        // The client writes the length of the body that arrived.
        head.headers.remove(CONTENT_LENGTH);
        if let Some(host) = host {
            head.headers.insert(HOST, host);
        }
        Ok(self.client.request(Request::from_parts(head, Full::new(body))).await?)
    }
}

/// Removes hop-by-hop headers, and those that Connection lists (RFC 9110, section 7.6.1).
fn remove_hop_by_hop_headers(headers: &mut HeaderMap) {
    let listed = headers.get_all(CONNECTION).iter().filter_map(|list| list.to_str().ok());
    let listed = listed.collect::<Vec<_>>().join(",");
    let always = ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];
    for name in listed.split(',').chain(always) {
        headers.remove(name.trim());
    }
}

/// Reads the body of a request, or returns the status that refuses it: one that is longer than the limit, or whose
/// length differs from Content-Length (RFC 9114, section 4.1.2).
async fn read_body(
    stream: &mut RequestStream<BidiStream<Bytes>, Bytes>,
    headers: &HeaderMap,
) -> Outcome<Result<Bytes, StatusCode>> {
    let mut body = Vec::new();
    while let Some(mut data) = stream.recv_data().await? {
        if body.len().saturating_add(data.remaining()) > MAX_REQUEST_BODY {
            return Ok(Err(StatusCode::PAYLOAD_TOO_LARGE));
        }
        body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    let is_length = |value: &HeaderValue| *value == body.len().to_string();
    if !headers.get_all(CONTENT_LENGTH).iter().all(is_length) {
        return Ok(Err(StatusCode::BAD_REQUEST));
    }
    Ok(Ok(body.into()))
}
