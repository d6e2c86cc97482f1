//! Frames that the program captures itself: four workers, a task that reads events until Ctrl-C, and losses counted.
//!
//! `cargo run -p huginn-net --features stream --example own_ring CAPTURE`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;
use std::thread;

use huginn_net::core::{FrameChannelClosed, FrameSender, frame_channel};
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Counters, HuginnNet};
use tokio_stream::StreamExt;

/// Stands for a ring of the program's own: it never waits for the analysis. Returns how many frames were lost.
fn capture(mut ring: CaptureReader, mut frames: FrameSender) -> Result<u64, FrameChannelClosed> {
    while let Ok(Some(frame)) = ring.read_frame() {
        frames.try_send(&frame)?;
    }
    frames.flush()?;
    Ok(frames.frames_lost())
}

/// Analyses the frames of a ring. Returns the counters, and how many frames were lost.
pub(crate) async fn analyse(ring: CaptureReader) -> Result<(Counters, u64), Box<dyn Error>> {
    let (sender, receiver) = frame_channel();
    let capture = thread::spawn(move || capture(ring, sender));
    let mut run = HuginnNet::builder().workers(4).build().spawn(receiver.live());
    let stopper = run.stopper();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stopper.stop();
        }
    });
    while let Some(event) = StreamExt::next(&mut run).await {
        println!("{}", JsonEvent::new(&event));
    }
    let (_analyzer, counters) = run.await;
    Ok((counters?, capture.join().map_err(|_| "the capture failed")?.unwrap_or_default()))
}

#[tokio::main]
#[allow(dead_code, reason = "a test calls analyse")]
async fn main() -> Result<(), Box<dyn Error>> {
    let ring = CaptureReader::open(std::env::args().nth(1).ok_or("usage: own_ring CAPTURE")?)?;
    let (counters, lost) = analyse(ring).await?;
    println!("{} frames, {lost} lost, {} segments dropped", counters.frames, counters.segments_dropped);
    Ok(())
}
