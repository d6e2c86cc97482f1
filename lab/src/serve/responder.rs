//! Responses, for any version of HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Response, StatusCode, Uri, Version};

use super::body::{Buffers, ResponseBody};
use super::request::{HELP, Wanted};

const X_ID: HeaderName = HeaderName::from_static("x-id");
const X_SIZE: HeaderName = HeaderName::from_static("x-size");
const X_WAIT: HeaderName = HeaderName::from_static("x-wait");
/// W3C Server Timing; browsers show it.
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Makes responses; clones share their buffers and numbers.
#[derive(Clone)]
pub(super) struct Responder {
    buffers: Buffers,
    next_id: Arc<AtomicU64>,
}

/// A response and what the connection does after it.
pub(super) struct Reply<D> {
    pub(super) response: Response<ResponseBody>,
    pub(super) drain: Drain<D>,
    pub(super) close: bool,
}

/// The request's body: `D` reads it to its end.
pub(super) enum Drain<D> {
    Done,
    AfterResponse(D),
}

impl Responder {
    pub(super) fn new(buffer_len: usize) -> Self {
        Self { buffers: Buffers::new(buffer_len), next_id: Arc::default() }
    }

    pub(super) fn buffer_len(&self) -> usize {
        self.buffers.len()
    }

    /// Responds to a request with this head. `drain` reads its body: before the response, unless it asks for `A=1`.
    pub(super) async fn respond<D: Future<Output = u64>>(
        &self,
        method: &Method,
        uri: &Uri,
        version: Version,
        drain: D,
    ) -> Reply<D> {
        let start = Instant::now();
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        if target == "/?" {
            drain.await;
            return Reply {
                response: text(StatusCode::OK, ResponseBody::text(HELP)),
                drain: Drain::Done,
                close: false,
            };
        }
        let Ok(wanted) = Wanted::parse(target) else {
            drain.await;
            let body = ResponseBody::text("malformed request; see /?\n");
            return Reply { response: text(StatusCode::BAD_REQUEST, body), drain: Drain::Done, close: false };
        };
        let parsed = start.elapsed();
        let drain = if wanted.drain_after {
            Drain::AfterResponse(drain)
        } else {
            drain.await;
            Drain::Done
        };
        if wanted.wait > 0 {
            tokio::time::sleep(Duration::from_millis(wanted.wait)).await;
        }
        Reply { response: self.response(method, version, &wanted, parsed), drain, close: wanted.close }
    }

    fn response(
        &self,
        method: &Method,
        version: Version,
        wanted: &Wanted,
        parsed: Duration,
    ) -> Response<ResponseBody> {
        let start = Instant::now();
        let without_body = method == Method::HEAD || matches!(wanted.status, 204 | 304);
        let length = if without_body { 0 } else { wanted.size };
        let mut response =
            Response::new(self.buffers.body(length, wanted.random, wanted.chunked && !without_body));
        *response.status_mut() = StatusCode::from_u16(wanted.status).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, content_type(wanted));
        if !wanted.chunked && wanted.status != 204 {
            headers.insert(CONTENT_LENGTH, wanted.size.into());
        }
        let caching = if wanted.cacheable { "public, max-age=3600" } else { "no-store" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        connection_header(headers, version, wanted);
        headers.insert(X_ID, self.next_id.fetch_add(1, Ordering::Relaxed).into());
        headers.insert(X_SIZE, wanted.size.into());
        headers.insert(X_WAIT, wanted.wait.into());
        let took = parsed.saturating_add(start.elapsed());
        let timing = format!("wait;dur={}, server;dur={:.3}", wanted.wait, took.as_secs_f64() * 1e3);
        if let Ok(timing) = HeaderValue::try_from(timing) {
            headers.insert(SERVER_TIMING, timing);
        }
        response
    }
}

fn content_type(wanted: &Wanted) -> HeaderValue {
    HeaderValue::from_static(if wanted.random { "application/octet-stream" } else { "text/plain" })
}

/// HTTP/2 and HTTP/3 have no `Connection` field (RFC 9113, section 8.2.2; RFC 9114, section 4.2).
fn connection_header(headers: &mut HeaderMap, version: Version, wanted: &Wanted) {
    if version > Version::HTTP_11 {
        return;
    }
    if wanted.close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    } else if wanted.keep_alive {
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive"));
    }
}

fn text(status: StatusCode, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
