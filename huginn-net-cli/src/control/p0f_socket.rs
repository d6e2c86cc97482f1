//! `--p0f-socket`: p0f's queries and answers over a Unix socket.

use std::sync::Arc;

use huginn_net::p0f::{P0fAnswer, P0fQuery};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::{task, time};

use super::clients::{Active, Clients};
use super::{ACCEPT_RETRY_DELAY, QueryHost};

/// Serves clients without an idle timeout; [`Clients`] evicts idle clients at the limit.
pub(super) async fn serve(listener: tokio::net::UnixListener, hosts: QueryHost) {
    let mut clients = Clients::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => clients.admit(|active| answer(stream, Arc::clone(&hosts), active)),
            Err(_) => time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Answers queries in order until the client disconnects or the analysis ends.
async fn answer(mut stream: tokio::net::UnixStream, hosts: QueryHost, active: Active) {
    let mut query = [0; P0fQuery::LEN];
    while stream.read_exact(&mut query).await.is_ok() {
        active.touch();
        let answer = match P0fQuery::parse(&query) {
            None => P0fAnswer::BadQuery,
            Some(query) => {
                let hosts = Arc::clone(&hosts);
                match task::spawn_blocking(move || hosts(query.ip)).await {
                    Ok(Some(answer)) => answer,
                    Ok(None) => return,
                    Err(_) => P0fAnswer::NoMatch,
                }
            }
        };
        if stream.write_all(&answer.to_bytes()).await.is_err() {
            return;
        }
        active.touch();
    }
}
