//! Analysis of live traffic: open ▸ drop privileges ▸ start ▸ run ▸ finish.
//!
//! Privileges belong to threads: everything that needs them is opened before they are dropped, and threads start afterwards.

mod alarms;
mod event_counters;
mod extract;
mod frames;
mod health;
mod hosts;
mod key_logs;
mod latency;
mod measures;
mod once;
mod output;
mod outputs;
mod records;
mod reload;
mod report;
mod service_manager;
mod started;
mod state;
mod status;
#[cfg(target_os = "linux")]
mod test_alert;
mod view;
mod watch;

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::sync::Arc;

use huginn_net_live::{InterfaceNames, LiveError, LiveSource, is_pattern};

use self::started::Sensor;
use self::state::Restored;
pub(crate) use self::state::read_hosts;
#[cfg(target_os = "linux")]
pub(crate) use self::test_alert::{TestDelivery, send_test_alert};
use crate::control::Sockets;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{LiveTarget, Messages, OutputQueue};
use crate::paths::name_of;
use crate::plan::{BaselineFile, LiveMessages, LivePlan};
use crate::privileges::{self, Dropped};
use crate::signals::PendingSignals;
use crate::state_lock::StateLock;
use crate::stderr;
use crate::views::terminal::Feed;

/// Captures until a signal, the end of the analysis, or a failure.
pub(crate) fn run(mut plan: LivePlan) -> Result<Outcome, Failure> {
    let version = plan.state.as_ref().and_then(state::version);
    let hosts = plan.analyzer.shared_state_mut();
    let restored = plan.state.as_ref().map(|plan| state::restore(plan, hosts)).transpose()?.flatten();
    let opened = Opened::new(&plan)?;
    let rights = privileges::drop(&plan.policy)?;
    check_places(&plan)?;
    let _lock = plan.state.as_ref().map(|plan| StateLock::take(&plan.path)).transpose()?;
    // Another sensor ended meanwhile, and wrote the state after it was read.
    if let Some(state) = &plan.state
        && state::version(state) != version
    {
        return Err(Failure::StateInUse { path: name_of(&state.path) });
    }
    let standard_error = StandardError::start(&plan)?;
    standard_error.report_start(plan.messages, &rights, &opened.sockets);
    let report = |restored: Restored| restored.report(plan.messages.has_totals, &standard_error.messages);
    let alarms = restored.map(report).unwrap_or_default();
    let (sensor, analyzer, sources) = Sensor::start(plan, opened, standard_error, alarms)?;
    sensor.run(analyzer, sources)
}

