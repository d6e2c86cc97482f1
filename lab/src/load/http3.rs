//! HTTP/3 connections of the built-in load.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use http::Request;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, TokioRuntime, TransportConfig};
use socket2::SockRef;
use tokio::task::JoinHandle;
use tokio_rustls::rustls;

/// H3_NO_ERROR (RFC 9114, section 8.1).
const NO_ERROR: u32 = 0x100;

pub(super) struct QuicClient {
    connection: Connection,
    sender: SendRequest<OpenStreams, Bytes>,
    driver: JoinHandle<()>,
}

/// Opens a socket and an endpoint. Connections of one endpoint share its address.
pub(super) fn endpoint(
    server: SocketAddr,
    local: Option<IpAddr>,
    tls: Arc<rustls::ClientConfig>,
) -> anyhow::Result<Endpoint> {
    let any = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(local.unwrap_or(any), 0))?;
    // A connected socket has the address that the packets will have.
    socket.connect(server)?;
    let local = socket.local_addr()?;
    drop(socket);
    let socket = UdpSocket::bind(local)?;
    SockRef::from(&socket).set_recv_buffer_size(4 << 20)?;
    let mut endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))?;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    transport.stream_receive_window((1_u32 << 24).into()).receive_window((1_u32 << 24).into());
    transport.max_idle_timeout(Some(Duration::from_secs(10).try_into()?));
    config.transport_config(Arc::new(transport));
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

pub(super) async fn connect(
    endpoint: &Endpoint,
    server: SocketAddr,
    host: &str,
) -> anyhow::Result<QuicClient> {
    let connection = endpoint.connect(server, host)?.await?;
    let (mut driver, sender) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await?;
    let driver = tokio::spawn(async move {
        std::future::poll_fn(|context| driver.poll_close(context)).await;
    });
    Ok(QuicClient { connection, sender, driver })
}

impl QuicClient {
    pub(super) async fn request(&mut self, request: Request<()>) -> anyhow::Result<u64> {
        let mut stream = self.sender.send_request(request).await?;
        stream.finish().await?;
        let response = stream.recv_response().await?;
        if !(response.status().is_success() || response.status().is_redirection()) {
            bail!("status {}", response.status());
        }
        let mut length = 0_u64;
        while let Some(data) = stream.recv_data().await? {
            length = length.saturating_add(data.remaining() as u64);
        }
        Ok(length)
    }

    pub(super) async fn close(self) {
        drop(self.sender);
        self.connection.close(NO_ERROR.into(), b"");
        let _ = self.driver.await;
    }
}
