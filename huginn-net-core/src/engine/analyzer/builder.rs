//! The settings of an analyzer.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::processors;
use super::{Analyzer, CancelToken, Dropped, EventRouter, Ingest, Overflow, SnapshotHandle};
use crate::engine::hash_seed::{HashSeed, Seeds};
use crate::flow::{FlowPartitions, FlowTable};
use crate::packet_clock::PacketClock;
use crate::{AddressMap, DecodeConfig, Decoder, Filter, FlowLimits, Protocol, Replaceable};

/// Configures an [`Analyzer`]; see [`Analyzer::builder`].
#[derive(Debug)]
#[must_use]
pub struct Builder<P> {
    protocol: P,
    decode: DecodeConfig,
    addresses: Option<Arc<dyn AddressMap>>,
    flows: FlowLimits,
    filter: Filter,
    replaceable_filter: Option<Replaceable<Filter>>,
    #[cfg(feature = "bpf")]
    bpf: Option<crate::Bpf>,
    workers: NonZeroUsize,
    processors: Option<NonZeroUsize>,
    block_bytes: Option<usize>,
    overflow: Option<Overflow>,
    hash_seed: Option<HashSeed>,
    cancel: CancelToken,
}

impl<P: Protocol> Builder<P> {
    pub(super) fn new(protocol: P) -> Self {
        Self {
            protocol,
            decode: DecodeConfig::default(),
            addresses: None,
            flows: FlowLimits::default(),
            filter: Filter::default(),
            replaceable_filter: None,
            #[cfg(feature = "bpf")]
            bpf: None,
            workers: NonZeroUsize::MIN,
            processors: None,
            block_bytes: None,
            overflow: None,
            hash_seed: None,
            cancel: CancelToken::default(),
        }
    }

    /// Changes the protocol: its settings, or what it is.
    pub fn map_protocol<Q: Protocol>(self, change: impl FnOnce(P) -> Q) -> Builder<Q> {
        Builder {
            protocol: change(self.protocol),
            decode: self.decode,
            addresses: self.addresses,
            flows: self.flows,
            filter: self.filter,
            replaceable_filter: self.replaceable_filter,
            #[cfg(feature = "bpf")]
            bpf: self.bpf,
            workers: self.workers,
            processors: self.processors,
            block_bytes: self.block_bytes,
            overflow: self.overflow,
            hash_seed: self.hash_seed,
            cancel: self.cancel,
        }
    }

    /// Sets the configuration of the decoder.
    pub fn decode(mut self, config: DecodeConfig) -> Self {
        self.decode = config;
        self
    }

    /// Analyses other addresses than those of the packets: flows, hosts and events have these. The [filter](Self::filter) is that of the
    /// packets. What packets contain stays, and so does a frame that the program itself reads. Frames then take no fast path.
    pub fn address_map(mut self, map: Arc<dyn AddressMap>) -> Self {
        self.addresses = Some(map);
        self
    }

    /// Sets the limits of the flow table.
    pub fn flow_limits(mut self, limits: FlowLimits) -> Self {
        self.flows = limits;
        self
    }

    /// Analyses only the segments that pass the filter.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Analyses only the segments that pass a filter that can be replaced during the analysis, instead of [`filter`](Self::filter).
    /// Flows that the new one filters stay until their idle timeout.
    pub fn replaceable_filter(mut self, filter: Replaceable<Filter>) -> Self {
        self.replaceable_filter = Some(filter);
        self
    }

    /// Analyses only the frames that this expression selects.
    #[cfg(feature = "bpf")]
    pub fn bpf(mut self, bpf: crate::Bpf) -> Self {
        self.bpf = Some(bpf);
        self
    }

    /// Sets the number of workers of [`Analyzer::analyze`] (default 1: everything runs in the caller's thread, and
    /// frames are not copied); 0 for one on each processor.
    ///
    /// Two or more workers are threads that share a ring of [blocks](crate::Block). The worker that is ahead fills
    /// the next block and finds the worker of each frame: the hash of a flow's [key](crate::FlowKey) assigns it to one. The
    /// caller's thread merges the events. More workers than cores only add work.
    ///
    /// The caller's thread analyses the first 2,048 frames alone. Frames [in memory](crate::Source::lends) stay there until enough
    /// of them yield a segment that the protocol analyses, with two workers half of them and with five or more an eighth: of
    /// others, threads gain nothing. An event counts as a segment more if its text is written, and as one less if the caller's thread frees
    /// its memory. Workers start at once with [`Overflow::Drop`], and when a source waits for frames.
    ///
    /// The caller's thread frees events that the sink receives by value. With many events, threads then contend in
    /// the allocator. [`Analyzer::analyze_ref`], [`Analyzer::analyze_map`] and [`Analyzer::analyze_text`] avoid that.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZeroUsize::new(workers).unwrap_or_else(processors);
        self
    }

    /// States how many processors the workers have (default: as many as the system gives the program). State fewer for several analyses at
    /// the same time. It limits nothing, and never decides what is reported: it decides when frames [in memory](crate::Source::lends) move to
    /// the workers, and whether five workers or more read a [file](crate::Source::chunks) at once, which they do with a processor each.
    /// 0 is the default.
    pub fn processors(mut self, processors: usize) -> Self {
        self.processors = NonZeroUsize::new(processors);
        self
    }

    /// Sets the size of a block in bytes (default 256 KiB for each worker, at most 4 MiB). Only several workers use blocks;
    /// with a size, they start after one block of frames of 128 bytes, whatever the frames are.
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = Some(bytes);
        self
    }

    /// Sets the policy for a worker that cannot keep up. The default depends on the source: [`Overflow::Drop`] if it is
    /// [live](crate::Source::is_live), else [`Overflow::Wait`]. A single worker never drops frames.
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = Some(overflow);
        self
    }

    /// Sets the seed that assigns flows to partitions. The default is random for [live](crate::Source::is_live) sources and for
    /// [pushed](Analyzer::push) frames. For other sources it is fixed and known, so that an analysis repeats exactly: set a seed
    /// that the author of a hostile file cannot know.
    pub fn hash_seed(mut self, seed: HashSeed) -> Self {
        self.hash_seed = Some(seed);
        self
    }

    /// Sets the handle that stops the analysis. Several analyzers can share one.
    pub fn cancel_token(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Builds the analyzer.
    pub fn build(self) -> Analyzer<P> {
        let clock = PacketClock::new(self.flows.idle_timeout);
        let seeds = Seeds::new(self.hash_seed);
        let partitions = FlowPartitions::new(&self.flows, seeds.live);
        let decoder = match self.addresses {
            Some(map) => Decoder::new(self.decode).with_address_map(map),
            None => Decoder::new(self.decode),
        };
        #[allow(unused_mut, reason = "unless the feature is on")]
        let mut ingest =
            Ingest::new(decoder, self.filter, clock).with_replaceable_filter(self.replaceable_filter);
        #[cfg(feature = "bpf")]
        {
            ingest.bpf = self.bpf;
        }
        Analyzer {
            router: EventRouter { shared_state: self.protocol.shared_state(), events: 0 },
            ingest,
            flows: FlowTable::new(self.protocol, self.flows, partitions),
            workers: self.workers,
            processors: self.processors,
            block_bytes: self.block_bytes,
            overflow: self.overflow,
            seeds,
            dropped: Dropped::default(),
            cancel: self.cancel,
            snapshots: SnapshotHandle::default(),
            has_pushed: false,
        }
    }
}
