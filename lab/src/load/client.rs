//! A connection of the built-in load.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderValue, Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::Target;
use super::http3::{self, QuicClient};

/// The `User-Agent` of every request.
pub(super) const AGENT: &str = concat!("huginn-lab/", env!("CARGO_PKG_VERSION"));

/// Makes connections to one target.
#[derive(Clone)]
pub(super) struct Connector {
    target: Arc<Target>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    request: Request<()>,
}

/// An open connection.
pub(super) struct Client {
    pub(super) local: SocketAddr,
    sender: Sender,
}

enum Sender {
    Http1(http1::SendRequest<Empty<Bytes>>, JoinHandle<()>),
    Http2(http2::SendRequest<Empty<Bytes>>, JoinHandle<()>),
    Http3(QuicClient),
}

impl Connector {
    pub(super) fn new(
        target: &Target,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    ) -> anyhow::Result<Self> {
        let tls = tls.map(|(config, name)| (TlsConnector::from(config), name));
        Ok(Self { target: Arc::new(target.clone()), tls, request: request(target)? })
    }

    /// Connects over TCP, from a local address if one is given.
    pub(super) async fn connect(&self, local: Option<IpAddr>) -> anyhow::Result<Client> {
        let socket = if self.target.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(local) = local {
            bind_without_port(&socket, local)?;
        }
        let stream = socket.connect(self.target.address).await?;
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?;
        let sender = match &self.tls {
            Some((tls, name)) => self.start(tls.connect(name.clone(), stream).await?).await?,
            None => self.start::<TcpStream>(stream).await?,
        };
        Ok(Client { local, sender })
    }

    /// Connects over QUIC, from an endpoint's address.
    pub(super) async fn connect_quic(&self, endpoint: &quinn::Endpoint) -> anyhow::Result<Client> {
        let client = http3::connect(endpoint, self.target.address, &self.target.host).await?;
        Ok(Client { local: endpoint.local_addr()?, sender: Sender::Http3(client) })
    }

    async fn start<S>(&self, stream: S) -> anyhow::Result<Sender>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(stream);
        // The task ends with the connection; its error also ends the request that waits.
        if self.target.http == 2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(1 << 24)
                .initial_connection_window_size(1 << 24)
                .handshake(stream)
                .await?;
            Ok(Sender::Http2(sender, tokio::spawn(async { drop(connection.await) })))
        } else {
            let (sender, connection) = http1::handshake(stream).await?;
            Ok(Sender::Http1(sender, tokio::spawn(async { drop(connection.await) })))
        }
    }

    /// Makes a request and returns the number of bytes in the body of its response.
    ///
    /// # Errors
    ///
    /// Fails if the connection breaks, the body is shorter than announced, or the status is not 2xx or 3xx.
    pub(super) async fn request(&self, client: &mut Client) -> anyhow::Result<u64> {
        let request = || self.request.clone().map(|()| Empty::new());
        let response = match &mut client.sender {
            Sender::Http1(sender, _) => {
                sender.ready().await?;
                sender.send_request(request()).await?
            }
            Sender::Http2(sender, _) => {
                sender.ready().await?;
                sender.send_request(request()).await?
            }
            Sender::Http3(quic) => return quic.request(self.request.clone()).await,
        };
        if !(response.status().is_success() || response.status().is_redirection()) {
            bail!("status {}", response.status());
        }
        let mut body = response.into_body();
        let mut length = 0_u64;
        while let Some(frame) = body.frame().await {
            length = length.saturating_add(frame?.data_ref().map_or(0, |data| data.len() as u64));
        }
        Ok(length)
    }
}

impl Client {
    /// Closes the connection and waits until the close is on its way.
    pub(super) async fn close(self) {
        match self.sender {
            Sender::Http1(sender, task) => {
                drop(sender);
                let _ = task.await;
            }
            Sender::Http2(sender, task) => {
                drop(sender);
                let _ = task.await;
            }
            Sender::Http3(quic) => quic.close().await,
        }
    }
}

/// Binds the address alone: the kernel chooses the port at connect(2), when it knows the server, and can take the port of
/// a closed connection again.
fn bind_without_port(socket: &TcpSocket, local: IpAddr) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true)?;
    socket.bind(SocketAddr::new(local, 0)).with_context(|| format!("cannot connect from {local}"))
}

fn request(target: &Target) -> anyhow::Result<Request<()>> {
    let mut request = Request::new(());
    let path = target.uri.path_and_query().map_or("/", |path| path.as_str());
    if target.http == 1 {
        *request.uri_mut() = path.parse()?;
        let authority = target.uri.authority().context("the URL has no host")?;
        request.headers_mut().insert(HOST, HeaderValue::try_from(authority.as_str())?);
    } else {
        *request.uri_mut() = target.uri.clone();
        *request.version_mut() = if target.http == 2 { Version::HTTP_2 } else { Version::HTTP_3 };
    }
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
    Ok(request)
}
