//! `huginn-net pcap`: capture files.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use huginn_net::{
    CaptureError, CaptureReader, Counters, DecodeConfig, Filter, Frame, HuginnNet, Observers, Scope, Source,
};

use crate::args::{AnalysisArguments, Format, PcapArguments, ProtocolArgument};
use crate::commands::database;
use crate::failure::{self, FAILED, Failure};
use crate::output::{EventWriter, Progress};

pub(crate) fn run(args: PcapArguments) -> Result<ExitCode, Failure> {
    let mut analyzer = analyzer(&args.analysis, args.output.format)?;
    let mut events = EventWriter::create(&args.output)?;
    let mut left = args.analysis.count.unwrap_or(u64::MAX);
    let mut damaged = false;
    for path in &args.files {
        if left == 0 {
            break;
        }
        events.name_file((args.files.len() > 1).then(|| path.display().to_string()));
        let before = analyzer.counters();
        let outcome = open(path).and_then(|reader| {
            let progress = Progress::of(&reader, args.output.quiet || events.is_on_terminal());
            analyzer.analyze(Watched { reader, left: &mut left, progress }, &mut events)
        });
        events.check()?;
        if let Err(error) = outcome {
            failure::report(&error);
            damaged = true;
        }
        if args.output.verbose {
            tell(path, &before, &analyzer.counters());
        }
    }
    events.finish()?;
    if args.output.stats {
        write_counters(&analyzer.counters())?;
    }
    Ok(if damaged { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// What is to be done with packets, from what was typed.
fn analyzer(args: &AnalysisArguments, format: Format) -> Result<HuginnNet, Failure> {
    let filter = args.port.iter().fold(Filter::new(), |filter, port| filter.port(*port));
    let filter = args.net.iter().fold(filter, |filter, net| filter.net(*net));
    let observers = Observers::default()
        .database(database(args.db.as_deref())?)
        .tcp(args.protocols.contains(&ProtocolArgument::Tcp))
        .scope(if format == Format::P0f { Scope::P0f } else { Scope::Full });
    let builder = HuginnNet::builder_with(observers)
        .decode(DecodeConfig { verify_checksums: args.checksums, ..DecodeConfig::default() })
        .filter(filter);
    let Some(expression) = &args.filter else { return Ok(builder.build()) };
    #[cfg(feature = "libpcap")]
    return Ok(builder.bpf(huginn_net::Bpf::new(expression.as_str())?).build());
    #[cfg(not(feature = "libpcap"))]
    {
        let _ = expression;
        Err(Failure::NoBpf)
    }
}

fn open(path: &Path) -> Result<CaptureReader, CaptureError> {
    if path == Path::new("-") {
        CaptureReader::from_reader("standard input", io::stdin())
    } else {
        CaptureReader::open(path)
    }
}

/// A capture with the packets that may still be read from it, and a progress bar.
struct Watched<'a> {
    reader: CaptureReader,
    left: &'a mut u64,
    progress: Progress,
}

impl Source for Watched<'_> {
    type Error = CaptureError;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        *self.left = left;
        self.progress.step(&self.reader);
        self.reader.next_frame()
    }
}

fn tell(path: &Path, before: &Counters, after: &Counters) {
    let frames = after.frames.saturating_sub(before.frames);
    let events = after.events.saturating_sub(before.events);
    failure::report(&format_args!("{}: {frames} packets, {events} events", path.display()));
}

fn write_counters(counters: &Counters) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(counters).map_err(io::Error::from)?;
    line.push(b'\n');
    Ok(io::stderr().lock().write_all(&line)?)
}
