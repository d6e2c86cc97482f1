//! Events of captures: as text, as a table, or as logs of Zeek.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use huginn_net::core::TextSink;
use huginn_net::{AnalysisError, Event, HuginnNet, Observation, Source, Timestamp};

#[cfg(feature = "parquet")]
use super::BatchWriter;
use super::{DayHeadings, Renderer, RepeatedCertificates, Selected, TextWriter, ZeekFolder};

/// Where the events of captures go.
pub(crate) struct EventOutput {
    form: Form,
    selected: Selected,
    /// The capture, if events name it.
    file: Option<String>,
    /// The error that ended the analysis.
    outcome: io::Result<()>,
    /// Whether a match of a watch list was found that is selected.
    has_hit: AtomicBool,
}

/// The form of the output.
enum Form {
    Text {
        renderer: Box<Renderer>,
        writer: Box<TextWriter>,
        /// Headings of days, if the text has some.
        days: Option<DayHeadings>,
        /// Certificates of the output, if it has each completely only once.
        certificates: Option<RepeatedCertificates>,
    },
    #[cfg(feature = "parquet")]
    Table(Box<BatchWriter>),
    Zeek(Box<ZeekFolder>),
}

impl EventOutput {
    pub(crate) fn text_output(renderer: Renderer, writer: TextWriter) -> Self {
        let (days, certificates) = (renderer.day_headings(), renderer.repeated_certificates());
        // The renderer selects events.
        let selected = Selected::default();
        let form = Form::Text { renderer: Box::new(renderer), writer: Box::new(writer), days, certificates };
        Self::new(form, selected)
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn table(writer: BatchWriter, selected: Selected) -> Self {
        Self::new(Form::Table(Box::new(writer)), selected)
    }

    pub(crate) fn zeek(folder: ZeekFolder, selected: Selected) -> Self {
        Self::new(Form::Zeek(Box::new(folder)), selected)
    }

    fn new(form: Form, selected: Selected) -> Self {
        Self { form, selected, file: None, outcome: Ok(()), has_hit: AtomicBool::new(false) }
    }

    /// Begins a capture; `name` if events name theirs.
    pub(crate) fn begin_file(&mut self, name: Option<&str>) {
        self.file = name.map(str::to_owned);
        if let Form::Text { renderer, writer, .. } = &mut self.form {
            renderer.set_file(self.file.clone());
            writer.begin_file(name);
        }
    }

    /// Analyses a source and writes its events. Calls `on_event` for each, from the worker that found it.
    pub(crate) fn analyze<'f, S: Source<'f, Error: Send> + Send>(
        &mut self,
        analyzer: &mut HuginnNet,
        source: S,
        on_event: impl Fn(&Event) + Sync,
    ) -> Result<(), AnalysisError<S::Error>> {
        let Self { form, selected, file, outcome, has_hit } = self;
        let note_hit = |event: &Event, is_selected: &dyn Fn() -> bool| {
            if matches!(event.kind, Observation::Match(_)) && is_selected() {
                has_hit.store(true, Ordering::Relaxed);
            }
        };
        let analyzed = match form {
            Form::Text { renderer, writer, days, certificates } => {
                let render = |event: &Event, text: &mut Vec<u8>| {
                    on_event(event);
                    note_hit(event, &|| renderer.selects(event));
                    renderer.render(event, text);
                };
                analyzer.analyze_text(source, render, &mut TextOutput { writer, days, certificates, outcome })
            }
            #[cfg(feature = "parquet")]
            Form::Table(writer) => analyzer.analyze_ref(source, |event: &Event| {
                on_event(event);
                if selected.contains(event, file.as_deref(), None) {
                    note_hit(event, &|| true);
                    proceed(writer.append(event, file.as_deref()), outcome)
                } else {
                    ControlFlow::Continue(())
                }
            }),
            Form::Zeek(folder) => analyzer.analyze_ref(source, |event: &Event| {
                on_event(event);
                let is_selected = selected.contains(event, file.as_deref(), None);
                note_hit(event, &|| is_selected);
                proceed(folder.append(event, file.as_deref(), is_selected), outcome)
            }),
        };
        analyzed.map(drop)
    }

    /// Whether a match of a watch list was found that is selected.
    pub(crate) fn has_hit(&self) -> bool {
        self.has_hit.load(Ordering::Relaxed)
    }

    /// The error that made the writer stop the analysis, if one did.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.outcome, Ok(()))
    }

    /// The writer of text, for what follows events.
    pub(crate) fn text(&mut self) -> Option<&mut TextWriter> {
        match &mut self.form {
            Form::Text { writer, .. } => Some(writer),
            #[cfg(feature = "parquet")]
            Form::Table(_) => None,
            Form::Zeek(_) => None,
        }
    }

    /// Writes what is buffered, and the end of a table.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.form {
            Form::Text { mut writer, .. } => writer.flush(),
            #[cfg(feature = "parquet")]
            Form::Table(writer) => writer.finish(),
            Form::Zeek(folder) => folder.finish(),
        }
    }
}

/// Takes the text of events in their order.
struct TextOutput<'a> {
    writer: &'a mut TextWriter,
    days: &'a mut Option<DayHeadings>,
    certificates: &'a mut Option<RepeatedCertificates>,
    outcome: &'a mut io::Result<()>,
}

impl TextSink for TextOutput<'_> {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        // Events without text in this format have no line.
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        let day = self.days.as_mut().and_then(|days| days.before(ts));
        // Workers render events, and only here are they in order.
        let text = match self.certificates {
            Some(certificates) => &certificates.shorten(text),
            None => text,
        };
        proceed(self.writer.write(day.as_deref(), text), self.outcome)
    }
}

/// Stops the analysis at an error, which is kept.
fn proceed(written: io::Result<()>, outcome: &mut io::Result<()>) -> ControlFlow<()> {
    if written.is_ok() {
        return ControlFlow::Continue(());
    }
    *outcome = written;
    ControlFlow::Break(())
}
