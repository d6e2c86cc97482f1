//! The threads of a capture: started, run and finished.

use std::sync::Arc;
use std::time::Instant;

use huginn_net::HuginnNet;
use huginn_net::core::{Amount, FirstFrames};
use huginn_net::p0f::P0fAnswer;
use huginn_net_live::{LiveError, LiveSource, NoticeKind, Stopper};
use tokio::sync::oneshot;

use super::alarms::SavedAlarm;
use super::extract::{Extract, ExtractStatus};
use super::hosts::HostsWriter;
use super::key_logs::KeyLogReader;
use super::measures::Measures;
use super::output::LiveEvents;
use super::outputs::{Outputs, Setting};
use super::reload::{Reload, ReloadOutcome, Reloader};
use super::report::{Ticker, report_totals, write_counters};
use super::service_manager::ServiceManager;
use super::state::{StateKeeper, StateRequests};
use super::status::LiveStatus;
use super::view::LiveView;
use super::{Opened, StandardError, is_on_terminal, several, starting};
use crate::blind_spots::ExampleFiles;
use crate::control::{ControlServer, Readings, Sockets};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Messages;
use crate::plan::{BaselineFile, BeyondBaseline, LiveMessages, LivePlan, ReloadPlan};
use crate::signals::{PendingSignals, Signal, SignalThread};

/// A capture whose threads run, but for the analysis itself.
pub(super) struct Sensor {
    interfaces: Vec<String>,
    count: Option<u64>,
    wants: LiveMessages,
    baseline: Option<BaselineFile>,
    state: Option<StateKeeper>,
    standard_error: StandardError,
    outputs: Arc<Outputs>,
    measures: Measures,
    extract: Option<Extract>,
    status: Arc<LiveStatus>,
    stopper: Stopper,
    view: Option<LiveView>,
    signals: SignalThread,
    server: Option<ControlServer>,
    manager: Arc<ServiceManager>,
    ticker: Ticker,
    key_logs: Option<KeyLogReader>,
}

impl Sensor {
    /// Starts all threads but those of the analysis.
    pub(super) fn start(
        plan: LivePlan,
        opened: Opened,
        standard_error: StandardError,
        alarms: Vec<SavedAlarm>,
    ) -> Result<(Self, HuginnNet, Vec<LiveSource>), Failure> {
        let Opened { signals, mut sources, sockets } = opened;
        let count = sources.len();
        let source = sources.first_mut().ok_or(LiveError::NoInterface)?;
        let ends_with_terminal = is_on_terminal(&plan);
        let (analyzer, messages) = (plan.analyzer, &standard_error.messages);
        let can_change = plan.reload.as_ref().is_some_and(ReloadPlan::has_configuration);
        let stopper = source.stopper();
        let names = source.interface_names();
        let setting = Setting {
            interfaces: names.clone(),
            has_view: plan.view.is_some(),
            messages: messages.clone(),
            stopper: Some(stopper.clone()),
        };
        let outputs = Outputs::open(plan.outputs, can_change, setting)?;
        let measures = Measures::new(plan.watch, messages)?;
        measures.alarms.restore(alarms);
        let named = several(&names);
        let extract = plan.extract.map(|plan| Extract::start(plan, count, names, named, messages.clone()));
        let extract = extract.transpose()?;
        let extract_status = extract.as_ref().map(Extract::status);
        let status = Arc::new(status(
            &analyzer,
            source,
            Arc::clone(&outputs),
            measures.clone(),
            messages.clone(),
            extract_status,
        ));
        let hosts = HostsWriter::start(Arc::clone(&status), plan.hosts_file, messages.clone())
            .map_err(starting("the host profile thread"))?;
        let reload = plan.reload.map(|plan| Reload {
            plan,
            watched: Arc::clone(&measures.watched),
            outputs: Arc::clone(&outputs),
            counters: Arc::clone(&measures.reloads),
            stopper: stopper.clone(),
            messages: messages.clone(),
        });
        let reloader = reload.map(Reload::start).transpose()?;
        let state = plan.state.map(|plan| StateKeeper::start(plan, Arc::clone(&status), messages.clone()));
        let (state, state_requests) =
            state.transpose().map_err(starting("the thread that writes the state"))?.unzip();
        let on_hangup = OnHangup { outputs: Arc::clone(&outputs), reloader, state: state_requests };
        let on_hangup = Arc::new(on_hangup);
        let signals = watch_signals(signals, ends_with_terminal, &stopper, Arc::clone(&on_hangup), hosts)?;
        let server = serve(sockets, &status, on_hangup)?;
        let key_logs = plan.key_logs.map(|key_logs| KeyLogReader::start(key_logs, messages.clone()));
        let key_logs = key_logs.transpose()?;
        let manager = Arc::new(ServiceManager::from_env());
        let (of_ticker, to) = (Arc::clone(&manager), messages.clone());
        let ticker = Ticker::start(Arc::clone(&status), of_ticker, plan.stats_interval, to)
            .map_err(starting("the statistics thread"))?;
        for source in &mut sources {
            let messages = messages.clone();
            let wants_changes = plan.messages.has_totals;
            source.on_notice(move |notice| match notice.kind {
                // Containers come and go.
                NoticeKind::Joined | NoticeKind::Left | NoticeKind::MoreChanges { .. } if wants_changes => {
                    messages.print(notice);
                }
                NoticeKind::Joined | NoticeKind::Left | NoticeKind::MoreChanges { .. } => {}
                _ => _ = messages.warn(notice),
            });
        }
        if plan.messages.has_totals && plan.view.is_none() {
            messages.print(&format_args!("watching {}", plan.interfaces.join(", ")));
        }
        let view = match (plan.view, standard_error.feed.clone()) {
            (Some(zone), Some(feed)) => {
                feed.set_source(plan.interfaces.join(", "));
                Some(LiveView::start(zone, feed, &status, &stopper)?)
            }
            _ => None,
        };
        let sensor = Self {
            interfaces: plan.interfaces,
            count: plan.count,
            wants: plan.messages,
            baseline: plan.baseline,
            state,
            standard_error,
            outputs,
            measures,
            extract,
            status,
            stopper,
            view,
            signals,
            server,
            manager,
            ticker,
            key_logs,
        };
        Ok((sensor, analyzer, sources))
    }

