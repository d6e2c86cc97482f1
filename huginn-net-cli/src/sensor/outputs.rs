//! The outputs of live traffic: each has its own selection, form, queue and counters. They change when the configuration does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal};
use std::mem;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use huginn_net::core::{Amount, Replaceable};
use huginn_net::{Event, Observation, Timestamp};
use huginn_net_live::{InterfaceNames, Stopper};

use super::frames::Frame;
use super::latency::is_late;
use super::once::Once;
use super::records::Records;
use super::several;
use crate::args::OptionValues;
use crate::control::counters::{LiveCounters, NamedOutputCounters, RepeatCounters};
use crate::failure::Failure;
use crate::limits::EVENTS_FLUSH_TIMEOUT;
use crate::output::{
    DayHeadings, EventSender, LiveTarget, LiveZeekLogs, Messages, OutputCounters, OutputError, OutputHandle,
    OutputQueue, Renderer, Rotation, Selected, TextFormat, TextOptions, with_number,
};
#[cfg(feature = "parquet")]
use crate::output::{StampedFiles, TableFiles};
use crate::paths::{PathName, check_directory_writable};
use crate::plan::{LiveOutputPlan, OutputContent};

/// Size limit of the event queue of an output, in bytes: tens of thousands of events of a few hundred bytes each. They bridge a
/// stalled reader.
const OUTPUT_QUEUE_BYTES: usize = 16 << 20;

/// Events that wait for the thread that writes Parquet files or Zeek's logs: a few seconds of a busy network.
const QUEUED_EVENTS: usize = 1 << 16;

/// All outputs.
pub(super) struct Outputs {
    current: Replaceable<Vec<Member>>,
    /// Whether they can be replaced.
    can_change: bool,
    has_tables: bool,
    queues: Mutex<Queues>,
    setting: Setting,
}

/// What all outputs have in common.
pub(super) struct Setting {
    /// Names of the interfaces, by their index.
    pub(super) interfaces: InterfaceNames,
    /// Whether the terminal shows events itself.
    pub(super) has_view: bool,
    pub(super) messages: Messages,
    /// What stops the capture, if there is one.
    pub(super) stopper: Option<Stopper>,
}

/// The queues of the outputs.
#[derive(Default)]
struct Queues {
    open: Vec<OpenOutput>,
    /// Outputs that were removed, and still write what waits.
    ending: Vec<OpenOutput>,
    /// The number of the newest output.
    last_id: u32,
    /// Counters of outputs that were removed and have ended.
    removed: OutputCounters,
    /// No output is added any more.
    has_ended: bool,
}

/// An output, from when it is opened until it is removed.
struct OpenOutput {
    name: String,
    target: LiveTarget,
    rotation: Rotation,
    values: OptionValues,
    state: OutputState,
    /// `None` while it ends.
    queue: Option<OutputQueue>,
}

/// What stays when an output gets another form.
#[derive(Clone)]
struct OutputState {
    id: u32,
    queue: OutputHandle,
    once: Option<Arc<Once>>,
    records: Option<Arc<Records>>,
}

/// How one output has events.
struct Output {
    state: OutputState,
    form: Form,
}

enum Form {
    Text {
        renderer: Box<Renderer>,
        /// What the renderer was made of.
        options: Box<TextOptions>,
        /// Headings of days, if the text has some.
        days: Option<Mutex<DayHeadings>>,
        /// Whether nothing is written, because the terminal has a view.
        is_hidden: bool,
        /// Whether a terminal shows the text.
        on_terminal: bool,
    },
    /// Parquet files, or Zeek's logs.
    Table {
        sender: EventSender,
        selected: Box<Selected>,
        /// Whether the ends of connections come even if they are not selected: they complete rows.
        has_ends: bool,
        /// Names of the interfaces, by their index; empty unless events name theirs.
        interfaces: InterfaceNames,
    },
}

/// An output among the others.
pub(super) struct Member {
    output: Arc<Output>,
    /// Whether the output before it has the same text for an event.
    repeats_previous: bool,
}

/// Outputs of a new configuration, which are open and not used yet.
pub(super) struct PreparedOutputs {
    plans: Vec<LiveOutputPlan>,
    /// The queues of those that are new, by their place.
    opened: Vec<Option<OutputQueue>>,
}

