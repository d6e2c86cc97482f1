//! Servers and proxies over real sockets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::any;
use axum::{Extension, Router};
use http_body_util::BodyExt;
use huginn_net_consistency::Outcome;
use huginn_net_http::http2::Akamai;
use huginn_net_proxy::{
    ClientFingerprint, ConnectionParts, FailedHandshake, FingerprintAcceptor, FingerprintField,
    FingerprintHeaders, FingerprintLayer, ProxyHeader, Recorder, Recording, SavedSyn, SniRoutes,
};
use huginn_net_tls::ClientHello;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tower_layer::Layer;

use crate::{HTTP1, HTTP2};

const NAME: &str = "www.example.test";

/// The configurations of a server with HTTP/2 and HTTP/1.1, and of a client that trusts it.
fn configs(alpn: &str) -> (Arc<ServerConfig>, TlsConnector) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let chain = vec![cert.der().clone()];
    let mut server =
        ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key.into()).unwrap();
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let mut client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    client.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    (server.into(), Arc::new(client).into())
}

/// Answers with the fingerprint as JSON, and with the headers that begin with `x-client-`.
async fn show(Extension(client): Extension<Arc<ClientFingerprint>>, request: Request) -> String {
    let headers: Vec<String> = request
        .headers()
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-client-"))
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect();
    format!("<{}|{}>", serde_json::to_string(&*client).unwrap(), headers.join("|"))
}