    /// Analyses the traffic, then stops the threads and reports what was lost.
    pub(super) fn run(self, mut analyzer: HuginnNet, sources: Vec<LiveSource>) -> Result<Outcome, Failure> {
        let Self { status, measures, outputs, view, manager, standard_error, .. } = self;
        let count = self.count.unwrap_or(u64::MAX);
        let extract = self.extract;
        let ring = |index| extract.as_ref().and_then(|extract| extract.ring(index));
        let sources = sources.into_iter().enumerate();
        let sources = sources
            .map(|(index, source)| FirstFrames::new(status.monitor(source).with_ring(ring(index)), count))
            .collect();
        manager.notify_ready(&self.interfaces, &standard_error.messages);
        let events = LiveEvents {
            outputs: &outputs,
            counters: &measures.counters,
            watched: &measures.watched,
            alarms: &measures.alarms,
            extract: extract.as_ref(),
            latency: &measures.latency,
            stats: status.capture_stats(),
            stopper: &self.stopper,
            view: view.as_ref(),
        };
        let outcome = events.analyze(&mut analyzer, sources);
        manager.notify_stopping();
        let messages = &standard_error.messages;
        if let Some(view) = view {
            view.end(messages);
        }
        status.end(&analyzer);
        if let Some(key_logs) = self.key_logs {
            key_logs.stop(!self.wants.has_totals, self.wants.is_verbose);
        }
        self.ticker.stop();
        measures.alarms.finish();
        outputs.write_records(Instant::now(), true, &status.counters());
        let hosts = analyzer.shared_state();
        // Before the outputs: the service manager may not wait for readers that are slow.
        let state = self.state.map_or(Ok(()), |state| state.finish(hosts, messages));
        let lost_packets = extract.map_or(0, |extract| extract.finish().packets_dropped);
        // The server meanwhile answers that the capture has ended.
        let lost = outputs.finish();
        if let Some(server) = self.server {
            server.stop();
        }
        drop(self.signals);
        report_end(self.wants, &status, &analyzer, (lost, outcome.is_err()), messages);
        if lost_packets > 0 {
            messages.error(&format_args!("lost {} of --extract", Amount(lost_packets, "packet(s)")));
        }
        if let Err(error) = &outcome {
            messages.error(error);
        }
        if let Some(beyond) = BeyondBaseline::of(hosts) {
            messages.warn(&beyond);
        }
        let baseline = self.baseline.map_or(Ok(()), |file| file.write(hosts));
        for error in [&baseline, &state].into_iter().filter_map(|written| written.as_ref().err()) {
            messages.error(error);
        }
        standard_error.queue.finish();
        let is_written = baseline.is_ok() && state.is_ok() && lost == 0 && lost_packets == 0;
        // The service manager restarts a sensor that failed, whatever it found.
        if outcome.is_err() || !is_written {
            return Ok(Outcome::Failed);
        }
        // A hit that a limit left out is one, too.
        Ok(Outcome::Complete.with_hit(measures.watched.count() > 0 || hosts.matches_suppressed() > 0))
    }
}

