//! The second reading of a capture.

use std::num::NonZeroU32;
use std::path::Path;

use huginn_net::capture::CaptureInterface;
use huginn_net::core::Frame;
use huginn_net::{CaptureError, CaptureReader};

use crate::plan::FrameFilter;
use crate::run::open;

/// Reads the frames again that were analysed: as many, with the same numbers.
pub(super) struct Reread<'a> {
    reader: CaptureReader,
    left: u64,
    filter: &'a mut FrameFilter,
    number: u64,
}

/// A frame that is read again.
pub(super) struct RereadFrame<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) interface: CaptureInterface,
    /// The number that events give it; `None` if the filter expression rejects it.
    pub(super) number: Option<u64>,
}

impl<'a> Reread<'a> {
    /// Opens a capture. `frames`: number of frames that were analysed, so that damage after them is not read.
    pub(super) fn open(
        path: &Path,
        max_ratio: Option<NonZeroU32>,
        frames: u64,
        filter: &'a mut FrameFilter,
    ) -> Result<Self, CaptureError> {
        Ok(Self { reader: open(path, max_ratio)?, left: frames, filter, number: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<RereadFrame<'_>>, CaptureError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let Some((frame, interface)) = self.reader.read_frame_with_interface()? else { return Ok(None) };
        let number = self.filter.passes(&frame).then(|| {
            let records = u64::from(frame.ts.other_records()).saturating_add(1);
            self.number = self.number.saturating_add(records);
            self.number
        });
        Ok(Some(RereadFrame { frame, interface, number }))
    }
}
