//! What a command line means: raw arguments become validated plans, which own the constructors. Options without effect are
//! refused, with what to do.

mod analysis;
mod baseline;
mod captures;
mod databases;
mod event_run;
mod events;
mod extract;
mod fields;
mod follow;
#[cfg(unix)]
mod hosts_join;
mod inputs;
mod key_log;
#[cfg(unix)]
mod live;
#[cfg(unix)]
mod live_output;
mod output;
mod p0f;
mod pcap;
mod program_list;
mod refusals;
#[cfg(unix)]
mod reload;
mod select;
#[cfg(unix)]
mod watch;
mod watch_files;

pub(crate) use self::analysis::AnalysisPlan;
pub(crate) use self::baseline::{BaselineFile, BeyondBaseline};
pub(crate) use self::captures::{
    ExplainPlan, FindingsPlan, FingerprintsPlan, HostsPlan, InventoryPlan, LearnPlan, ReportPlan, TopPlan,
};
pub(crate) use self::databases::{read_databases, signatures};
pub(crate) use self::extract::{
    Decoding, ExtractPlan, ExtractWriter, ExtractedPackets, FrameFilter, create_extract,
};
pub(crate) use self::follow::{DiffPlan, FollowPlan, host_limits};
#[cfg(unix)]
pub(crate) use self::hosts_join::HostsJoinPlan;
pub(crate) use self::inputs::{InputFile, Inputs};
#[cfg(unix)]
pub(crate) use self::key_log::GrowingKeyLogs;
pub(crate) use self::key_log::KeyLog;
#[cfg(target_os = "linux")]
pub(crate) use self::live::live_outputs;
#[cfg(unix)]
pub(crate) use self::live::{LiveExtractPlan, LiveMessages, LivePlan, StatePlan};
#[cfg(unix)]
pub(crate) use self::live_output::LiveOutputPlan;
#[cfg(target_os = "linux")]
pub(crate) use self::output::target;
pub(crate) use self::output::{DocumentPlan, OutputContent, OutputPlan};
pub(crate) use self::p0f::{P0fFilePlan, P0fPlan};
pub(crate) use self::pcap::PcapPlan;
pub(crate) use self::program_list::ProgramList;
#[cfg(unix)]
pub(crate) use self::reload::{Configuration, ReloadPlan, Reread};
#[cfg(unix)]
pub(crate) use self::watch::WatchPlan;
#[cfg(unix)]
pub(crate) use self::watch_files::LoadedLists;
pub(crate) use self::watch_files::WatchFiles;
