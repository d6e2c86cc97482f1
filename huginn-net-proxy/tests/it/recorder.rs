//! Recorders around blocking and asynchronous streams.

use std::io::{self, Read, Write};

use allocation_counter::measure;
use huginn_net_proxy::{Recorder, Recording, RecordingStatus};

use crate::{HELLO, HTTP1, padded_hello};

/// A stream that returns at most `step` bytes a read, and keeps what is written.
struct Steps<'a> {
    bytes: &'a [u8],
    step: usize,
    written: Vec<u8>,
}

impl<'a> Steps<'a> {
    fn new(bytes: &'a [u8], step: usize) -> Self {
        Self { bytes, step, written: Vec::new() }
    }
}

impl Read for Steps<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let step = self.step.min(buffer.len());
        self.bytes.read(&mut buffer[..step])
    }
}

impl Write for Steps<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read_all(stream: &mut impl Read, step: usize) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; step]);
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return all,
            len => all.extend_from_slice(&buffer[..len]),
        }
    }
}

#[test]
fn reading_records_and_changes_nothing() {
    let bytes = [HELLO, b"the rest"].concat();
    for (step, buffer) in [(1, 100), (1000, 1), (1000, 1000), (64, 7)] {
        let mut recorder = Recorder::new(Steps::new(&bytes, step), Recording::tls());
        assert_eq!(read_all(&mut recorder, buffer), bytes);
        assert_eq!(recorder.recording().unwrap().complete(), Some(HELLO));
        assert_eq!(recorder.take_recording().unwrap().bytes(), HELLO);
        assert!(recorder.recording().is_none());
    }
}

#[test]
fn peeked_bytes_are_read_again() {
    let bytes = [HELLO, &b"the rest".repeat(1000)].concat();
    for (step, buffer) in [(1, 100), (10_000, 1), (10_000, 10_000), (64, 7)] {
        let mut recorder = Recorder::new(Steps::new(&bytes, step), Recording::tls());
        assert_eq!(recorder.peek().unwrap().complete(), Some(HELLO));
        assert_eq!(recorder.peek().unwrap().complete(), Some(HELLO), "peeking twice reads nothing");
        assert_eq!(read_all(&mut recorder, buffer), bytes);
    }
}

#[test]
fn peek_ends_when_client_closes_or_sends_other_protocol() {
    let mut recorder = Recorder::new(&HELLO[..100], Recording::tls());
    assert_eq!(recorder.peek().unwrap().status(), RecordingStatus::Incomplete);
    assert_eq!(read_all(&mut recorder, 64), &HELLO[..100]);

    let mut recorder = Recorder::new(HTTP1, Recording::tls());
    assert_eq!(recorder.peek().unwrap().status(), RecordingStatus::Unrecognized);
    assert_eq!(read_all(&mut recorder, 64), HTTP1);
    recorder.take_recording();
    assert_eq!(recorder.peek().unwrap_err().kind(), io::ErrorKind::Other);
}

#[test]
fn peek_continues_after_error() {
    struct Blocks<'a>(Option<&'a [u8]>, &'a [u8]);
    impl Read for Blocks<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.take() {
                Some(first) => {
                    buffer[..first.len()].copy_from_slice(first);
                    Ok(first.len())
                }
                None if !self.1.is_empty() => {
                    self.0 = Some(std::mem::take(&mut self.1));
                    Err(io::ErrorKind::WouldBlock.into())
                }
                None => Ok(0),
            }
        }
    }
    let (first, second) = HELLO.split_at(77);
    let mut recorder = Recorder::new(Blocks(Some(first), second), Recording::tls());
    assert_eq!(recorder.peek().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(recorder.peek().unwrap().complete(), Some(HELLO));
    assert_eq!(read_all(&mut recorder, 50), HELLO);
}

#[test]
fn parts_have_unread_bytes() {
    let mut recorder = Recorder::new(Steps::new(HELLO, 4096), Recording::tls());
    recorder.peek().unwrap();
    recorder.read_exact(&mut [0; 10]).unwrap();
    recorder.write_all(b"answer").unwrap();
    let (stream, unread) = recorder.into_parts();
    assert_eq!((unread.as_slice(), stream.written.as_slice()), (&HELLO[10..], &b"answer"[..]));
}

