//! Output of events, messages and progress. Takes plain values, and knows no arguments.

#[cfg(unix)]
mod collector;
#[cfg(unix)]
mod error;
mod events;
#[cfg(unix)]
mod files;
mod own_fields;
mod packets;
mod pager;
mod progress;
#[cfg(unix)]
mod queue;
#[cfg(feature = "parquet")]
mod table;
mod text;
#[cfg(all(unix, feature = "tls"))]
mod tls;
mod unfinished_file;
mod zeek_folder;
#[cfg(unix)]
mod zeek_logs;
mod zone;

use std::path::PathBuf;

pub(crate) use huginn_net::select::Selected;

#[cfg(unix)]
pub(crate) use self::collector::{LiveTarget, names_socket, names_tls};
#[cfg(unix)]
pub(crate) use self::error::{OutputError, check_new_file};
pub(crate) use self::events::EventOutput;
#[cfg(unix)]
pub(crate) use self::files::{Rotation, StampedFiles};
pub(crate) use self::own_fields::OwnFields;
pub(crate) use self::packets::{PCAPNG_APPLICATION, last_boundary, packet_comment, write_commented};
pub(crate) use self::progress::Progress;
#[cfg(target_os = "linux")]
pub(crate) use self::queue::EVENTS_WAIT;
#[cfg(unix)]
pub(crate) use self::queue::messages::Messages;
#[cfg(unix)]
pub(crate) use self::queue::{EventSender, MessageCounters, OutputCounters, OutputHandle, OutputQueue};
#[cfg(all(unix, feature = "parquet"))]
pub(crate) use self::table::TableFiles;
#[cfg(feature = "parquet")]
pub(crate) use self::table::{BatchWriter, TableColumns, TableFormat, is_column};
pub(crate) use self::text::{
    DayHeadings, Lines, Renderer, RepeatedCertificates, TextFormat, TextOptions, TextWriter,
    certificate_problems, certificate_remarks, certificates_in_words, handshake_in_words,
};
#[cfg(unix)]
pub(crate) use self::text::{Syslog, SyslogForm, with_number};
#[cfg(all(unix, feature = "tls"))]
pub(crate) use self::tls::TlsFiles;
pub(crate) use self::unfinished_file::Document;
pub(crate) use self::zeek_folder::ZeekFolder;
#[cfg(unix)]
pub(crate) use self::zeek_logs::LiveZeekLogs;
pub(crate) use self::zone::Zone;

/// Where output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}