impl Outputs {
    /// Opens all outputs, each with a thread that writes. `can_change`: whether the configuration can change them.
    pub(super) fn open(
        plans: Vec<LiveOutputPlan>,
        can_change: bool,
        setting: Setting,
    ) -> Result<Arc<Self>, Failure> {
        let mut queues = Queues::default();
        let outputs: Result<Vec<_>, Failure> =
            plans.into_iter().map(|plan| queues.open(plan, None, &setting).map(Arc::new)).collect();
        let outputs = outputs?;
        let has_tables = outputs.iter().any(|output| output.is_table());
        let current = Replaceable::new(members(outputs));
        let outputs = Self { current, can_change, has_tables, queues: Mutex::new(queues), setting };
        outputs.queues().open.iter().for_each(|open| outputs.stop_with_readers(open));
        Ok(Arc::new(outputs))
    }

    /// Stops the capture once the readers of all outputs are gone.
    fn stop_with_readers(&self, open: &OpenOutput) {
        let Some(queue) = &open.queue else { return };
        let (current, stopper) = (self.current.clone(), self.setting.stopper.clone());
        queue.on_close(move || {
            if are_closed(&current.get()) {
                stopper.iter().for_each(Stopper::stop);
            }
        });
    }

    /// Whether events go to a table.
    pub(super) fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// Reads the outputs for each event.
    pub(super) fn reader(&self) -> OutputReader {
        if self.can_change {
            OutputReader::Replaceable(self.current.clone())
        } else {
            OutputReader::Fixed(self.current.get())
        }
    }

    /// Opens files again by their names, and connects again.
    pub(super) fn reopen(&self) {
        self.queues().open.iter().for_each(|open| open.state.queue.reopen());
    }

    /// Writes the records of the sensor that are due, or the last ones.
    pub(super) fn write_records(&self, now: Instant, is_end: bool, counters: &LiveCounters) {
        for Member { output, .. } in &*self.current.get() {
            output.write_records(now, is_end, counters);
        }
    }

    /// The counters of each output, and their sums with those of removed outputs.
    pub(super) fn counters(&self) -> (BTreeMap<String, NamedOutputCounters>, OutputCounters) {
        let queues = self.queues();
        let mut sum = queues.removed;
        let mut named = BTreeMap::new();
        for OpenOutput { name, state, .. } in &queues.open {
            let queue = state.queue.counters();
            sum.add(&queue);
            let repeats = state.once.as_ref().map_or_else(RepeatCounters::default, |once| once.counters());
            named.insert(name.clone(), NamedOutputCounters { queue, repeats });
        }
        queues.ending.iter().for_each(|ending| sum.add(&ending.state.queue.counters()));
        (named, sum)
    }

    /// Opens the outputs of a configuration that are new. The others stay as they are.
    pub(super) fn prepare(&self, plans: Vec<LiveOutputPlan>) -> Result<PreparedOutputs, Failure> {
        let opened = plans.iter().map(|plan| match &plan.content {
            OutputContent::Text(_) if self.queues().find(&plan.target).is_none() => {
                Ok(Some(self.setting.open_text(plan)?))
            }
            _ => Ok(None),
        });
        let opened = opened.collect::<Result<_, Failure>>()?;
        Ok(PreparedOutputs { plans, opened })
    }

    /// Uses other outputs from now on. Events that wait for an output that is removed are still written.
    pub(super) fn replace(&self, prepared: PreparedOutputs) -> Result<(), Failure> {
        let mut queues = self.queues();
        if queues.has_ended {
            return Ok(());
        }
        let current = self.current.get();
        let mut outputs = Vec::new();
        for (plan, queue) in prepared.plans.into_iter().zip(prepared.opened) {
            let same = queues.find(&plan.target).filter(|open| open.values == plan.values);
            let same =
                same.and_then(|open| current.iter().find(|member| member.output.state.id == open.state.id));
            outputs.push(match same {
                Some(member) => Arc::clone(&member.output),
                None => Arc::new(queues.open(plan, queue, &self.setting)?),
            });
        }
        let is_used = |open: &OpenOutput| outputs.iter().any(|output| output.state.id == open.state.id);
        let (open, removed) = mem::take(&mut queues.open).into_iter().partition::<Vec<_>, _>(is_used);
        queues.open = open;
        queues.ending.extend(removed);
        queues.open.iter().for_each(|open| self.stop_with_readers(open));
        self.current.replace(members(outputs));
        drop((queues, current));
        self.end_removed();
        Ok(())
    }

