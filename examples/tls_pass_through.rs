//! Passes TLS through to the upstream of its server name, without ending it. The upstream gets the fingerprints of SYN and
//! ClientHello in a PROXY protocol header.
//!
//! `cargo run -p huginn-net-proxy --all-features --example tls_pass_through 0.0.0.0:8443 www.example.org=192.0.2.2:443 '*.example.org=192.0.2.3:443'`

use std::time::Duration;
use std::{env, error::Error, sync::Arc};

use huginn_net_proxy::{
    ConnectionFingerprint, ConnectionParts, Fingerprinter, ProxyHeader, Recorder, Recording, SavedSyn,
    SniRoutes,
};
use huginn_net_tls::ClientHello;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let listen = arguments.next().ok_or("usage: LISTEN NAME=UPSTREAM...")?;
    let routes = arguments.try_fold(SniRoutes::new(), |routes, argument| {
        argument.split_once('=').map(|(name, upstream)| routes.with(name, upstream.to_owned()))
    });
    let routes = Arc::new(routes.ok_or("usage: LISTEN NAME=UPSTREAM...")?);
    let listener = TcpListener::bind(listen).await?;
    SavedSyn::enable(&listener)?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(pass_through(stream, Arc::clone(&routes)))),
            // The client went away, or too many files are open: some are closed soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn pass_through(
    stream: TcpStream,
    routes: Arc<SniRoutes<String>>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut header = ProxyHeader::new(stream.peer_addr()?, stream.local_addr()?);
    let syn = SavedSyn::take(&stream)?;
    let mut stream = Recorder::new(stream, Recording::tls());
    tokio::time::timeout(Duration::from_secs(10), stream.peek_async()).await??;

    let hello = stream.recording().and_then(Recording::complete).ok_or("no ClientHello")?;
    let hello = ClientHello::from_records(hello)?.ok_or("no ClientHello")?.value;
    let upstream = routes.find(&hello).ok_or("no route for this name")?;
    let mut upstream = TcpStream::connect(upstream).await?;

    let parts = ConnectionParts::default().syn(syn).hello(stream.take_recording());
    let fingerprint = ConnectionFingerprint::new(Fingerprinter::default(), parts).fingerprint();
    header = header.with_fingerprint((*fingerprint).clone());
    upstream.write_all(&header.to_bytes()?).await?;
    copy_bidirectional(&mut stream, &mut upstream).await?;
    Ok(())
}