#[test]
fn handle_receives_recording_once() {
    let mut recorder = Recorder::new(HTTP1, Recording::http());
    let handle = recorder.handle();
    assert!(handle.take().is_none());
    read_all(&mut recorder, 11);
    assert!(recorder.recording().is_none());
    assert_eq!(handle.take().unwrap().complete(), Some(HTTP1));
    assert!(handle.take().is_none());

    let mut recorder = Recorder::new(HTTP1, Recording::http());
    recorder.peek().unwrap();
    assert!(recorder.handle().take().is_some(), "the recording ended before");
}

#[test]
fn recording_that_failed_holds_no_memory() {
    let endless = [&b"GET / HTTP/1.1\r\n"[..], &b"a: b\r\n".repeat(20_000)].concat();
    for (bytes, status) in
        [(&endless[..], RecordingStatus::LimitReached), (HELLO, RecordingStatus::Unrecognized)]
    {
        let mut recorder = Recorder::new(bytes, Recording::http());
        let handle = recorder.handle();
        assert_eq!(read_all(&mut recorder, 1000), bytes);
        let recording = handle.take().unwrap();
        assert_eq!((recording.status(), recording.buffered_bytes()), (status, 0));
    }
}

#[test]
fn no_allocation_after_recording() {
    let bytes = [HELLO, &[7; 100_000]].concat();
    let mut buffer = [0; 1000];
    for (peek, handle) in [(false, false), (false, true), (true, false)] {
        let mut recorder = Recorder::new(&bytes[..], Recording::tls());
        let handle = handle.then(|| recorder.handle());
        if peek {
            recorder.peek().unwrap();
            recorder.read_exact(&mut [0; 4096]).unwrap();
        }
        recorder.read_exact(&mut buffer).unwrap();
        let allocations = measure(|| {
            for _ in 0..90 {
                recorder.read_exact(&mut buffer).unwrap();
            }
        });
        assert_eq!(allocations.count_total, 0);
        let recording = handle.map_or_else(|| recorder.take_recording(), |handle| handle.take());
        assert_eq!(recording.unwrap().complete(), Some(HELLO));
    }
}

#[test]
fn memory_of_stalled_clients_is_bounded() {
    // A client that stops after each number of bytes of a long hello.
    let bytes = padded_hello(60_000, 1400);
    for len in [0, 1, 100, 5000, 40_000, 60_000] {
        let held = measure(|| {
            let mut recorder = Recorder::new(&bytes[..len], Recording::tls());
            assert_eq!(recorder.peek().unwrap().status(), RecordingStatus::Incomplete);
        });
        let limit = 3 * (64 << 10);
        assert!(held.bytes_max <= limit.min(5 * len as u64 + 16), "{len}: {} bytes", held.bytes_max);
    }
    assert!(size_of::<Recorder<()>>() <= 160, "{} bytes", size_of::<Recorder<()>>());
}

#[cfg(feature = "tokio")]
mod asynchronous {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn reading_and_peeking_give_same_bytes() {
        let bytes = [HELLO, &b"the rest".repeat(1000)].concat();
        for peek in [false, true] {
            for step in [1, 100, 5000] {
                let (client, mut sender) = duplex(step);
                let sent = bytes.clone();
                let sending = tokio::spawn(async move { sender.write_all(&sent).await });
                let mut recorder = Recorder::new(client, Recording::tls());
                if peek {
                    assert_eq!(recorder.peek_async().await.unwrap().complete(), Some(HELLO));
                }
                let mut all = Vec::new();
                recorder.read_to_end(&mut all).await.unwrap();
                assert_eq!(all, bytes);
                assert_eq!(recorder.take_recording().unwrap().complete(), Some(HELLO));
                sending.await.unwrap().unwrap();
            }
        }
    }

    #[tokio::test]
    async fn peek_that_timed_out_continues() {
        let (client, mut sender) = duplex(10_000);
        let mut recorder = Recorder::new(client, Recording::tls());
        sender.write_all(&HELLO[..200]).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(20), recorder.peek_async()).await.is_err());
        sender.write_all(&HELLO[200..]).await.unwrap();
        drop(sender);
        assert_eq!(recorder.peek_async().await.unwrap().complete(), Some(HELLO));
        let mut all = Vec::new();
        recorder.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, HELLO);
    }
}
