//! Tests of the QUIC reader, with packets encrypted according to RFC 9001.
#![allow(clippy::arithmetic_side_effects)]

mod flows;
mod hostile;
mod peers;
mod seal;
mod vectors;

use huginn_net_core::Side;

use super::connection::{Peers, Scratch};
use super::flow::{QuicFlow, QuicPart};
use super::{ClientInitials, QuicCounters, likely_sender, looks_like_initial};
use crate::quic_peers::QuicClose;
use crate::{ClientHello, Progress, TlsError};

/// A flow and its hellos.
#[derive(Debug, Default)]
struct Run {
    flow: QuicFlow,
    scratch: Scratch,
    counters: QuicCounters,
    found: Vec<(Side, Vec<u8>, bool)>,
    /// Indexes of hellos with a conflict.
    conflicts: Vec<usize>,
    /// Client and server at each hello.
    peers: Vec<Peers>,
    closes: Vec<QuicClose>,
}

impl Run {
    fn push(&mut self, sender: Side, datagram: &[u8]) {
        let Self { found, conflicts, peers, closes, .. } = self;
        self.flow.on_datagram(datagram, sender, &mut self.scratch, &mut self.counters, &mut |part| {
            let hello = match part {
                QuicPart::Hello(hello) => hello,
                QuicPart::Close(close) => return closes.push(close),
            };
            if hello.conflict {
                conflicts.push(found.len());
            }
            peers.push(hello.peers);
            found.push((hello.sender, hello.message.to_vec(), hello.retry));
        });
    }

    fn client(&mut self, datagram: &[u8]) {
        self.push(Side::Client, datagram);
    }

    fn server(&mut self, datagram: &[u8]) {
        self.push(Side::Server, datagram);
    }
}

/// Gives a reader a datagram, which it pads to the length that servers require.
fn read(initials: &mut ClientInitials, datagram: &[u8]) -> Result<Option<ClientHello<'static>>, TlsError> {
    let mut padded = datagram.to_vec();
    padded.resize(datagram.len().max(1200), 0);
    initials.push(&padded).map(Progress::value)
}

/// Builds a hello of this type with a body of `len` bytes: valid mandatory fields, then arbitrary bytes.
fn message(kind: u8, len: usize) -> Vec<u8> {
    let rest: &[u8] = if kind == 1 { &[0, 0, 2, 0x13, 1, 1, 0] } else { &[0, 0x13, 1, 0] };
    let mut body = [&[3, 3][..], &[0x5a; 32], rest].concat();
    assert!(len >= body.len());
    body.extend((body.len()..len).map(|n| u8::try_from(n % 251).unwrap()));
    [&[kind], &u32::try_from(len).unwrap().to_be_bytes()[1..], &body].concat()
}

/// Builds a HelloRetryRequest.
fn retry_request() -> Vec<u8> {
    let random = unhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c");
    let body = [&[3, 3][..], &random, &[0, 0x13, 1, 0, 0, 0]].concat();
    [&[2, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
}