    /// Waits for the outputs that were removed. The end of the program does not wait for this: it counts them itself.
    fn end_removed(&self) {
        let end = flush_end();
        let handles: Vec<OutputHandle> =
            self.queues().ending.iter().map(|ending| ending.state.queue.clone()).collect();
        handles.iter().for_each(|handle| handle.stop());
        handles.iter().for_each(|handle| handle.finish_by(end));
        let mut queues = self.queues();
        if queues.has_ended {
            return;
        }
        let ended = mem::take(&mut queues.ending);
        for OpenOutput { name, queue, .. } in ended {
            let counters = queue.map_or_else(OutputCounters::default, |queue| queue.finish_by(end));
            self.setting.report_lost(&name, counters.lost_lines);
            queues.removed.add(&counters);
        }
    }

    /// Frees outputs that were replaced. Returns the number of those that are still used.
    pub(super) fn free_replaced(&self) -> usize {
        self.current.free_replaced()
    }

    /// Writes what waits, and stops all threads: all outputs have the same time for that. Returns the number of events that were lost.
    pub(super) fn finish(&self) -> u64 {
        let end = flush_end();
        let (ending, mut lost) = {
            let mut queues = self.queues();
            queues.has_ended = true;
            let Queues { open, ending, removed, .. } = &mut *queues;
            let all = open.iter_mut().chain(ending);
            let all = all.filter_map(|open| Some((open.name.clone(), open.queue.take()?)));
            (all.collect::<Vec<_>>(), removed.lost_lines)
        };
        // The threads of tables end with their senders.
        self.current.replace(Vec::new());
        self.current.free_replaced();
        ending.iter().for_each(|(_, queue)| queue.stop());
        let has_several = ending.len() > 1;
        for (name, queue) in ending {
            let lines = queue.finish_by(end).lost_lines;
            if has_several {
                self.setting.report_lost(&name, lines);
            }
            lost = lost.saturating_add(lines);
        }
        lost
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        // A panic leaves no output half added.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs").field("can_change", &self.can_change).finish_non_exhaustive()
    }
}

/// The time until which outputs that end may write.
fn flush_end() -> Instant {
    let now = Instant::now();
    now.checked_add(EVENTS_FLUSH_TIMEOUT).unwrap_or(now)
}

/// Orders outputs so that those with the same text follow each other.
fn members(outputs: Vec<Arc<Output>>) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::with_capacity(outputs.len());
    for output in outputs {
        let like = members.iter().rposition(|member| member.output.has_text_of(&output));
        let member = Member { output, repeats_previous: like.is_some() };
        members.insert(like.map_or(members.len(), |like| like.saturating_add(1)), member);
    }
    members
}

/// Whether the readers of all outputs are gone.
fn are_closed(members: &[Member]) -> bool {
    members.iter().all(|member| member.output.state.queue.is_closed())
}

impl Queues {
    /// The output that goes to a target.
    fn find(&self, target: &LiveTarget) -> Option<&OpenOutput> {
        self.open.iter().find(|open| open.target == *target)
    }

    /// Opens an output, or gives one that is open another form. `opened`: its queue, if that is open already.
    fn open(
        &mut self,
        plan: LiveOutputPlan,
        opened: Option<OutputQueue>,
        setting: &Setting,
    ) -> Result<Output, Failure> {
        match plan.content {
            OutputContent::Text(ref options) => {
                let options = options.clone();
                let is_stdout = plan.target == LiveTarget::Stdout;
                let is_hidden = setting.has_view && is_stdout;
                let on_terminal = is_stdout && io::stdout().is_terminal();
                let known = self.open.iter_mut().find(|open| open.target == plan.target);
                let state = match known {
                    Some(open) => open.change(plan),
                    None => {
                        let queue = opened.map_or_else(|| setting.open_text(&plan), Ok)?;
                        self.add(plan, queue)
                    }
                };
                state.queue.shorten_certificates(!options.repeats_certificates);
                let interfaces = setting.named_interfaces(options.format);
                let form = Form::text(options, interfaces, is_hidden, on_terminal);
                Ok(Output { state, form })
            }
            OutputContent::Zeek(ref folder, form, ref own_fields, ref selected) => {
                let interfaces = several(&setting.interfaces);
                check_directory_writable(&folder.join("conn.log"))
                    .map_err(|source| OutputError::Open { path: PathName(folder.clone()), source })?;
                let logs = LiveZeekLogs {
                    folder: folder.clone(),
                    form,
                    rotation: plan.rotation,
                    own_fields: own_fields.clone(),
                    selected: selected.clone(),
                    interfaces: interfaces.clone(),
                };
                let selected = Box::new(selected.clone());
                let (queue, sender) = logs.write(QUEUED_EVENTS, setting.messages.clone())?;
                let state = self.add(plan, queue);
                Ok(Output { state, form: Form::Table { sender, selected, has_ends: true, interfaces } })
            }
            #[cfg(feature = "parquet")]
            OutputContent::Table { ref columns, ref selected, .. } => {
                let selected = Box::new(selected.clone());
                let LiveTarget::File(path) = plan.target.clone() else {
                    return Err(Failure::Usage("--format parquet of 'live' needs -o FILE".into()));
                };
                let folder = |source| OutputError::Folder { path: PathName(path.clone()), source };
                check_directory_writable(&path).map_err(folder)?;
                let interfaces = several(&setting.interfaces);
                let files = TableFiles {
                    names: StampedFiles::new(path, ".parquet"),
                    rotation: plan.rotation,
                    hour_folders: plan.hour_folders,
                    interfaces: interfaces.clone(),
                    columns: columns.clone(),
                };
                let (queue, sender) = files.write(QUEUED_EVENTS, setting.messages.clone())?;
                let state = self.add(plan, queue);
                Ok(Output { state, form: Form::Table { sender, selected, has_ends: false, interfaces } })
            }
        }
    }