/// Prints counters or totals, and what was lost. `has_failed`: whether the capture did.
fn report_end(
    wants: LiveMessages,
    status: &LiveStatus,
    analyzer: &HuginnNet,
    (lost, has_failed): (u64, bool),
    messages: &Messages,
) {
    if wants.has_stats {
        let mut examples = ExampleFiles::default();
        examples.assign(analyzer, None);
        write_counters(&status.counters(), Some(examples.locate(analyzer)), messages);
    } else if wants.has_totals {
        report_totals(&status.counters(), has_failed, messages);
    }
    if lost > 0 {
        messages.error(&format_args!("lost {}: could not write", Amount(lost, "event(s)")));
    }
}

fn status(
    analyzer: &HuginnNet,
    source: &LiveSource,
    outputs: Arc<Outputs>,
    measures: Measures,
    messages: Messages,
    extract: Option<ExtractStatus>,
) -> LiveStatus {
    let snapshots = analyzer.snapshot_handle();
    let stopper = source.stopper();
    snapshots.set_waker(move || stopper.wake());
    LiveStatus::new(snapshots, source.stats(), outputs, measures, messages, extract)
}

/// What SIGHUP and `huginn-net reload` do.
struct OnHangup {
    outputs: Arc<Outputs>,
    reloader: Option<Reloader>,
    state: Option<StateRequests>,
}

impl OnHangup {
    fn run(&self) {
        self.reopen();
        self.reloader.iter().for_each(Reloader::request);
    }

    /// The same, and returns where the outcome of the reload comes.
    fn run_for_outcome(&self) -> oneshot::Receiver<ReloadOutcome> {
        self.reopen();
        if let Some(reloader) = &self.reloader {
            return reloader.request_outcome();
        }
        let (outcome, received) = oneshot::channel();
        // The receiver is here.
        let _ = outcome.send(Ok(()));
        received
    }

    fn reopen(&self) {
        self.outputs.reopen();
        self.state.iter().for_each(StateRequests::request);
    }
}

fn watch_signals(
    pending_signals: PendingSignals,
    ends_with_terminal: bool,
    stopper: &Stopper,
    on_hangup: Arc<OnHangup>,
    hosts: HostsWriter,
) -> Result<SignalThread, Failure> {
    let stopper = stopper.clone();
    let on_signal = move |signal| match signal {
        Signal::Stop => stopper.stop(),
        // SIGHUP on a terminal means that the terminal is gone.
        Signal::Reopen if ends_with_terminal => stopper.stop(),
        Signal::Reopen => on_hangup.run(),
        Signal::Dump => hosts.request(),
    };
    pending_signals.watch(on_signal).map_err(starting("the signal thread"))
}

fn serve(
    sockets: Sockets,
    status: &Arc<LiveStatus>,
    on_hangup: Arc<OnHangup>,
) -> Result<Option<ControlServer>, Failure> {
    let hosts = Arc::clone(status);
    let (counters, health) = (Arc::clone(status), Arc::clone(status));
    let query_host = Arc::new(move |ip| {
        hosts
            .query_hosts(move |hosts| P0fAnswer::from_profile(hosts.profile(ip)))
            .or_else(|| (!hosts.has_ended()).then_some(P0fAnswer::NoMatch))
    });
    let readings = Readings {
        counters: Box::new(move || counters.counters()),
        health: Box::new(move || health.health()),
    };
    let reload = Arc::new(move || on_hangup.run_for_outcome());
    sockets.serve(query_host, readings, reload).map_err(starting("the control server"))
}