/// Serves [`show`] on a free port, behind a load balancer if `is_behind`.
async fn serve(config: Arc<ServerConfig>, is_behind: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    SavedSyn::enable(&listener).unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = FingerprintAcceptor::new(config);
    let app = Router::new().fallback(any(show));
    let headers = FingerprintHeaders::new("x-client-").unwrap();
    let headers = headers.with_fields(&[
        FingerprintField::Ja4,
        FingerprintField::HeaderOrder,
        FingerprintField::TcpSystem,
    ]);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (acceptor, app, headers) = (acceptor.clone(), app.clone(), headers.clone());
            tokio::spawn(async move {
                let (stream, connection) = if is_behind {
                    let known = ProxyHeader::read_async(&mut stream).await.unwrap().fingerprint;
                    acceptor.accept_with(stream, ConnectionParts::default().known(known)).await.unwrap()
                } else {
                    acceptor.accept(stream).await.unwrap()
                };
                assert!(
                    connection.fingerprint().tls.is_some(),
                    "the hello is known before the first request"
                );
                let service = FingerprintLayer::new(connection).with_headers(headers).layer(app);
                let service = TowerToHyperService::new(service);
                let _ =
                    Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

/// Passes TLS through to the server of its name, with the fingerprints of SYN and hello in a PROXY header.
async fn pass_through(target: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    SavedSyn::enable(&listener).unwrap();
    let address = listener.local_addr().unwrap();
    let routes = SniRoutes::new().with(NAME, target);
    tokio::spawn(async move {
        let (stream, client) = listener.accept().await.unwrap();
        let syn = SavedSyn::take(&stream).unwrap();
        let mut recorder = Recorder::new(stream, Recording::tls());
        let hello = recorder.peek_async().await.unwrap().clone();
        let parsed = ClientHello::from_records(hello.complete().unwrap()).unwrap().unwrap().value;
        let mut upstream = TcpStream::connect(routes.find(&parsed).unwrap()).await.unwrap();
        let parts = ConnectionParts::default().syn(syn).hello(hello);
        let found = huginn_net_proxy::ConnectionFingerprint::new(Default::default(), parts).fingerprint();
        let header = ProxyHeader::new(client, address).with_fingerprint((*found).clone());
        upstream.write_all(&header.to_bytes().unwrap()).await.unwrap();
        let _ = copy_bidirectional(&mut recorder, &mut upstream).await;
    });
    address
}

async fn connect(connector: &TlsConnector, address: SocketAddr) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    connector.connect(ServerName::try_from(NAME).unwrap(), stream).await.unwrap()
}

/// Sends a request, in pieces of `step`, and returns the fingerprint and the headers that the server saw.
async fn exchange(
    stream: &mut TlsStream<TcpStream>,
    request: &[u8],
    step: usize,
) -> (ClientFingerprint, Vec<String>) {
    for piece in request.chunks(step) {
        stream.write_all(piece).await.unwrap();
        stream.flush().await.unwrap();
    }
    let mut answer = Vec::new();
    // HTTP/2 does not encode bodies: the answer is in the bytes.
    let (start, end) = loop {
        // The compressed headers before it, such as Date, may have any bytes.
        if let Some(start) = answer.windows(2).position(|two| two == b"<{")
            && let Some(len) = answer[start..].iter().position(|byte| *byte == b'>')
        {
            break (start, start + len);
        }
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "{}", answer.escape_ascii());
    };
    let text = std::str::from_utf8(&answer[start + 1..end]).unwrap();
    let (json, headers) = text.split_once("}|").unwrap();
    let fingerprint = serde_json::from_str(&format!("{json}}}")).unwrap();
    (fingerprint, headers.split('|').map(str::to_owned).collect())
}

#[tokio::test]
async fn server_knows_all_layers_of_http1() {
    let (config, connector) = configs("http/1.1");
    let address = serve(config, false).await;
    for step in [1, 1000] {
        let mut stream = connect(&connector, address).await;
        let (client, headers) = exchange(&mut stream, HTTP1, step).await;
        let (tcp, tls, http) = (client.tcp.unwrap(), client.tls.unwrap(), client.http.unwrap());
        assert_eq!(tcp.distance, 0);
        assert_eq!(tls.sni.as_deref(), Some(NAME));
        assert!(
            tls.ja4.to_string().starts_with("t13d") && tls.ja4.to_string().contains("h1_"),
            "{}",
            tls.ja4
        );
        assert_eq!(http.header_order.unwrap().as_str(), "Host,User-Agent,Accept");
        assert_eq!(client.consistency.unwrap().outcome, Outcome::Unknown);
        let expected =
            [format!("x-client-ja4={}", tls.ja4), "x-client-header-order=Host,User-Agent,Accept".to_owned()];
        assert_eq!(headers[..2], expected);
        assert_eq!(headers.get(2).cloned(), tcp.system.map(|system| format!("x-client-tcp-system={system}")));
    }
}

#[tokio::test]
async fn server_knows_all_layers_of_http2() {
    let (config, connector) = configs("h2");
    let address = serve(config, false).await;
    let akamai = Akamai::from_client_bytes(HTTP2).unwrap().unwrap().value;
    for step in [1, 1000] {
        let mut stream = connect(&connector, address).await;
        let (client, _) = exchange(&mut stream, HTTP2, step).await;
        let http = client.http.unwrap();
        assert_eq!(http.akamai, Some(akamai.to_string()));
        assert_eq!(http.akamai_hash, Some(akamai.hash()));
        assert_eq!(client.tls.unwrap().alpn.unwrap().as_str(), "h2");
    }
}

#[tokio::test]
async fn hello_before_a_retry_request_counts() {
    use tokio_rustls::rustls::crypto::{CryptoProvider, ring};

    let with_groups = |kx_groups| Arc::new(CryptoProvider { kx_groups, ..ring::default_provider() });
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let server = ServerConfig::builder_with_provider(with_groups(vec![ring::kx_group::X25519]))
        .with_safe_default_protocol_versions()
        .unwrap();
    let server = server.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key.into()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    // The client sends a key for its first group only, so that the server asks for another hello.
    let groups = vec![ring::kx_group::SECP384R1, ring::kx_group::X25519];
    let client = ClientConfig::builder_with_provider(with_groups(groups))
        .with_safe_default_protocol_versions()
        .unwrap();
    let connector: TlsConnector = Arc::new(client.with_root_certificates(roots).with_no_client_auth()).into();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let client =
        tokio::spawn(async move { connector.connect(ServerName::try_from(NAME).unwrap(), client).await });
    let (stream, _) = listener.accept().await.unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let mut stream = acceptor.accept(Recorder::new(stream, Recording::tls())).await.unwrap();
    client.await.unwrap().unwrap();
    let (recorder, connection) = stream.get_mut();
    assert_eq!(connection.handshake_kind(), Some(HandshakeKind::FullWithHelloRetryRequest));
    let recording = recorder.take_recording().unwrap();
    let hello = ClientHello::from_records(recording.complete().unwrap()).unwrap().unwrap().value;
    // The first group of key_share is secp384r1 (RFC 8446, section 4.2.8).
    assert_eq!(hello.extension(51).unwrap()[2..4], [0, 24]);
}

#[tokio::test]
async fn warning_before_hello_hides_nothing() {
    let (config, connector) = configs("http/1.1");
    let mut stream = TcpStream::connect(serve(config, false).await).await.unwrap();
    stream.write_all(&[21, 3, 1, 0, 2, 1, 90]).await.unwrap();
    let mut stream = connector.connect(ServerName::try_from(NAME).unwrap(), stream).await.unwrap();
    let (client, _) = exchange(&mut stream, HTTP1, 1000).await;
    assert!(client.tls.unwrap().ja4.to_string().starts_with("t13d"));
}

#[tokio::test]
async fn later_requests_have_other_layers_of_first_and_forge_nothing() {
    let (config, connector) = configs("http/1.1");
    let mut stream = connect(&connector, serve(config, false).await).await;
    let (first, _) = exchange(&mut stream, HTTP1, 1000).await;
    let forged = b"GET / HTTP/1.1\r\nX-Client-JA4: forged\r\nx-client-other: forged\r\nHost: a\r\n\r\n";
    let (second, headers) = exchange(&mut stream, forged, 1000).await;
    assert_eq!((&first.tcp, &first.tls, &first.http), (&second.tcp, &second.tls, &second.http));
    assert!(!headers.iter().any(|header| header.contains("forged")), "{headers:?}");
    assert_eq!(headers[0], format!("x-client-ja4={}", first.tls.unwrap().ja4));
}

/// Refuses clients that are not the browser that they claim to be.
async fn refuse_imitations(Extension(client): Extension<Arc<ClientFingerprint>>) -> StatusCode {
    match &client.consistency {
        Some(verdict) if verdict.outcome == Outcome::Imitation => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    }
}

/// The answers to requests of one connection with these User-Agents.
async fn answers(alpn: &str, user_agents: &[&str]) -> Vec<StatusCode> {
    let (config, connector) = configs(alpn);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = FingerprintAcceptor::new(config);
    tokio::spawn(async move {
        let (stream, connection) = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
        let service = FingerprintLayer::new(connection).layer(Router::new().fallback(any(refuse_imitations)));
        let service = TowerToHyperService::new(service);
        let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
    });
    let stream = TokioIo::new(connect(&connector, address).await);
    let request = |user_agent: &str| {
        let request = Request::get("https://www.example.test/").header("host", NAME);
        request.header("user-agent", user_agent).header("accept", "*/*").body(String::new()).unwrap()
    };
    let mut statuses = Vec::new();
    if alpn == "h2" {
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        for user_agent in user_agents {
            statuses.push(sender.send_request(request(user_agent)).await.unwrap().status());
        }
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        for user_agent in user_agents {
            sender.ready().await.unwrap();
            let answer = sender.send_request(request(user_agent)).await.unwrap();
            statuses.push(answer.status());
            answer.into_body().collect().await.unwrap();
        }
    }
    statuses
}

#[tokio::test]
async fn each_request_of_a_connection_is_judged() {
    const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
    const HARMLESS: &str = "monitor/1.0";
    for alpn in ["h2", "http/1.1"] {
        let found = answers(alpn, &[HARMLESS, CHROME, HARMLESS, CHROME]).await;
        assert_eq!(found, [200, 403, 200, 403], "{alpn}");
        assert_eq!(answers(alpn, &[CHROME, HARMLESS]).await, [403, 200], "{alpn}");
    }
}

#[tokio::test]
async fn fingerprint_crosses_pass_through() {
    let (config, connector) = configs("h2");
    let address = pass_through(serve(config, true).await).await;
    let mut stream = connect(&connector, address).await;
    let (client, headers) = exchange(&mut stream, HTTP2, 1000).await;
    let direct = configs("h2");
    let (other, _) = exchange(&mut connect(&direct.1, serve(direct.0, false).await).await, HTTP2, 1000).await;
    assert_eq!((&client.tcp, &client.http), (&other.tcp, &other.http));
    assert_eq!(client.tls.unwrap().ja4_stable, other.tls.unwrap().ja4_stable);
    assert!(client.tcp.is_some() && headers[0].starts_with("x-client-ja4="));
}

/// Answers as [`show`] does, with the address of the client as one of the headers.
#[cfg(feature = "axum")]
async fn show_address(
    axum::extract::ConnectInfo(address): axum::extract::ConnectInfo<SocketAddr>,
    client: Extension<Arc<ClientFingerprint>>,
    mut request: Request,
) -> String {
    request.headers_mut().insert("x-client-address", address.to_string().parse().unwrap());
    show(client, request).await
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn stalled_handshakes_do_not_delay_others() {
    use huginn_net_proxy::{FingerprintListener, FingerprintMakeService};

    let (config, connector) = configs("h2");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = FingerprintAcceptor::new(config).with_timeout(Duration::from_millis(300));
    let listener = FingerprintListener::new(listener, acceptor).unwrap();
    let headers = FingerprintHeaders::new("x-client-").unwrap();
    let app = Router::new().fallback(any(show_address));
    let service = FingerprintMakeService::new(app).with_headers(headers);
    tokio::spawn(async move { axum::serve(listener, service).await });

    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(&crate::HELLO[..100]).await.unwrap();
        stalled.push(client);
    }
    let mut stream = connect(&connector, address).await;
    let (client, headers) = exchange(&mut stream, HTTP2, 1000).await;
    assert!(client.tcp.is_some() && client.http.is_some());
    let expected = format!("x-client-address={}", stream.get_ref().0.local_addr().unwrap());
    assert!(headers.contains(&expected), "{headers:?}");
    assert_eq!(headers[0], format!("x-client-ja4={}", client.tls.unwrap().ja4));
    // Their connections end with the timeout.
    for mut client in stalled {
        assert_eq!(client.read(&mut [0; 10]).await.unwrap_or(0), 0);
    }
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn handshakes_beyond_limit_wait() {
    use std::time::Instant;

    use huginn_net_proxy::{FingerprintListener, FingerprintMakeService};

    const TIMEOUT: Duration = Duration::from_millis(300);
    let (config, connector) = configs("h2");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = FingerprintAcceptor::new(config).with_timeout(TIMEOUT);
    let listener = FingerprintListener::new(listener, acceptor).unwrap().with_max_handshakes(1);
    let service = FingerprintMakeService::new(Router::new());
    let start = Instant::now();
    let _stalled = TcpStream::connect(address).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, service).await });
    connect(&connector, address).await;
    assert!(start.elapsed() >= TIMEOUT);
}

