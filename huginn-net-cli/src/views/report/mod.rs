//! A report as one HTML page that loads nothing.

mod charts;
mod cryptography;
mod hosts;
mod items;
mod page;
mod security;
mod shell;

pub(crate) use self::hosts::{HostList, HostSources};
pub(crate) use self::page::{Report, write};
pub(crate) use self::shell::file_arguments;
