//! The captures of a command.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

use super::Category;
use super::values::{Limit, parse_limit};

/// The capture files of a command.
#[derive(Args, Debug)]
pub(crate) struct InputArguments {
    /// Captures: files (pcap or pcapng, also .gz or .zst), directories (all captures in them and below them, sorted by name;
    /// other files are skipped), '@LIST' (the files that LIST names, one on each line), or '-' (standard input)
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: InputLimits,
}

/// Limits what is read of captures.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = Category::INPUT.heading)]
pub(crate) struct InputLimits {
    /// Stop after this many packets
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    #[command(flatten)]
    pub(crate) decompression: DecompressionArguments,
}

/// Limits what a compressed capture can expand to.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = Category::INPUT.heading)]
pub(crate) struct DecompressionArguments {
    /// End a .gz or .zst capture that expands to more than N times its length, beyond the first 64 MiB; 'none': no limit
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_limit)]
    max_compression_ratio: Limit,
}

impl DecompressionArguments {
    pub(crate) fn max_ratio(self) -> Option<NonZeroU32> {
        self.max_compression_ratio.get().and_then(NonZeroU32::new)
    }
}

/// Says which captures are of one network.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = Category::INPUT.heading)]
pub(crate) struct NetworkArguments {
    /// Take equal private, link-local and loopback addresses of all captures for one host. Without it, captures are of one network if
    /// they share a MAC address or two servers on the Internet, or if less than a day lies between them and their names begin alike
    #[arg(long)]
    pub(crate) merge: bool,

    /// As --merge, and name the joined network
    #[arg(long, value_name = "NAME", conflicts_with = "merge")]
    pub(crate) network: Option<String>,
}