/// A server on a free port that gives the outcome of its first handshake.
async fn first_handshake(
    acceptor: FingerprintAcceptor,
) -> (SocketAddr, tokio::task::JoinHandle<FailedHandshake>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    SavedSyn::enable(&listener).unwrap();
    let address = listener.local_addr().unwrap();
    let server = async move {
        let (stream, _) = listener.accept().await.unwrap();
        acceptor.accept(stream).await.err().unwrap()
    };
    (address, tokio::spawn(server))
}

#[tokio::test]
async fn handshake_that_stalls_ends() {
    let acceptor = FingerprintAcceptor::new(configs("h2").0).with_timeout(Duration::from_millis(50));
    // Within the hello, and after it.
    for (sent, is_complete) in [(&crate::HELLO[..100], false), (crate::HELLO, true)] {
        let (address, server) = first_handshake(acceptor.clone()).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(sent).await.unwrap();
        let failure = server.await.unwrap();
        assert_eq!(failure.error.kind(), io::ErrorKind::TimedOut);
        let client = failure.connection.fingerprint();
        assert_eq!((client.tcp.is_some(), client.tls.is_some()), (true, is_complete));
    }
    let (address, server) = first_handshake(acceptor).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(HTTP1).await.unwrap();
    let failure = server.await.unwrap();
    assert_eq!(failure.error.kind(), io::ErrorKind::InvalidData);
    let client = failure.connection.fingerprint();
    assert!(client.tcp.is_some() && client.tls.is_none() && client.http.is_none());
}