    fn add(&mut self, plan: LiveOutputPlan, queue: OutputQueue) -> OutputState {
        self.last_id = self.last_id.wrapping_add(1);
        let LiveOutputPlan { name, target, rotation, once, statistics, values, .. } = plan;
        let once = once.map(|every| Arc::new(Once::new(every)));
        let records = Records::change(None, statistics);
        let state = OutputState { id: self.last_id, queue: queue.handle(), once, records };
        self.open.push(OpenOutput {
            name,
            target,
            rotation,
            values,
            state: state.clone(),
            queue: Some(queue),
        });
        state
    }
}

impl OpenOutput {
    /// Takes over what a new configuration says of this output.
    fn change(&mut self, plan: LiveOutputPlan) -> OutputState {
        if self.rotation != plan.rotation {
            self.state.queue.rotate_by(plan.rotation);
        }
        if self.state.once.as_ref().map(|once| once.every()) != plan.once {
            self.state.once = plan.once.map(|every| Arc::new(Once::new(every)));
        }
        self.state.records = Records::change(self.state.records.take(), plan.statistics);
        (self.name, self.rotation, self.values) = (plan.name, plan.rotation, plan.values);
        self.state.clone()
    }
}

impl Setting {
    /// Names of the interfaces, by their index, for an output whose events name theirs; else none.
    fn named_interfaces(&self, format: TextFormat) -> InterfaceNames {
        match format {
            TextFormat::Other(_) => self.interfaces.clone(),
            _ => several(&self.interfaces),
        }
    }

    fn open_text(&self, plan: &LiveOutputPlan) -> Result<OutputQueue, OutputError> {
        OutputQueue::open(&plan.target, plan.rotation, OUTPUT_QUEUE_BYTES, self.messages.clone())
    }

    /// Reports the events that an output lost, if there are any.
    fn report_lost(&self, name: &str, lines: u64) {
        if lines > 0 {
            let lost = Amount(lines, "event(s)");
            self.messages.error(&format_args!("lost {lost} of {name}: could not write"));
        }
    }
}

impl Form {
    fn text(options: TextOptions, interfaces: InterfaceNames, is_hidden: bool, on_terminal: bool) -> Self {
        let renderer = Box::new(Renderer::new(options.clone()).with_interfaces(interfaces));
        let days = renderer.day_headings().map(Mutex::new);
        Self::Text { renderer, options: Box::new(options), days, is_hidden, on_terminal }
    }

    /// The text of an event as the output has it.
    fn shown<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self {
            Self::Text { options, on_terminal: true, .. } => options.format.shown(text),
            Self::Text { options, .. } => match &options.syslog {
                Some(syslog) => syslog.framed(text),
                None => Cow::Borrowed(text),
            },
            Self::Table { .. } => Cow::Borrowed(text),
        }
    }
}

impl Output {
    fn is_table(&self) -> bool {
        !matches!(self.form, Form::Text { .. })
    }

