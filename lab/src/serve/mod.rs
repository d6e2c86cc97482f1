//! The HTTP server: HTTP/1.1 and HTTP/2 over TCP with and without TLS, HTTP/3 over QUIC.

mod body;
mod certificate;
mod http3;
mod listen;
mod request;
mod responder;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread;

use anyhow::Context;
use clap::Args;
use socket2::{Domain, Protocol, Socket, Type};

use crate::quantity::parse_size;
use listen::ListenAddress;
use responder::Responder;

#[derive(Args)]
pub(crate) struct Options {
    /// Listen on this address, with a port for cleartext HTTP/1 and HTTP/2, and a port for TLS (TCP) and HTTP/3 (UDP);
    /// may be repeated
    #[arg(short = 'L', long = "listen", value_name = "ADDR:CLEAR[:TLS]", required = true)]
    listen: Vec<ListenAddress>,
    /// Number of threads, each with its own sockets and event loop
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Size of the prepared buffer that bodies are sent from, and of a write
    #[arg(long, value_name = "SIZE", default_value = "256k", value_parser = parse_buffer_size)]
    buffer: usize,
    /// Send buffer of each TCP socket (SO_SNDBUF) [default: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    socket_buffer: Option<u64>,
}

fn parse_buffer_size(text: &str) -> anyhow::Result<usize> {
    let size = usize::try_from(parse_size(text)?)?;
    anyhow::ensure!((1024..=16 << 20).contains(&size), "the buffer must have 1k to 16m");
    Ok(size)
}

/// Sockets of one thread for one address.
struct Sockets {
    clear: TcpListener,
    tls: Option<(TcpListener, UdpSocket)>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let tls = certificate::self_signed()?;
    let responder = Responder::new(options.buffer);
    let mut threads = Vec::new();
    // All sockets are open before the first thread starts, so that an address in use ends the program.
    for sockets in (0..options.threads).map(|_| open_all(options)).collect::<anyhow::Result<Vec<_>>>()? {
        let (tls, responder) = (Arc::clone(&tls), responder.clone());
        threads.push(thread::spawn(move || serve(sockets, &tls, &responder)));
    }
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a server thread panicked"))??;
    }
    Ok(())
}

fn open_all(options: &Options) -> anyhow::Result<Vec<Sockets>> {
    options.listen.iter().map(|address| open(address, options)).collect()
}

fn open(address: &ListenAddress, options: &Options) -> anyhow::Result<Sockets> {
    let tls = address
        .tls()
        .map(|tls| Ok::<_, anyhow::Error>((listener(tls, options)?, datagrams(tls)?)))
        .transpose()?;
    Ok(Sockets { clear: listener(address.clear(), options)?, tls })
}

fn listener(address: SocketAddr, options: &Options) -> anyhow::Result<TcpListener> {
    let socket = bound(address, Type::STREAM, Protocol::TCP)?;
    if let Some(size) = options.socket_buffer {
        socket.set_send_buffer_size(usize::try_from(size)?)?;
    }
    socket.listen(4096)?;
    Ok(socket.into())
}

fn datagrams(address: SocketAddr) -> anyhow::Result<UdpSocket> {
    let socket = bound(address, Type::DGRAM, Protocol::UDP)?;
    // A burst of handshakes must not overflow the socket; the kernel limits the size to net.core.rmem_max.
    socket.set_recv_buffer_size(4 << 20)?;
    socket.set_send_buffer_size(4 << 20)?;
    Ok(socket.into())
}

fn bound(address: SocketAddr, kind: Type, protocol: Protocol) -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    // Each thread accepts from its own socket; the kernel divides the connections.
    socket.set_reuse_port(true)?;
    if kind == Type::STREAM {
        socket.set_reuse_address(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into()).with_context(|| format!("cannot listen on {address}"))?;
    Ok(socket)
}

fn serve(sockets: Vec<Sockets>, tls: &certificate::Tls, responder: &Responder) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for sockets in sockets {
            tasks.spawn(listen::accept_clear(
                tokio::net::TcpListener::from_std(sockets.clear)?,
                responder.clone(),
            ));
            if let Some((stream, datagram)) = sockets.tls {
                let stream = tokio::net::TcpListener::from_std(stream)?;
                tasks.spawn(listen::accept_tls(stream, Arc::clone(&tls.tcp), responder.clone()));
                let endpoint = http3::endpoint(datagram, tls.quic.clone())?;
                tasks.spawn(http3::accept(endpoint, responder.clone()));
            }
        }
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        Ok(())
    })
}
