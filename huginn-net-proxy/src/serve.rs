//! Serves axum applications over TLS.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
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
    ConnectionFingerprint, FingerprintAcceptor, FingerprintHeaders, FingerprintLayer, FingerprintService,
    RecordedTlsStream,
};

/// A listener for [`axum::serve()`] that ends TLS and fingerprints clients.
///
/// Up to 8,192 handshakes run at a time; more clients wait in the backlog of the listener. A client whose handshake fails or
/// times out is dropped. [`axum::serve()`] sets no timeout for requests.
pub struct FingerprintListener {
    listener: TcpListener,
    acceptor: FingerprintAcceptor,
    max_handshakes: usize,
    handshakes: JoinSet<io::Result<Accepted>>,
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
        Ok(Self { listener, acceptor, max_handshakes: MAX_HANDSHAKES, handshakes: JoinSet::new() })
    }

    /// Sets how many handshakes run at a time; the default is 8,192.
    #[must_use]
    pub fn with_max_handshakes(mut self, number: usize) -> Self {
        self.max_handshakes = number.max(1);
        self
    }

    fn start(&mut self, stream: TcpStream, address: SocketAddr) {
        let acceptor = self.acceptor.clone();
        self.handshakes.spawn(async move {
            let (stream, connection) = acceptor.accept(stream).await?;
            Ok((stream, FingerprintedAddr { address, connection }))
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
                    if let Ok(Ok(accepted)) = outcome {
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