    /// Whether an event that both have has the same text in both.
    fn has_text_of(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (Form::Text { options, .. }, Form::Text { options: of_other, .. }) => {
                options.has_text_of(of_other)
            }
            _ => false,
        }
    }

    /// Appends an event as a frame. `is_rendered`: whether the last frame has its text already.
    fn render(&self, event: &Event, is_rendered: &mut bool, text: &mut Vec<u8>) {
        let (renderer, is_hidden) = match &self.form {
            Form::Text { renderer, is_hidden, .. } => (renderer, *is_hidden),
            Form::Table { .. } => return,
        };
        let mut key = 0;
        if is_hidden || *is_rendered && !renderer.selects(event) {
            return;
        }
        if let Some(once) = &self.state.once {
            // An event that is not selected is not remembered.
            match Some(once).filter(|_| renderer.selects(event)).and_then(|once| once.admit(event)) {
                Some(of_event) => key = of_event,
                None => return,
            }
        }
        let start = text.len();
        text.extend_from_slice(&[0; Frame::HEAD_BYTES]);
        let begin = text.len();
        if !*is_rendered {
            renderer.render_live(event, text);
            if text.len() == begin {
                text.truncate(start);
                return;
            }
        }
        let len = text.len().saturating_sub(begin);
        let frame = Frame { id: self.state.id, len, key, is_late: is_late(event) };
        if let Some(head) = text.get_mut(start..begin) {
            head.copy_from_slice(&frame.head());
        }
        *is_rendered = true;
    }

    /// Writes the records of the sensor that are due, or the last ones.
    fn write_records(&self, now: Instant, is_end: bool, counters: &LiveCounters) {
        let Some(records) = &self.state.records else { return };
        let renderer = match &self.form {
            Form::Text { renderer, is_hidden: false, .. } => renderer,
            _ => return,
        };
        records.write_due(now, is_end, counters, &self.state.queue.counters(), &|record| {
            let mut text = Vec::new();
            renderer.render_record(record, &mut text);
            self.push(record.ts, &text)
        });
    }

    /// Queues the text of an event. Returns whether there was room.
    fn push(&self, ts: Timestamp, text: &[u8]) -> bool {
        // Other records wait: numbers are in the order of the queue, which may drop them.
        let mut number = self.state.records.as_ref().map(|records| records.number());
        let numbered = match &mut number {
            Some(number) => {
                let numbered = with_number(text, number.saturating_add(1));
                **number = number.saturating_add(u64::from(matches!(numbered, Cow::Owned(_))));
                numbered
            }
            None => Cow::Borrowed(text),
        };
        let text = &*self.form.shown(&numbered);
        let day = match &self.form {
            Form::Text { days: Some(days), .. } => {
                days.lock().unwrap_or_else(PoisonError::into_inner).before(ts)
            }
            _ => None,
        };
        match day {
            // One piece: none is written without the other.
            Some(day) => self.state.queue.try_push(&[day.as_bytes(), text].concat()),
            None => self.state.queue.try_push(text),
        }
    }
}

/// The output of a frame; `None` if it was removed meanwhile.
fn output_of(members: &[Member], frame: Frame) -> Option<&Output> {
    members.iter().map(|member| &*member.output).find(|output| output.state.id == frame.id)
}

/// The outputs, for each event.
pub(super) enum OutputReader {
    /// They never change.
    Fixed(Arc<Vec<Member>>),
    /// Others take their place when the configuration changes.
    Replaceable(Replaceable<Vec<Member>>),
}

impl OutputReader {
    fn with<T>(&self, call: impl FnOnce(&[Member]) -> T) -> T {
        match self {
            Self::Fixed(members) => call(members),
            Self::Replaceable(members) => call(&members.get()),
        }
    }

    /// Appends an event as the outputs of text have it; nothing if none has it.
    pub(super) fn render(&self, event: &Event, text: &mut Vec<u8>) {
        self.with(|members| {
            let mut is_rendered = false;
            for Member { output, repeats_previous } in members {
                is_rendered &= *repeats_previous;
                output.render(event, &mut is_rendered, text);
            }
        });
    }

