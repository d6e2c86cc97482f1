//! What the command line of p0f means.

use std::path::PathBuf;
use std::time::Duration;

use huginn_net::core::FlowLimits;
use huginn_net::hosts::HostLimits;
use huginn_net::{Configure, HuginnNet};
#[cfg(unix)]
use huginn_net_live::{LiveOptions, interfaces};

use super::AnalysisPlan;
#[cfg(unix)]
use super::LiveOutputPlan;
use super::event_run::P0F_HOST_IDLE;
#[cfg(unix)]
use super::live::{LiveParts, LivePlan};
#[cfg(unix)]
use super::output::OutputContent;
use crate::args::{DatabaseArguments, P0fArguments};
use crate::failure::Failure;
#[cfg(unix)]
use crate::output::{Target, TextFormat, TextOptions};
use crate::stderr;

/// The plan of `p0f`.
pub(crate) enum P0fPlan {
    /// Lists the interfaces.
    List,
    File(Box<P0fFilePlan>),
    #[cfg(unix)]
    Live(Box<P0fLivePlan>),
    /// Starts this command line without -d in the background.
    #[cfg(unix)]
    Daemon(Box<P0fArguments>),
}

/// A capture file: blocks on standard output, and log lines in a file.
pub(crate) struct P0fFilePlan {
    pub(crate) path: PathBuf,
    pub(crate) log: Option<PathBuf>,
    pub(crate) analyzer: HuginnNet,
}

/// An interface, captured as `live` does.
#[cfg(unix)]
pub(crate) struct P0fLivePlan {
    pub(crate) live: LivePlan,
    /// The log and the user and group that it is given to: p0f opens it as root, this program as the user.
    pub(crate) log_owner: Option<(PathBuf, (u32, u32))>,
}

impl P0fPlan {
    pub(crate) fn new(args: P0fArguments) -> Result<Self, Failure> {
        if args.list {
            return Ok(Self::List);
        }
        let Some(path) = args.read.clone() else { return Self::of_interface(args) };
        if args.user.is_some() {
            stderr::report(&"-u has no effect on files: no privileges are needed");
        }
        let plan = P0fFilePlan { path, analyzer: file_analyzer(&args)?, log: args.log };
        Ok(Self::File(Box::new(plan)))
    }

    #[cfg(not(unix))]
    fn of_interface(_args: P0fArguments) -> Result<Self, Failure> {
        Err(Failure::Usage("live capture needs Linux or another Unix".into()))
    }

    #[cfg(unix)]
    fn of_interface(args: P0fArguments) -> Result<Self, Failure> {
        if args.max.is_some() || args.timeouts.is_some() || args.api_limit.is_some() {
            stderr::report(
                &"-m, -t and -S have no effect on live capture: its tables and connections have limits of their own",
            );
        }
        if args.daemon {
            return Ok(Self::Daemon(Box::new(args)));
        }
        let owner = crate::privileges::owner(args.user.as_deref())?;
        let log_owner = args.log.clone().zip(owner);
        Ok(Self::Live(Box::new(P0fLivePlan { live: live_plan(args)?, log_owner })))
    }
}

/// The analysis of p0f, with the database and the filter expression behind the options.
fn analysis(args: &P0fArguments) -> Result<AnalysisPlan, Failure> {
    let databases = DatabaseArguments { db: args.db.clone(), clients: Vec::new() };
    let expression = Some(args.expression.join(" ")).filter(|expression| !expression.is_empty());
    Ok(AnalysisPlan::with_databases(&databases)?.limited_to_p0f().filter_by(expression))
}

/// The analyzer of a file, with the limits of -m and -t.
fn file_analyzer(args: &P0fArguments) -> Result<HuginnNet, Failure> {
    let mut hosts = HostLimits::default().idle_timeout(P0F_HOST_IDLE);
    let mut flows = FlowLimits::default().syn_lifetime(Duration::from_secs(30)).syn_lifetime_as_p0f(true);
    if let Some(limits) = args.max {
        flows.max_flows = limits.connections;
        hosts.max_hosts = limits.hosts;
    }
    if let Some(limits) = args.timeouts {
        flows.idle_timeout = Duration::from_secs(u64::try_from(limits.connections).unwrap_or(u64::MAX));
        let minutes = u64::try_from(limits.hosts).unwrap_or(u64::MAX);
        hosts.idle_timeout = Duration::from_secs(minutes.saturating_mul(60));
    }
    let plan = analysis(args)?.configure(|builder| builder.hosts(hosts).flow_limits(flows));
    plan.build_for_files(None)
}

/// The plan of `live` that does the same.
#[cfg(unix)]
fn live_plan(args: P0fArguments) -> Result<LivePlan, Failure> {
    let analysis = analysis(&args)?;
    let interface = match args.interface {
        Some(name) => name,
        None => first_interface()?,
    };
    let mut capture = LiveOptions::default();
    capture.promiscuous = args.promiscuous;
    let format = if args.log.is_some() { TextFormat::P0fLog } else { TextFormat::P0fBlocks };
    let content = OutputContent::Text(TextOptions::new(format));
    let output = LiveOutputPlan::of_target(args.log.map_or(Target::Stdout, Target::File), content)?;
    LivePlan::from_parts(
        analysis,
        LiveParts {
            interfaces: vec![interface],
            capture,
            outputs: vec![output],
            // With the permissions that p0f gives it.
            p0f_socket: args.api.map(|path| (path, 0o666)),
            user: args.user,
            sandbox: true,
            ..LiveParts::default()
        },
    )
}

/// The first interface that is up, other than the loopback, as p0f chooses.
#[cfg(unix)]
fn first_interface() -> Result<String, Failure> {
    let up = interfaces()?.into_iter().find(|interface| interface.is_up && !interface.is_loopback);
    let up = up.map(|interface| interface.name);
    up.ok_or_else(|| Failure::Usage("no interface is up: name one with -i".into()))
}
