//! The channels between a worker and the merging thread: outputs, and empty outputs for reuse.

use std::ops::ControlFlow;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::limits::OUTPUT_QUEUE_LEN;

/// Events that a worker sends, in memory that it gets back.
pub(super) trait Reuse: Default {
    /// Removes everything, and keeps the memory.
    fn clear(&mut self);
}

/// The end of the worker.
pub(super) struct OutputChannel<T> {
    outputs: Sender<T>,
    spare: Receiver<T>,
}

/// The end of the merging thread.
pub(super) struct Lane<T> {
    pub(super) outputs: Receiver<T>,
    spare: Sender<T>,
}

/// Creates the channels of a worker.
pub(super) fn output_channel<T>() -> (OutputChannel<T>, Lane<T>) {
    let (sent, outputs) = bounded(OUTPUT_QUEUE_LEN);
    let (recycled, spare) = bounded(OUTPUT_QUEUE_LEN);
    (OutputChannel { outputs: sent, spare }, Lane { outputs, spare: recycled })
}

impl<T: Reuse> OutputChannel<T> {
    /// Returns an empty output. What it contained is freed by the thread that allocated it: another one would contend with it in the
    /// allocator.
    pub(super) fn empty_output(&self) -> T {
        let mut output = self.spare.try_recv().unwrap_or_default();
        output.clear();
        output
    }

    /// Sends an output, and leaves an empty one in its place. Breaks if the merging thread has ended.
    pub(super) fn replace(&self, output: &mut T) -> ControlFlow<()> {
        self.send(std::mem::replace(output, self.empty_output()))
    }

    /// Sends an output. Breaks if the merging thread has ended.
    pub(super) fn send(&self, output: T) -> ControlFlow<()> {
        if self.outputs.send(output).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl<T> Lane<T> {
    /// Returns an output that was delivered to the worker.
    pub(super) fn recycle(&self, output: T) {
        // A full channel drops the output.
        let _ = self.spare.try_send(output);
    }
}
