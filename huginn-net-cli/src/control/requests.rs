//! `--control`: requests of `huginn-net reload` and `huginn-net status` over a Unix socket.
//!
//! A connection has one request, a line, and its answer, a line of JSON.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time;

use super::clients::{Active, Clients};
use super::{ACCEPT_RETRY_DELAY, Health, Readings, StartReload};

/// Maximum length of a request, in bytes with its line end.
const MAX_REQUEST_BYTES: u64 = 64;

/// Time that a client has to send its request, and to read the answer. A reload takes what it takes.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What the sensor is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    Reload,
    Status,
}

impl ControlRequest {
    /// Its line, without the line end.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reload => "reload",
            Self::Status => "status",
        }
    }
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ControlAnswer {
    pub(crate) ok: bool,
    /// Why the request failed; a line for each reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
}

impl ControlAnswer {
    fn new(outcome: Result<(), String>) -> Self {
        Self { ok: outcome.is_ok(), error: outcome.err(), status: None }
    }

    fn of_health(health: Health) -> Self {
        match health {
            Health::Capturing => Self { ok: true, error: None, status: Some(health.to_string()) },
            Health::NoInterface | Health::Stalled | Health::Ended => Self::new(Err(health.to_string())),
        }
    }
}

/// Serves all clients.
pub(super) async fn serve(listener: UnixListener, readings: Arc<Readings>, reload: StartReload) {
    let mut clients = Clients::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                clients.admit(|active| answer(stream, Arc::clone(&readings), Arc::clone(&reload), active));
            }
            Err(_) => time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

async fn answer(mut stream: UnixStream, readings: Arc<Readings>, reload: StartReload, active: Active) {
    let mut line = Vec::new();
    let mut reader = BufReader::new((&mut stream).take(MAX_REQUEST_BYTES));
    match time::timeout(REQUEST_TIMEOUT, reader.read_until(b'\n', &mut line)).await {
        Ok(Ok(length)) if length > 0 => {}
        _ => return,
    }
    active.touch();
    let answer = match &*line {
        b"reload\n" => ControlAnswer::new(match reload().await {
            Ok(outcome) => outcome,
            Err(_) => Err("the sensor ends".to_owned()),
        }),
        b"status\n" => ControlAnswer::of_health((readings.health)()),
        _ => ControlAnswer::new(Err("unknown request: a line 'reload' or 'status' is expected".to_owned())),
    };
    let Ok(mut text) = serde_json::to_vec(&answer) else { return };
    text.push(b'\n');
    // A client that is gone needs no answer.
    let _ = time::timeout(REQUEST_TIMEOUT, stream.write_all(&text)).await;
}