#[tokio::test]
async fn handshake_that_client_refuses_keeps_its_fingerprint() {
    use tokio_rustls::rustls::Error;

    // The client trusts another certificate than the server has.
    let (server_config, _) = configs("h2");
    let (_, connector) = configs("h2");
    let (address, server) = first_handshake(FingerprintAcceptor::new(server_config)).await;
    let stream = TcpStream::connect(address).await.unwrap();
    connector.connect(ServerName::try_from(NAME).unwrap(), stream).await.unwrap_err();
    let failure = server.await.unwrap();
    let reason = failure.error.get_ref().unwrap().downcast_ref();
    assert!(matches!(reason, Some(Error::AlertReceived(_))), "{failure}");
    let client = failure.connection.fingerprint();
    assert_eq!(client.tls.as_ref().unwrap().sni.as_deref(), Some(NAME));
    assert!(client.tcp.is_some() && client.http.is_none());
}

#[cfg(feature = "axum")]
#[tokio::test]
async fn listener_reports_and_counts_failed_handshakes() {
    use huginn_net_proxy::{FingerprintListener, FingerprintMakeService};

    let (config, connector) = configs("h2");
    let (_, distrustful) = configs("h2");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (reports, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let listener = FingerprintListener::new(listener, FingerprintAcceptor::new(config)).unwrap();
    let listener = listener.on_failed_handshake(move |client, failure| {
        let ja4 = failure.connection.fingerprint().tls.as_ref().map(|tls| tls.ja4);
        reports.send((client, ja4)).unwrap();
    });
    let counters = listener.counters();
    tokio::spawn(async move { axum::serve(listener, FingerprintMakeService::new(Router::new())).await });

    let stream = TcpStream::connect(address).await.unwrap();
    let client = stream.local_addr().unwrap();
    distrustful.connect(ServerName::try_from(NAME).unwrap(), stream).await.unwrap_err();
    let (from, ja4) = reported.recv().await.unwrap();
    assert_eq!(from, client);
    assert!(ja4.unwrap().to_string().starts_with("t13d"));
    assert_eq!((counters.completed(), counters.failed()), (0, 1));
    let _accepted = connect(&connector, address).await;
    while counters.completed() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!((counters.completed(), counters.failed()), (1, 1));
}
