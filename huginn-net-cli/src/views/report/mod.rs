//! A report as one HTML page that loads nothing.

mod charts;
mod contents;
mod cryptography;
mod hosts;
mod items;
mod page;
mod security;
mod shell;

pub(crate) use self::contents::Report;
pub(crate) use self::page::write;
pub(crate) use self::shell::file_arguments;
