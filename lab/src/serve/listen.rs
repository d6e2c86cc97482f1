//! Connections over TCP.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::body::ResponseBody;
use super::responder::{Drain, Responder};

/// A client that sends nothing is disconnected after this time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Wait before the next accept(2) after one failed: no file descriptors are left, for example.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// `ADDR:CLEAR[:TLS]`, as `0.0.0.0:8080:8443`; an empty address means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    address: IpAddr,
    clear: u16,
    tls: Option<u16>,
}

impl ListenAddress {
    pub(super) fn clear(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.clear)
    }

    pub(super) fn tls(&self) -> Option<SocketAddr> {
        self.tls.map(|port| SocketAddr::new(self.address, port))
    }
}

impl FromStr for ListenAddress {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (address, ports) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once("]:").context("expected [ADDR]:CLEAR[:TLS]")?,
            None => text.split_once(':').context("expected ADDR:CLEAR[:TLS]")?,
        };
        let address = match address {
            "" | "*" => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            address => address.parse().with_context(|| format!("not an IP address: '{address}'"))?,
        };
        let port = |text: &str| text.parse::<u16>().with_context(|| format!("not a port: '{text}'"));
        let (clear, tls) = match ports.split_once(':') {
            Some((clear, tls)) => (port(clear)?, Some(port(tls)?)),
            None => (port(ports)?, None),
        };
        if Some(clear) == tls {
            bail!("the ports for cleartext and TLS must differ");
        }
        Ok(Self { address, clear, tls })
    }
}

pub(super) async fn accept_clear(listener: TcpListener, responder: Responder) {
    loop {
        if let Some(stream) = accept(&listener).await {
            tokio::spawn(serve(stream, responder.clone()));
        }
    }
}

pub(super) async fn accept_tls(listener: TcpListener, config: Arc<ServerConfig>, responder: Responder) {
    let acceptor = TlsAcceptor::from(config);
    loop {
        let Some(stream) = accept(&listener).await else { continue };
        let (acceptor, responder) = (acceptor.clone(), responder.clone());
        tokio::spawn(async move {
            let handshake = tokio::time::timeout(
                HEAD_TIMEOUT,
                acceptor.accept_with(stream, |tls| {
                    // Plaintext that rustls encrypts before the socket takes it.
                    tls.set_buffer_limit(Some(responder.buffer_len()));
                }),
            );
            if let Ok(Ok(stream)) = handshake.await {
                serve(stream, responder.clone()).await;
            }
        });
    }
}

async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        // Without it the last segment of a response waits for the client's delayed acknowledgment.
        Ok((stream, _)) => stream.set_nodelay(true).is_ok().then_some(stream),
        Err(_) => {
            tokio::time::sleep(ACCEPT_RETRY).await;
            None
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, responder: Responder) {
    let close = Arc::new(Notify::new());
    let service = service_fn({
        let close = Arc::clone(&close);
        move |request| respond(request, responder.clone(), Arc::clone(&close))
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    server.http2().timer(TokioTimer::new()).max_send_buf_size(1 << 20).max_frame_size(Some((1 << 24) - 1));
    let connection = server.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = close.notified() => connection.as_mut().graceful_shutdown(),
    }
    // A client that resets its connection has nothing to report to.
    let _ = connection.await;
}

async fn respond(
    request: Request<Incoming>,
    responder: Responder,
    close: Arc<Notify>,
) -> Result<Response<ResponseBody>, Infallible> {
    let (head, body) = request.into_parts();
    let response = responder.respond(&head.method, &head.uri, head.version, discard(body)).await;
    if response.close {
        close.notify_one();
    }
    if let Drain::AfterResponse(body) = response.drain {
        tokio::spawn(body);
    }
    Ok(response.response)
}

/// Reads a request's body to its end, and returns its length in bytes.
async fn discard(mut body: Incoming) -> u64 {
    let mut length = 0_u64;
    while let Some(Ok(frame)) = body.frame().await {
        length = length.saturating_add(frame.data_ref().map_or(0, |data| data.len() as u64));
    }
    length
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::ListenAddress;

    #[test]
    fn listen_address_has_one_or_two_ports() {
        let both: ListenAddress = "127.0.0.1:8080:8443".parse().unwrap();
        assert_eq!(both.clear(), "127.0.0.1:8080".parse().unwrap());
        assert_eq!(both.tls(), Some("127.0.0.1:8443".parse().unwrap()));
        let v6: ListenAddress = "[::1]:80".parse().unwrap();
        assert_eq!((v6.clear(), v6.tls()), ("[::1]:80".parse().unwrap(), None));
        let all: ListenAddress = ":80".parse().unwrap();
        assert_eq!(all.clear(), "[::]:80".parse().unwrap());
    }

    #[test]
    fn malformed_listen_addresses_are_errors() {
        for text in [
            "",
            "80",
            "127.0.0.1",
            "127.0.0.1:",
            "localhost:80",
            "127.0.0.1:80:80",
            "127.0.0.1:70000",
            "[::1]",
        ] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }
}
