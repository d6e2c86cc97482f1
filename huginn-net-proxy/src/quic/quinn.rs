//! A socket for quinn that finds ClientHellos in what it receives.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

use super::QuicHellos;

impl QuicHellos {
    /// Reads the datagrams of a socket before quinn does. Give the socket that this returns to
    /// `quinn::Endpoint::new_with_abstract_socket`.
    ///
    /// `examples/http3_proxy.rs` is a complete server.
    pub fn read_from(&self, socket: Arc<dyn AsyncUdpSocket>) -> Arc<dyn AsyncUdpSocket> {
        Arc::new(ReadSocket { socket, hellos: self.clone() })
    }
}

#[derive(Debug)]
struct ReadSocket {
    socket: Arc<dyn AsyncUdpSocket>,
    hellos: QuicHellos,
}

impl AsyncUdpSocket for ReadSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = ready!(self.socket.poll_recv(context, buffers, meta))?;
        for (buffer, meta) in buffers.iter().zip(&*meta).take(received) {
            // The kernel joins datagrams of one length (GRO).
            let bytes = buffer.get(..meta.len).unwrap_or_default();
            for datagram in bytes.chunks(meta.stride.max(1)) {
                self.hellos.push(meta.addr, datagram);
            }
        }
        Poll::Ready(Ok(received))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}
