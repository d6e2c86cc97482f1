//! QUIC clients of a quinn server.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use huginn_net::tls::ClientHello;
use huginn_net_proxy::{ConnectionFingerprint, ConnectionParts, Fingerprinter, QuicHellos};
use proptest::prelude::*;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::sync::mpsc;
use tokio_rustls::rustls;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

const NAME: &str = "www.example.test";
const LOCAL: &str = "127.0.0.1:0";

struct Server {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    /// The hellos of complete handshakes.
    hellos: mpsc::UnboundedReceiver<(Option<ClientHello<'static>>, Connection)>,
    table: QuicHellos,
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
    let tls = rustls::ServerConfig::builder().with_no_client_auth();
    let mut tls = tls.with_single_cert(vec![cert.der().clone()], key.into()).unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));

    let table = QuicHellos::new();
    let runtime = Arc::new(TokioRuntime);
    let socket = UdpSocket::bind(LOCAL).unwrap();
    let address = socket.local_addr().unwrap();
    let socket = table.read_from(runtime.wrap_udp_socket(socket).unwrap());
    let endpoint = EndpointConfig::default();
    let endpoint = Endpoint::new_with_abstract_socket(endpoint, Some(config), socket, runtime).unwrap();
    let (found, hellos) = mpsc::unbounded_channel();
    let of_server = table.clone();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if validates && incoming.may_retry() {
                incoming.retry().unwrap();
                continue;
            }
            let (found, table) = (found.clone(), of_server.clone());
            tokio::spawn(async move {
                let (client, id) = (incoming.remote_address(), incoming.orig_dst_cid());
                let connection = incoming.await.unwrap();
                found.send((table.take(client, &id), connection)).unwrap();
            });
        }
    });
    Server { address, certificate: cert.der().clone(), hellos, table }
}

/// A client that offers so many protocols; each adds 11 bytes to its hello.
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

/// Passes datagrams between one client and a server, without those of the client whose numbers `is_lost`.
async fn relay(server: SocketAddr, is_lost: fn(usize) -> bool) -> SocketAddr {
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
                    if !is_lost(number) {
                        inner.send(&from_client[..len]).await.unwrap();
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
    let address = server.address;
    let hello = connect(&mut server, address, 1).await;
    let ja4 = hello.ja4().to_string();
    assert!(ja4.starts_with("q13d") && ja4.contains("h3_"), "{ja4}");
    let parts = ConnectionParts { quic_hello: Some(hello), ..ConnectionParts::default() };
    let found = ConnectionFingerprint::new(Fingerprinter::default(), parts).fingerprint();
    let tls = found.tls.as_ref().unwrap();
    assert_eq!((&tls.ja4, tls.alpn.as_deref(), tls.sni.as_deref()), (&ja4, Some("h3"), Some(NAME)));
    assert_eq!(server.table.buffered_bytes(), 0, "nothing stays");
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
        let address = relay(server.address, is_lost).await;
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
        let data = data.downcast::<quinn::crypto::rustls::HandshakeData>().unwrap();
        let name = hello.unwrap().server_name().map(|name| String::from_utf8(name.to_vec()).unwrap());
        assert_eq!(name, data.server_name);
        found.extend(name);
    }
    found.sort();
    assert_eq!(found, names);
}

/// The first datagrams of a client with a long hello, and the connection id in them.
fn flight() -> (Vec<Vec<u8>>, Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let CertifiedKey { cert, .. } = generate_simple_self_signed([NAME.to_owned()]).unwrap();
        let socket = tokio::net::UdpSocket::bind(LOCAL).await.unwrap();
        let client = client(cert.der().clone(), 300);
        let _connecting = client.connect(socket.local_addr().unwrap(), NAME).unwrap();
        let mut datagrams = Vec::new();
        let mut buffer = [0; 2048];
        let wait = Duration::from_millis(200);
        while let Ok(received) = tokio::time::timeout(wait, socket.recv(&mut buffer)).await {
            datagrams.push(buffer[..received.unwrap()].to_vec());
        }
        let id = datagrams[0][6..6 + usize::from(datagrams[0][5])].to_vec();
        (datagrams, id)
    })
}

fn address(number: u32) -> SocketAddr {
    SocketAddr::new(std::net::Ipv4Addr::from(number).into(), 50_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn order_and_damage_hide_nothing(
        order in Just(flight()).prop_flat_map(|(datagrams, id)| (Just(datagrams).prop_shuffle(), Just(id))),
        damaged in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..=255_u8), 0..8),
    ) {
        let (datagrams, id) = order;
        let hellos = QuicHellos::new();
        for (datagram, at, mask) in damaged {
            let mut forged = datagrams[datagram.index(datagrams.len())].clone();
            let at = at.index(forged.len());
            forged[at] ^= mask;
            hellos.push(address(1), &forged);
        }
        for datagram in &datagrams {
            hellos.push(address(1), datagram);
        }
        let hello = hellos.take(address(1), &id).unwrap();
        prop_assert_eq!(hello.alpn().count(), 300);
        prop_assert!(hellos.take(address(1), &id).is_none());
    }
}

#[test]
fn memory_is_bounded() {
    const LIMIT: usize = 2 << 20;
    const CLIENTS: u32 = 5000;
    let (datagrams, id) = flight();
    let hellos = QuicHellos::with_limit(LIMIT);
    // Half of them never finish their hello.
    for number in 0..CLIENTS {
        let sent = if number % 2 == 0 { &datagrams[..1] } else { &datagrams };
        for datagram in sent {
            hellos.push(address(number), datagram);
        }
        assert!(hellos.buffered_bytes() <= LIMIT);
    }
    assert!(hellos.buffered_bytes() > LIMIT / 2);
    assert!(hellos.take(address(1), &id).is_none(), "the oldest is forgotten");
    assert!(hellos.take(address(CLIENTS - 1), &id).is_some());

    for number in 0..CLIENTS {
        hellos.take(address(number), &id);
    }
    let unfinished = hellos.buffered_bytes();
    assert!(unfinished > 0 && unfinished < LIMIT);
}

#[test]
fn nothing_is_kept_of_other_datagrams() {
    let hellos = QuicHellos::new();
    for datagram in [&b""[..], b"\x40short", b"\xc0\0\0\0\x01", &[0xc3; 1200]] {
        hellos.push(address(1), datagram);
    }
    // An Initial packet that its own connection id does not decrypt.
    let (datagrams, id) = flight();
    let mut other = datagrams[0].clone();
    other[6] ^= 1;
    hellos.push(address(1), &other);
    assert_eq!(hellos.buffered_bytes(), 0);
    assert!(hellos.take(address(1), &id).is_none());
    assert!(hellos.take(address(1), &[0; 21]).is_none());
}
