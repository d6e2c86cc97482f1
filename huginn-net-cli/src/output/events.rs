//! Events of captures, as text or as a table.

use std::io;

use huginn_net::{AnalysisError, Event, HuginnNet, Source};

#[cfg(feature = "parquet")]
use super::BatchWriter;
use super::{Renderer, TextWriter};

/// Where the events of captures go.
pub(crate) enum EventOutput {
    Text {
        renderer: Box<Renderer>,
        writer: Box<TextWriter>,
    },
    #[cfg(feature = "parquet")]
    Table {
        writer: Box<BatchWriter>,
        /// The capture, if events name it.
        file: Option<String>,
    },
}

impl EventOutput {
    /// Begins a capture; `name` if events name theirs.
    pub(crate) fn begin_file(&mut self, name: Option<&str>) {
        match self {
            Self::Text { renderer, writer } => {
                renderer.set_file(name.map(str::to_owned));
                writer.begin_file(name);
            }
            #[cfg(feature = "parquet")]
            Self::Table { file, .. } => *file = name.map(str::to_owned),
        }
    }

    /// Analyses a source and writes its events. Calls `on_event` for each, from the worker that found it.
    pub(crate) fn analyze<S: Source<Error: Send> + Send>(
        &mut self,
        analyzer: &mut HuginnNet,
        source: S,
        on_event: impl Fn(&Event) + Sync,
    ) -> Result<(), AnalysisError<S::Error>> {
        let outcome = match self {
            Self::Text { renderer, writer } => {
                let render = |event: &Event, text: &mut Vec<u8>| {
                    on_event(event);
                    renderer.render(event, text);
                };
                analyzer.analyze_text(source, render, &mut |text: &[u8]| writer.write(text))
            }
            #[cfg(feature = "parquet")]
            Self::Table { writer, file } => analyzer.analyze(source, &mut |event: Event| {
                on_event(&event);
                writer.write(&event, file.as_deref())
            }),
        };
        outcome.map(drop)
    }

    /// The error that made the writer stop the analysis, if one did.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        match self {
            Self::Text { writer, .. } => writer.check(),
            #[cfg(feature = "parquet")]
            Self::Table { writer, .. } => writer.check(),
        }
    }

    /// The writer of text, for what follows events.
    pub(crate) fn text(&mut self) -> Option<&mut TextWriter> {
        match self {
            Self::Text { writer, .. } => Some(writer),
            #[cfg(feature = "parquet")]
            Self::Table { .. } => None,
        }
    }

    /// Writes what is buffered, and the end of a table.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Text { mut writer, .. } => writer.flush(),
            #[cfg(feature = "parquet")]
            Self::Table { writer, .. } => writer.finish(),
        }
    }
}
