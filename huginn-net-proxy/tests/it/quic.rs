//! QUIC clients of a quinn server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use huginn_net_proxy::{ConnectionFingerprint, Fingerprinter, QuicHandshake, QuicHelloRecorder};
use huginn_net_tls::{ClientHello, QuicFingerprint, QuicVersion};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::sync::mpsc;
use tokio_rustls::rustls;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

const NAME: &str = "www.example.test";
const LOCAL: &str = "127.0.0.1:0";

struct Server {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    /// The hellos of complete handshakes.
    hellos: mpsc::UnboundedReceiver<(Option<ClientHello<'static>>, Connection)>,
}

impl Server {
    /// The next complete handshake.
    async fn next(&mut self) -> (Option<ClientHello<'static>>, Connection) {
        tokio::time::timeout(Duration::from_secs(30), self.hellos.recv()).await.unwrap().unwrap()
    }
}

/// Serves any number of connections, and validates the addresses of clients first if `validates`.
fn serve(validates: bool) -> Server {
    let names = [NAME.to_owned(), "*.example.test".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = CryptoProvider { kx_groups: vec![ring::kx_group::X25519], ..ring::default_provider() };
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider));
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]).unwrap().with_no_client_auth();
    let mut tls = tls.with_single_cert(vec![cert.der().clone()], key.into()).unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let recorder = QuicHelloRecorder::new(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let config = ServerConfig::with_crypto(Arc::new(recorder));
    let endpoint = Endpoint::server(config, LOCAL.parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    let (found, hellos) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if validates && incoming.may_retry() {
                incoming.retry().unwrap();
                continue;
            }
            let found = found.clone();
            tokio::spawn(async move {
                // Decoys never complete their handshake.
                if let Ok(connection) = incoming.await {
                    found.send((QuicHelloRecorder::hello(&connection), connection)).unwrap();
                }
            });
        }
    });
    Server { address, certificate: cert.der().clone(), hellos }
}

/// A client that offers `protocols` protocols. Each adds 11 bytes to its hello.
fn client(certificate: CertificateDer<'static>, protocols: usize) -> Endpoint {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let names = (1..protocols).map(|number| format!("other-{number:04}").into_bytes());
    tls.alpn_protocols = std::iter::once(b"h3".to_vec()).chain(names).collect();
    let mut endpoint = Endpoint::client(LOCAL.parse().unwrap()).unwrap();
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap())));
    endpoint
}

/// Passes datagrams between one client and a server. `replace` returns what to send instead of the client's datagram of
/// this number.
async fn relay(
    server: SocketAddr,
    replace: impl Fn(usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static,
) -> SocketAddr {
    let inner = tokio::net::UdpSocket::bind(LOCAL).await.unwrap();
    let outer = tokio::net::UdpSocket::bind(LOCAL).await.unwrap();
    inner.connect(server).await.unwrap();
    let address = outer.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut from_client, mut from_server) = ([0; 2048], [0; 2048]);
        let (mut number, mut client) = (0, None);
        loop {
            tokio::select! {
                received = outer.recv_from(&mut from_client) => {
                    let (len, address) = received.unwrap();
                    client = Some(address);
                    for datagram in replace(number, &from_client[..len]) {
                        inner.send(&datagram).await.unwrap();
                    }
                    number += 1;
                }
                received = inner.recv(&mut from_server) => {
                    outer.send_to(&from_server[..received.unwrap()], client.unwrap()).await.unwrap();
                }
            }
        }
    });
    address
}

/// Connects, and returns the hello that the server found.
async fn connect(server: &mut Server, address: SocketAddr, protocols: usize) -> ClientHello<'static> {
    let client = client(server.certificate.clone(), protocols);
    let _connection = client.connect(address, NAME).unwrap().await.unwrap();
    let (hello, _) = server.next().await;
    let hello = hello.unwrap();
    assert_eq!(hello.server_name(), Some(NAME.as_bytes()));
    assert_eq!(hello.alpn().count(), protocols);
    hello
}

#[tokio::test]
async fn hello_has_the_fingerprints_of_quic() {
    let mut server = serve(false);
    let client = client(server.certificate.clone(), 1);
    let _connection = client.connect(server.address, NAME).unwrap().await.unwrap();
    let (hello, connection) = server.next().await;
    let parts = QuicHelloRecorder::parts(&connection);
    assert_eq!(parts.quic_hello, hello);
    let hello = hello.unwrap();
    let ja4 = hello.ja4();
    assert!(ja4.to_string().starts_with("q13d") && ja4.to_string().contains("h3_"), "{ja4}");
    let quic = QuicFingerprint::sorted(QuicVersion::V1, hello.transport_parameters()).to_string();
    assert!(quic.contains(";f*"), "{quic}");
    let found = ConnectionFingerprint::new(Fingerprinter::default(), parts).fingerprint();
    let tls = found.tls.as_ref().unwrap();
    assert_eq!(tls.quic, Some(quic));
    assert_eq!((tls.ja4, tls.alpn.as_ref().unwrap().as_str(), tls.sni.as_deref()), (ja4, "h3", Some(NAME)));
}

