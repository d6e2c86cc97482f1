//! Messages on standard error.

use std::fmt;
use std::io::{self, Write};

use huginn_net::core::Printable;

/// Writes one line to standard error, with what is not printable escaped, and ignores write errors: the exit status
/// reports the failure too.
pub(crate) fn report(message: &dyn fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "huginn-net: {:#}", Printable(&message.to_string()));
}
