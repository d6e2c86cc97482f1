//! A layer for axum, hyper and other tower services.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::Request;
use http::header::{HeaderName, HeaderValue};
use tower_layer::Layer;
use tower_service::Service;

use crate::{ClientFingerprint, ConnectionFingerprint, FingerprintHeaders};

/// Gives the requests of one connection its fingerprint: as an extension of type [`Arc<ClientFingerprint>`], and as
/// [headers](Self::with_headers).
///
/// Create one layer for each connection, and make it the outermost one: a layer before it that removes headers changes their
/// order, which the verdict includes. Each request has its own verdict; the header order, the signature and the Akamai
/// fingerprint are those of the first request. Trailers are not read or changed.
///
/// ```
/// use std::sync::Arc;
///
/// use axum::{Extension, Router, routing::get};
/// use huginn_net_proxy::{ClientFingerprint, ConnectionFingerprint, FingerprintHeaders, FingerprintLayer};
/// use tower_layer::Layer;
///
/// async fn ja4(Extension(client): Extension<Arc<ClientFingerprint>>) -> String {
///     client.tls.as_ref().map(|tls| tls.ja4.to_string()).unwrap_or_default()
/// }
///
/// /// The service of one connection.
/// fn service(connection: ConnectionFingerprint, app: &Router) -> impl Clone {
///     let headers = FingerprintHeaders::new("x-client-").expect("a valid prefix");
///     FingerprintLayer::new(connection).with_headers(headers).layer(app.clone())
/// }
///
/// let app: Router = Router::new().route("/", get(ja4));
/// # let _ = service(ConnectionFingerprint::new(Default::default(), Default::default()), &app);
/// ```
#[derive(Clone, Debug)]
pub struct FingerprintLayer {
    connection: ConnectionFingerprint,
    headers: Option<FingerprintHeaders>,
    rendered: Arc<Mutex<Option<Rendered>>>,
}

/// The service of a [`FingerprintLayer`].
#[derive(Clone, Debug)]
pub struct FingerprintService<S> {
    inner: S,
    layer: FingerprintLayer,
}

/// The headers of a fingerprint.
#[derive(Clone, Debug)]
struct Rendered {
    fingerprint: Arc<ClientFingerprint>,
    headers: Arc<[(HeaderName, HeaderValue)]>,
}

impl FingerprintLayer {
    /// Creates the layer of a connection.
    pub fn new(connection: ConnectionFingerprint) -> Self {
        Self { connection, headers: None, rendered: Arc::default() }
    }

    /// Writes these headers, and removes those that a client forged.
    #[must_use]
    pub fn with_headers(mut self, headers: FingerprintHeaders) -> Self {
        self.headers = Some(headers);
        self.rendered = Arc::default();
        self
    }

    fn apply<B>(&self, request: &mut Request<B>) {
        let fingerprint = self.connection.fingerprint_of(request);
        if let Some(headers) = &self.headers {
            headers.strip(request.headers_mut());
            request.headers_mut().extend(self.render(headers, &fingerprint).iter().cloned());
        }
        request.extensions_mut().insert(fingerprint);
    }

    /// Renders the headers once for each fingerprint.
    fn render(
        &self,
        headers: &FingerprintHeaders,
        fingerprint: &Arc<ClientFingerprint>,
    ) -> Arc<[(HeaderName, HeaderValue)]> {
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = rendered.as_ref().filter(|known| Arc::ptr_eq(&known.fingerprint, fingerprint)) {
            return Arc::clone(&known.headers);
        }
        let headers: Arc<[_]> = headers.render(fingerprint).into();
        *rendered = Some(Rendered { fingerprint: Arc::clone(fingerprint), headers: Arc::clone(&headers) });
        headers
    }
}

impl<S> Layer<S> for FingerprintLayer {
    type Service = FingerprintService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FingerprintService { inner, layer: self.clone() }
    }
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for FingerprintService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        self.layer.apply(&mut request);
        self.inner.call(request)
    }
}