    /// Queues what [`render`](Self::render) wrote of an event. Ends with the readers of all outputs.
    pub(super) fn push(&self, ts: Timestamp, frames: &[u8]) -> ControlFlow<()> {
        self.with(|members| {
            let (mut rest, mut line, mut is_lost) = (frames, &[][..], false);
            while let Some((frame, text, after)) = Frame::split(rest) {
                if frame.len > 0 {
                    line = text;
                }
                rest = after;
                if let Some(output) = output_of(members, frame)
                    && !output.push(ts, line)
                {
                    is_lost = true;
                    if let Some(once) = &output.state.once {
                        once.forget(frame.key);
                    }
                }
            }
            if is_lost && are_closed(members) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// Forgets what `--once` remembers of an event that a limit left out after [`render`](Self::render).
    pub(super) fn forget(&self, frames: &[u8]) {
        self.with(|members| {
            let mut rest = frames;
            while let Some((frame, _, after)) = Frame::split(rest) {
                rest = after;
                if let Some(once) = output_of(members, frame).and_then(|output| output.state.once.as_ref()) {
                    once.forget(frame.key);
                }
            }
        });
    }

    /// Queues an event for the tables that have it. Returns whether one has it.
    pub(super) fn push_to_tables(&self, event: Event) -> bool {
        self.with(|members| {
            let wanting: Vec<(&Output, u64, &EventSender)> =
                members.iter().filter_map(|member| member.output.wants(&event)).collect();
            let Some(((last, key, sender), others)) = wanting.split_last() else { return false };
            for (output, key, sender) in others {
                output.note(sender.push(event.clone()), *key);
            }
            last.note(sender.push(event), *key);
            true
        })
    }
}

impl Output {
    /// The table that has an event, and what `--once` remembers of the event.
    fn wants(&self, event: &Event) -> Option<(&Self, u64, &EventSender)> {
        let Form::Table { sender, selected, has_ends, interfaces } = &self.form else { return None };
        let interface = interfaces.get(event.ts.interface());
        let is_selected = selected.contains(event, None, interface.as_deref());
        let key = match &self.state.once {
            Some(once) if is_selected => once.admit(event)?,
            _ => 0,
        };
        let is_end = *has_ends && matches!(event.kind, Observation::Connection(_));
        (is_selected || is_end).then_some((self, key, sender))
    }

    /// Forgets an event that the queue lost.
    fn note(&self, is_queued: bool, key: u64) {
        if let Some(once) = self.state.once.as_ref().filter(|_| !is_queued) {
            once.forget(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, pipe};
    use std::os::fd::OwnedFd;
    use std::thread;
    use std::time::Duration;

    use huginn_net::record::formats::EventFormat;
    use huginn_net::{CaptureReader, HuginnNet};

    use super::*;

    /// A queue that is full drops records, whose numbers are missing then.
    #[test]
    fn numbers_show_exactly_which_records_a_slow_reader_lost() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
        let mut events = Vec::new();
        let source = CaptureReader::open(path).unwrap();
        HuginnNet::builder().build().analyze(source, &mut |event: Event| events.push(event)).unwrap();
        let (mut reader, writer) = pipe().unwrap();
        let queue = OutputQueue::to_stdout(File::from(OwnedFd::from(writer)), 100_000);
        let options = TextOptions { is_numbered: true, ..TextOptions::new(TextFormat::Json) };
        let records = Records::change(None, Some(Duration::from_secs(3600)));
        let state = OutputState { id: 1, queue: queue.handle(), once: None, records };
        let output = Output { state, form: Form::text(options, InterfaceNames::default(), false, false) };
        let reader_of = OutputReader::Fixed(Arc::new(members(vec![Arc::new(output)])));
        let push = |count: usize| {
            for event in events.iter().cycle().take(count) {
                let mut text = Vec::new();
                reader_of.render(event, &mut text);
                assert!(reader_of.push(event.ts, &text).is_continue());
            }
        };
        push(1000);
        assert!(queue.handle().counters().dropped_lines > 100);
        let reading = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        let start = Instant::now();
        while queue.handle().counters().queued_lines > 0 {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
        push(1);
        let counters = queue.finish();
        drop(reader_of);
        let text = reading.join().unwrap();
        let number =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap();
        let numbers: Vec<u64> = text.lines().map(number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert_eq!((numbers.first(), numbers.last()), (Some(&1), Some(&1001)));
        assert_eq!(1001 - numbers.len() as u64, counters.dropped_lines);
    }

    #[test]
    fn terminal_shows_json_without_control_characters() {
        let json = "{\"a\":\"\u{9b}31m\u{202e}\u{2028}\u{7f}\"}\n";
        let escaped = "{\"a\":\"\\u009b31m\\u202e\\u2028\\u007f\"}\n";
        for (format, on_terminal, shown) in [
            (TextFormat::Json, true, escaped),
            (TextFormat::Other(EventFormat::Eve), true, escaped),
            (TextFormat::Json, false, json),
        ] {
            let options = TextOptions::new(format);
            let form = Form::text(options, InterfaceNames::default(), false, on_terminal);
            assert_eq!(form.shown(json.as_bytes()), shown.as_bytes());
        }
    }
}
