//! Connections over QUIC.

use std::net::UdpSocket;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::server::RequestStream;
use h3_quinn::BidiStream;
use http::{Request, Version};
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime};

use super::body::ResponseBody;
use super::responder::{Drain, Reply, Responder};

type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

pub(super) fn endpoint(socket: UdpSocket, config: ServerConfig) -> anyhow::Result<Endpoint> {
    Ok(Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))?)
}

pub(super) async fn accept(endpoint: Endpoint, responder: Responder) {
    while let Some(incoming) = endpoint.accept().await {
        let responder = responder.clone();
        tokio::spawn(async move {
            // A client that goes away in the middle of a response has nothing to report to.
            let _ = serve(incoming, responder).await;
        });
    }
}

async fn serve(incoming: Incoming, responder: Responder) -> anyhow::Result<()> {
    let connection = h3_quinn::Connection::new(incoming.await?);
    let mut server: h3::server::Connection<_, Bytes> = h3::server::Connection::new(connection).await?;
    let (close, mut closing) = tokio::sync::mpsc::channel(1);
    loop {
        tokio::select! {
            accepted = server.accept() => {
                let Some(request) = accepted? else { return Ok(()) };
                let (responder, close) = (responder.clone(), close.clone());
                tokio::spawn(async move {
                    let (request, stream) = request.resolve_request().await?;
                    respond(request, stream, &responder, close).await
                });
            }
            Some(()) = closing.recv() => server.shutdown(0).await?,
        }
    }
}

async fn respond(
    request: Request<()>,
    stream: Stream,
    responder: &Responder,
    close: tokio::sync::mpsc::Sender<()>,
) -> anyhow::Result<()> {
    let (mut sender, receiver) = stream.split();
    let drain = discard(receiver);
    let Reply { response, drain, close: closes } =
        responder.respond(request.method(), request.uri(), Version::HTTP_3, drain).await;
    if let Drain::AfterResponse(body) = drain {
        tokio::spawn(body);
    }
    let (head, body) = response.into_parts();
    sender.send_response(http::Response::from_parts(head, ())).await?;
    send(&mut sender, body).await?;
    sender.finish().await?;
    if closes {
        // A second request to close changes nothing, so a full channel is not an error.
        let _ = close.try_send(());
    }
    Ok(())
}

async fn send<S>(sender: &mut RequestStream<S, Bytes>, mut body: ResponseBody) -> anyhow::Result<()>
where
    S: h3::quic::SendStream<Bytes>,
{
    while let Some(piece) = body.next_piece() {
        sender.send_data(piece).await?;
    }
    Ok(())
}

/// Reads a request's body to its end, and returns its length in bytes.
async fn discard<S>(mut receiver: RequestStream<S, Bytes>) -> u64
where
    S: h3::quic::RecvStream,
{
    let mut length = 0_u64;
    while let Ok(Some(data)) = receiver.recv_data().await {
        length = length.saturating_add(data.remaining() as u64);
    }
    length
}
