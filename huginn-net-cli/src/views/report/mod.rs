//! A report as one HTML page that loads nothing.

mod charts;
mod cryptography;
mod hosts;
mod page;
mod security;

pub(crate) use self::hosts::HostList;
pub(crate) use self::page::{Report, write};