/// Checks what a capture needs, without capturing: interfaces, rights, and the places of output. Ports and sockets are not tried, since a
/// running sensor may have them.
pub(crate) fn check(plan: &LivePlan) -> Result<Outcome, Failure> {
    for interfaces in inputs(&plan.interfaces) {
        match LiveSource::open(&interfaces, &plan.capture) {
            Ok(mut source) => {
                // A frame would start the threads of streams, which keep rights.
                source.take_notices().iter().for_each(|notice| stderr::report(notice));
            }
            Err(LiveError::Open { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
                stderr::report(&format_args!(
                    "{}: another program has the port, perhaps the sensor",
                    interfaces.join(", ")
                ));
            }
            Err(error) => return Err(with_fix(error)),
        }
    }
    privileges::drop(&plan.policy)?;
    check_places(plan)?;
    plan.outputs.iter().try_for_each(|output| output::check_rights(&output.target))?;
    if let Some(message) = plan.state.as_ref().map(state::check).transpose()?.flatten() {
        stderr::report(&format_args!("{message}: 'live' starts without hosts"));
    }
    if plan.messages.has_totals {
        stderr::report(&format_args!("options, files and rights are good: {}", plan.interfaces.join(", ")));
    }
    Ok(Outcome::Complete)
}

/// The names of each input: patterns, and the names of interfaces beside them, are one.
fn inputs(interfaces: &[String]) -> Vec<Vec<&str>> {
    let has_patterns = interfaces.iter().any(|name| is_pattern(name));
    let (together, others): (Vec<&str>, Vec<&str>) =
        interfaces.iter().map(|name| &**name).partition(|name| has_patterns && !name.contains(':'));
    let together = (!together.is_empty()).then_some(together);
    together.into_iter().chain(others.into_iter().map(|name| vec![name])).collect()
}

/// Checks what is written on request or at the end only. Call it after privileges are dropped.
fn check_places(plan: &LivePlan) -> Result<(), Failure> {
    hosts::check_rights(plan.hosts_file.as_deref())?;
    plan.extract.as_ref().map_or(Ok(()), extract::check_rights)?;
    plan.state.as_ref().map_or(Ok(()), state::check_rights)?;
    plan.baseline.as_ref().map_or(Ok(()), BaselineFile::check)
}

/// Says how to get the rights that are missing.
fn with_fix(error: LiveError) -> Failure {
    match error {
        LiveError::PermissionDenied { .. } => {
            Failure::NoRights { source: error, fix: privileges::how_to_get_rights() }
        }
        error => error.into(),
    }
}

fn open_sources(plan: &LivePlan) -> Result<Vec<LiveSource>, Failure> {
    let sources = match plan.queues {
        NonZeroUsize::MIN => LiveSource::open(&plan.interfaces, &plan.capture).map(|source| vec![source]),
        queues => LiveSource::open_queues(&plan.interfaces, &plan.capture, queues),
    };
    sources.map_err(with_fix)
}

/// What needs privileges to be opened.
struct Opened {
    signals: PendingSignals,
    /// One source for each queue.
    sources: Vec<LiveSource>,
    sockets: Sockets,
}

impl Opened {
    fn new(plan: &LivePlan) -> Result<Self, Failure> {
        let signals = PendingSignals::new().map_err(starting("signal handling"))?;
        let sources = open_sources(plan)?;
        let sockets = Sockets::bind(&plan.control)?;
        Ok(Self { signals, sources, sockets })
    }
}

/// Messages on standard error, or in the terminal view.
struct StandardError {
    messages: Messages,
    queue: OutputQueue,
    feed: Option<Arc<Feed>>,
}

impl StandardError {
    fn start(plan: &LivePlan) -> Result<Self, Failure> {
        let (messages, queue) = Messages::start().map_err(starting("the message thread"))?;
        let feed = plan.view.clone().map(|zone| Arc::new(Feed::new(zone)));
        // A message printed on the screen of the view would stay there.
        if let Some(feed) = feed.clone() {
            messages.redirect(Some(Box::new(move |message| feed.add_message(message))));
        }
        Ok(Self { messages, queue, feed })
    }

    /// Prints the dropped privileges, warnings and the metrics address.
    fn report_start(&self, what: LiveMessages, rights: &Dropped, sockets: &Sockets) {
        if what.is_verbose {
            self.messages.print(rights);
        }
        if let Some(warning) = rights.warning() {
            self.messages.warn(&warning);
        }
        if let Some(url) = sockets.metrics_url().filter(|_| what.has_totals) {
            self.messages.print(&format_args!("metrics at {url}"));
        }
    }
}

fn starting(doing: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |source| Failure::Start { doing, source }
}

/// The names of interfaces that our own formats have: all if there are several, else none.
fn several(interfaces: &InterfaceNames) -> InterfaceNames {
    if interfaces.are_several() { interfaces.clone() } else { InterfaceNames::default() }
}

/// Whether the view or an output is on a terminal, whose end ends the program.
fn is_on_terminal(plan: &LivePlan) -> bool {
    let is_stdout = plan.outputs.iter().any(|output| output.target == LiveTarget::Stdout);
    plan.view.is_some() || is_stdout && io::stdout().is_terminal()
}
