//! `huginn-net reload` and `huginn-net status`: asks a running sensor.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::control::{ControlAnswer, ControlRequest};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::paths::name_of;
use crate::stderr;

/// Maximum length of an answer, in bytes: far more than the errors of all files.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// Sends a request, and waits for the answer.
pub(super) fn run(path: &Path, request: ControlRequest) -> Result<Outcome, Failure> {
    let ControlAnswer { ok, error, status } =
        ask(path, request).map_err(|source| Failure::NoSensor { path: name_of(path), source })?;
    // As the sensor reports them: a line for each.
    error.iter().flat_map(|error| error.lines()).for_each(|line| stderr::report_error(&line));
    if let Some(status) = status {
        writeln!(io::stdout(), "{status}")?;
    }
    Ok(if ok { Outcome::Complete } else { Outcome::Failed })
}

fn ask(path: &Path, request: ControlRequest) -> io::Result<ControlAnswer> {
    let mut stream = UnixStream::connect(path)?;
    writeln!(stream, "{}", request.name())?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_ANSWER_BYTES)).read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the sensor ended before it answered"));
    }
    Ok(serde_json::from_str(&line)?)
}