#[tokio::test]
async fn hello_before_a_retry_request_counts() {
    let mut server = serve(false);
    // The client sends a key for its first group only, so that the server asks for another hello.
    let groups = vec![ring::kx_group::SECP384R1, ring::kx_group::X25519];
    let provider = CryptoProvider { kx_groups: groups, ..ring::default_provider() };
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider));
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(server.certificate.clone()).unwrap();
    let mut tls = tls.with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let client = Endpoint::client(LOCAL.parse().unwrap()).unwrap();
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let _connection = client.connect_with(config, server.address, NAME).unwrap().await.unwrap();
    let (hello, _) = server.next().await;
    // The first group of key_share is secp384r1 (RFC 8446, section 4.2.8).
    assert_eq!(hello.unwrap().extension(51).unwrap()[2..4], [0, 24]);
}

#[tokio::test]
async fn hello_may_span_datagrams() {
    let mut server = serve(false);
    let address = server.address;
    let hello = connect(&mut server, address, 300).await;
    assert!(hello.message().len() > 3000);
}

#[tokio::test]
async fn hello_is_known_after_retry() {
    for protocols in [1, 300] {
        let mut server = serve(true);
        let address = server.address;
        connect(&mut server, address, protocols).await;
    }
}

#[tokio::test]
async fn lost_datagrams_are_repeated() {
    // After the server's answer, the client repeats the rest with the connection id of the server.
    for is_lost in [|number| number == 0, |number| number == 1, |number| (1..5).contains(&number)] {
        let mut server = serve(false);
        let replace =
            move |number, datagram: &[u8]| if is_lost(number) { Vec::new() } else { vec![datagram.to_vec()] };
        let address = relay(server.address, replace).await;
        connect(&mut server, address, 300).await;
    }
}

#[tokio::test]
async fn connections_of_one_address_have_their_own_hellos() {
    let mut server = serve(false);
    let client = client(server.certificate.clone(), 200);
    let names: Vec<String> = (10..60).map(|number| format!("name-{number}.example.test")).collect();
    let connecting: Vec<_> = names.iter().map(|name| client.connect(server.address, name).unwrap()).collect();
    // A client that goes away could end a handshake of the server.
    let mut connections = Vec::new();
    for connecting in connecting {
        connections.push(connecting.await.unwrap());
    }
    let mut found = Vec::new();
    while found.len() < names.len() {
        let (hello, connection) = server.next().await;
        let data = connection.handshake_data().unwrap();
        let data = data.downcast::<QuicHandshake>().unwrap().data;
        let data = data.downcast::<quinn::crypto::rustls::HandshakeData>().unwrap();
        let name = hello.unwrap().server_name().map(|name| String::from_utf8(name.to_vec()).unwrap());
        assert_eq!(name, data.server_name);
        found.extend(name);
    }
    found.sort();
    assert_eq!(found, names);
}

/// The first datagrams of a [`client`].
async fn flight(protocols: usize) -> Vec<Vec<u8>> {
    let CertifiedKey { cert, .. } = generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let socket = tokio::net::UdpSocket::bind(LOCAL).await.unwrap();
    let client = client(cert.der().clone(), protocols);
    let _connecting = client.connect(socket.local_addr().unwrap(), NAME).unwrap();
    let mut datagrams = Vec::new();
    let mut buffer = [0; 2048];
    let wait = Duration::from_millis(200);
    while let Ok(received) = tokio::time::timeout(wait, socket.recv(&mut buffer)).await {
        datagrams.push(buffer[..received.unwrap()].to_vec());
    }
    datagrams
}

#[tokio::test]
async fn packets_of_other_connections_change_nothing() {
    let decoys = flight(1).await;
    for validates in [false, true] {
        let (mut server, decoys) = (serve(validates), decoys.clone());
        // From the address of the client, before each of its datagrams and behind its packet.
        let replace = move |_, datagram: &[u8]| {
            let mut sent = decoys.clone();
            sent.push([datagram, &decoys[0]].concat());
            sent
        };
        let address = relay(server.address, replace).await;
        connect(&mut server, address, 300).await;
    }
}
