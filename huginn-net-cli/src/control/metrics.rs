//! `--metrics`: counters and health over HTTP or HTTPS, for Prometheus and other monitors.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use huginn_net::core::Replaceable;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::{task, time};

use super::clients::Clients;
use super::exposition::{self, Format};
use super::{ACCEPT_RETRY_DELAY, Health, MetricsAccess, Readings};

/// Maximum lifetime of a connection to the metrics, which serves one request: the default `scrape_timeout` of
/// Prometheus.
const METRICS_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of the head of a request for metrics, in bytes. A request of Prometheus has a few hundred bytes; the
/// minimum that hyper accepts is 8 KiB.
const MAX_METRICS_HEAD_BYTES: usize = 16 << 10;

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// Serves all clients.
pub(super) async fn serve(
    listener: TcpListener,
    access: Replaceable<MetricsAccess>,
    readings: Arc<Readings>,
) {
    let mut clients = Clients::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let answer = answer(stream, access.get(), Arc::clone(&readings));
        // Slow clients get no answer.
        clients.admit(|_| async { drop(time::timeout(METRICS_CONNECTION_TIMEOUT, answer).await) });
    }
}

async fn answer(stream: TcpStream, access: Arc<MetricsAccess>, readings: Arc<Readings>) {
    #[cfg(feature = "tls")]
    if let Some(tls) = &access.tls {
        if let Ok(stream) = tokio_rustls::TlsAcceptor::from(Arc::clone(tls)).accept(stream).await {
            let _ = answer_over(stream, access, readings).await;
        }
        return;
    }
    let _ = answer_over(stream, access, readings).await;
}

async fn answer_over(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    access: Arc<MetricsAccess>,
    readings: Arc<Readings>,
) -> hyper::Result<()> {
    let service = service_fn(|request| {
        let (access, readings) = (Arc::clone(&access), Arc::clone(&readings));
        async move { Ok::<_, Infallible>(respond(request, &access, readings).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(METRICS_CONNECTION_TIMEOUT)
        .keep_alive(false)
        .max_buf_size(MAX_METRICS_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn respond(
    request: Request<Incoming>,
    access: &MetricsAccess,
    readings: Arc<Readings>,
) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    if !["/metrics", "/healthz"].contains(&path) {
        return plain(StatusCode::NOT_FOUND, "metrics are at /metrics, health is at /healthz\n");
    }
    // hyper omits the body of a response to HEAD.
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if path == "/healthz" {
        return answer_health((readings.health)());
    }
    // Of several values, the first one counts.
    let authorization = request.headers().get(AUTHORIZATION).map_or(&[][..], HeaderValue::as_bytes);
    if access.token.is_some_and(|token| !token.admits(authorization)) {
        let mut response =
            plain(StatusCode::UNAUTHORIZED, "the token of --metrics-token-file is missing or wrong\n");
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    let format = Format::from_accept(request.headers().get_all(ACCEPT).iter().map(HeaderValue::as_bytes));
    let text = task::spawn_blocking(move || exposition::write(&(readings.counters)(), format)).await;
    let Ok(Ok(text)) = text else { return plain(StatusCode::INTERNAL_SERVER_ERROR, "no counters\n") };
    typed(StatusCode::OK, format.content_type(), text)
}

fn answer_health(health: Health) -> Response<Full<Bytes>> {
    let status = match health {
        Health::Capturing => StatusCode::OK,
        Health::NoInterface | Health::Stalled | Health::Ended => StatusCode::SERVICE_UNAVAILABLE,
    };
    typed(status, PLAIN_TEXT, format!("{health}\n"))
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    typed(status, PLAIN_TEXT, text)
}

fn typed(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
