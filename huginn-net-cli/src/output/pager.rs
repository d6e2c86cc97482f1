//! A pager for output on a terminal.

use std::env;
use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A running pager. It is waited for when this is dropped, after its input was closed.
#[derive(Debug)]
pub(super) struct Pager(Child);

impl Pager {
    /// Starts the program of `PAGER`, or `less`, as git does; `None` if `PAGER` is empty or `cat`, or if it cannot be started.
    pub(super) fn start() -> Option<(Self, ChildStdin)> {
        let program = env::var_os("PAGER").unwrap_or_else(|| "less".into());
        if program.is_empty() || program == "cat" {
            return None;
        }
        let mut command = shell(&program);
        // Ends at once if the output fits the screen, keeps colours, and leaves the text on the screen.
        if env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        Some((Self(child), input))
    }

    fn wait(&mut self) -> io::Result<()> {
        self.0.wait().map(|_| ())
    }
}

#[cfg(unix)]
fn shell(program: &std::ffi::OsStr) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(program);
    command
}

#[cfg(not(unix))]
fn shell(program: &std::ffi::OsStr) -> Command {
    Command::new(program)
}

impl Drop for Pager {
    fn drop(&mut self) {
        // A pager that cannot be waited for has ended.
        let _ = self.wait();
    }
}
