//! A report as one HTML page that loads nothing.

mod activity;
mod alerts;
mod charts;
mod cryptography;
mod findings;
mod hosts;
mod page;
mod security;
mod shell;

pub(crate) use self::activity::Activity;
pub(crate) use self::alerts::Alerts;
pub(crate) use self::findings::{Group, Item, Severity, so_far};
pub(crate) use self::hosts::{HostList, HostSources};
pub(crate) use self::page::{Report, write};
pub(crate) use self::shell::file_arguments;
