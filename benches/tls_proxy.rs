//! Ends TLS on one thread with a part of the fingerprints, and answers by itself or passes requests on.
//!
//! usage: tls_proxy PART LISTEN CERTIFICATE KEY [UPSTREAM]
//!
//! PART is `none`, `syn`, `hello`, `http`, or `all`; with `all`, the request gets the default headers.
#![allow(missing_docs, reason = "a program")]

use std::pin::Pin;
use std::task::{Context, Poll};
use std::{env, io};

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{Uri, Version};
use axum::response::Response;
use huginn_net_proxy::{
    ConnectionFingerprint, ConnectionParts, FingerprintHeaders, FingerprintLayer, Fingerprinter, Recorder,
    Recording, SavedSyn,
};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tower_layer::Layer;

type Upstream = Client<HttpConnector, Body>;

#[derive(Clone)]
struct Server {
    part: String,
    acceptor: TlsAcceptor,
    fingerprinter: Fingerprinter,
    headers: FingerprintHeaders,
    app: Router,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = env::args().skip(1);
    let mut argument = || arguments.next().context("usage: PART LISTEN CERTIFICATE KEY [UPSTREAM]");
    let (part, listen, certificate, key) = (argument()?, argument()?, argument()?, argument()?);
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind(listen).await?;
    if ["syn", "all"].contains(&&*part) {
        SavedSyn::enable(&listener)?;
    }
    let app = match argument() {
        Ok(upstream) => {
            let client: Upstream = Client::builder(TokioExecutor::new()).build_http();
            Router::new().fallback(move |request| pass_on(client.clone(), upstream.clone(), request))
        }
        Err(_) => Router::new().fallback(async || "An answer.\n"),
    };
    let server = Server {
        part,
        acceptor: TlsAcceptor::from(std::sync::Arc::new(config)),
        fingerprinter: Fingerprinter::default(),
        headers: FingerprintHeaders::new("x-client-")?,
        app,
    };
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let server = server.clone();
        tokio::spawn(async move {
            // Clients go away as they like.
            let _ = server.serve(stream).await;
        });
    }
}

impl Server {
    async fn serve(self, stream: TcpStream) -> anyhow::Result<()> {
        let has = |part| self.part == part || self.part == "all";
        let mut parts = ConnectionParts::default();
        if has("syn") {
            parts.syn = SavedSyn::take(&stream)?;
        }
        // Without a recorder there is none of its code in the way of the bytes.
        let tls = if has("hello") {
            let mut stream =
                self.acceptor.accept(Recorder::new(Stream::Tcp(stream), Recording::tls())).await?;
            parts.hello = stream.get_mut().0.take_recording();
            Stream::Recorded(Box::new(stream))
        } else {
            Stream::Tls(Box::new(self.acceptor.accept(stream).await?))
        };
        if has("http") {
            let mut recorder = Recorder::new(tls, Recording::http());
            parts.http = Some(recorder.handle());
            self.answer(recorder, parts).await
        } else {
            self.answer(tls, parts).await
        }
    }

    async fn answer<S>(self, stream: S, parts: ConnectionParts) -> anyhow::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let builder = Builder::new(TokioExecutor::new());
        let stream = TokioIo::new(stream);
        let outcome = if self.part == "none" {
            builder.serve_connection(stream, TowerToHyperService::new(self.app)).await
        } else {
            let layer = FingerprintLayer::new(ConnectionFingerprint::new(self.fingerprinter, parts));
            let layer = if self.part == "all" { layer.with_headers(self.headers) } else { layer };
            builder.serve_connection(stream, TowerToHyperService::new(layer.layer(self.app))).await
        };
        outcome.map_err(anyhow::Error::from_boxed)
    }
}

/// Passes an HTTP/2 request on over HTTP/1.1. `examples/axum_proxy.rs` shows what a proxy in use does besides.
async fn pass_on(client: Upstream, upstream: String, mut request: Request) -> Response {
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    let uri = Uri::builder().scheme("http").authority(upstream).path_and_query(path).build();
    *request.uri_mut() = uri.unwrap_or_default();
    *request.version_mut() = Version::HTTP_11;
    match client.request(request).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => {
            let mut answer = Response::new(Body::from(error.to_string()));
            *answer.status_mut() = axum::http::StatusCode::BAD_GATEWAY;
            answer
        }
    }
}

/// The kinds of streams, without a dynamic call for each read.
enum Stream {
    Tcp(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
    Recorded(Box<tokio_rustls::server::TlsStream<Recorder<Stream>>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Recorded(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Recorded(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Recorded(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Recorded(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
