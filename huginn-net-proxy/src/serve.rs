//! Serves axum applications over TLS.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::extract::ConnectInfo;
use axum::middleware::AddExtension;
use axum::serve::{IncomingStream, Listener};
use axum::{Extension, Router};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

use crate::limits::MAX_HANDSHAKES;
use crate::{
    ConnectionFingerprint, FailedHandshake, FingerprintAcceptor, FingerprintHeaders, FingerprintLayer,
    FingerprintService, RecordedTlsStream,
};

/// A listener for [`axum::serve()`] that ends TLS and fingerprints clients.
///
/// Up to 8,192 handshakes run at a time; more clients wait in the backlog of the listener. A client whose handshake fails or
/// times out is disconnected, [counted](Self::counters) and [reported](Self::on_failed_handshake). [`axum::serve()`] sets no
/// timeout for requests.
pub struct FingerprintListener {
    listener: TcpListener,
    acceptor: FingerprintAcceptor,
    max_handshakes: usize,
    /// Each yields `None` if it fails.
    handshakes: JoinSet<Option<Accepted>>,
    on_failure: Option<OnFailure>,
    counters: ListenerCounters,
}

type OnFailure = Arc<dyn Fn(SocketAddr, FailedHandshake) + Send + Sync>;

/// Counters of a [`FingerprintListener`]. Cheap to clone; all clones have the same values.
#[derive(Clone, Debug, Default)]
pub struct ListenerCounters(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    completed: AtomicU64,
    failed: AtomicU64,
}

impl ListenerCounters {
    /// Handshakes that completed.
    pub fn completed(&self) -> u64 {
        self.0.completed.load(Ordering::Relaxed)
    }

    /// Handshakes that failed or timed out.
    pub fn failed(&self) -> u64 {
        self.0.failed.load(Ordering::Relaxed)
    }
}

type Accepted = (RecordedTlsStream<TcpStream>, FingerprintedAddr);

/// The address of a client, and the fingerprint of its connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FingerprintedAddr {
    /// The address.
    pub address: SocketAddr,
    /// The fingerprint.
    pub connection: ConnectionFingerprint,
}

impl FingerprintListener {
    /// Accepts the connections of a listener, whose SYNs the kernel saves from now on.
    ///
    /// # Errors
    /// Those of [`SavedSyn::enable`](crate::SavedSyn), on Linux.
    pub fn new(listener: TcpListener, acceptor: FingerprintAcceptor) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        crate::SavedSyn::enable(&listener)?;
        Ok(Self {
            listener,
            acceptor,
            max_handshakes: MAX_HANDSHAKES,
            handshakes: JoinSet::new(),
            on_failure: None,
            counters: ListenerCounters::default(),
        })
    }

    /// Sets how many handshakes run at a time; the default is 8,192.
    #[must_use]
    pub fn with_max_handshakes(mut self, number: usize) -> Self {
        self.max_handshakes = number.max(1);
        self
    }

    /// Calls this function with the address and the fingerprint of each client whose handshake fails or times out. The task
    /// of the handshake runs it, so that it delays no other client.
    ///
    /// `examples/failed_handshakes.rs` is a complete server.
    #[must_use]
    pub fn on_failed_handshake(
        mut self,
        report: impl Fn(SocketAddr, FailedHandshake) + Send + Sync + 'static,
    ) -> Self {
        self.on_failure = Some(Arc::new(report));
        self
    }

    /// The counters, which can be read after [`axum::serve()`] took the listener.
    pub fn counters(&self) -> ListenerCounters {
        self.counters.clone()
    }

    fn start(&mut self, stream: TcpStream, address: SocketAddr) {
        let (acceptor, on_failure) = (self.acceptor.clone(), self.on_failure.clone());
        let counters = self.counters();
        self.handshakes.spawn(async move {
            match acceptor.accept(stream).await {
                Ok((stream, connection)) => {
                    counters.0.completed.fetch_add(1, Ordering::Relaxed);
                    Some((stream, FingerprintedAddr { address, connection }))
                }
                Err(failure) => {
                    counters.0.failed.fetch_add(1, Ordering::Relaxed);
                    if let Some(report) = on_failure {
                        report(address, failure);
                    }
                    None
                }
            }
        });
    }
}

impl Listener for FingerprintListener {
    type Io = RecordedTlsStream<TcpStream>;
    type Addr = FingerprintedAddr;

    async fn accept(&mut self) -> Accepted {
        loop {
            let has_room = self.handshakes.len() < self.max_handshakes;
            tokio::select! {
                Some(outcome) = self.handshakes.join_next() => {
                    if let Ok(Some(accepted)) = outcome {
                        return accepted;
                    }
                }
                (stream, address) = Listener::accept(&mut self.listener), if has_room => self.start(stream, address),
            }
        }
    }

    /// The address of the listener. Its fingerprint is empty.
    fn local_addr(&self) -> io::Result<FingerprintedAddr> {
        let address = self.listener.local_addr()?;
        let connection = ConnectionFingerprint::new(Default::default(), Default::default());
        Ok(FingerprintedAddr { address, connection })
    }
}

/// Makes the services of the connections of a [`FingerprintListener`]: an application in a [`FingerprintLayer`]. Handlers
/// also get the address of the client, as `ConnectInfo<SocketAddr>`.
///
/// `examples/axum_proxy.rs` is a complete proxy.
#[derive(Clone, Debug)]
pub struct FingerprintMakeService {
    app: Router,
    headers: Option<FingerprintHeaders>,
}

impl FingerprintMakeService {
    /// Serves an application.
    pub fn new(app: Router) -> Self {
        Self { app, headers: None }
    }

    /// Writes these headers, and removes those that a client forged.
    #[must_use]
    pub fn with_headers(mut self, headers: FingerprintHeaders) -> Self {
        self.headers = Some(headers);
        self
    }
}

impl Service<IncomingStream<'_, FingerprintListener>> for FingerprintMakeService {
    type Response = FingerprintService<AddExtension<Router, ConnectInfo<SocketAddr>>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, stream: IncomingStream<'_, FingerprintListener>) -> Self::Future {
        let FingerprintedAddr { address, connection } = stream.remote_addr().clone();
        let layer = FingerprintLayer::new(connection);
        let layer = match &self.headers {
            Some(headers) => layer.with_headers(headers.clone()),
            None => layer,
        };
        ready(Ok(layer.layer(Extension(ConnectInfo(address)).layer(self.app.clone()))))
    }
}
