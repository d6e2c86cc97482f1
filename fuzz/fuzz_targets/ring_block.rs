//! Blocks of a packet socket's ring: no bytes make them panic or go in circles, frames lie within the block, and pauses
//! between them change nothing.
#![no_main]

use huginn_net_live::{BlockFrame, BlockFrames};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let frames: Vec<BlockFrame<'_>> = BlockFrames::new(data).collect();
    assert!(frames.len() <= data.len() / 48);
    for frame in &frames {
        assert!(data.as_ptr_range().contains(&frame.data.as_ptr()) || frame.data.is_empty());
        assert!(frame.data.len() <= data.len());
    }
    let mut paused = Vec::new();
    let mut place = BlockFrames::new(data).place();
    while let Some(at) = place {
        let mut rest = BlockFrames::resume(data, at);
        paused.extend(rest.next());
        place = rest.place();
    }
    assert_eq!(paused, frames);
});
