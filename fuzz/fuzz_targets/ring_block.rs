//! Parses any bytes as a ring block of a packet socket: terminates without panic, and frames lie within the block.
#![no_main]

use huginn_net_live::{BlockFrame, BlockFrames};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let frames: Vec<BlockFrame<'_>> = BlockFrames::new(data).collect();
    assert!(frames.len() <= data.len() / 48);
    for frame in &frames {
        assert_eq!(data.get(frame.start..frame.start + frame.data.len()), Some(frame.data));
    }
});
