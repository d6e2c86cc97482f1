//! Packets with comments, in pcapng files.

use std::io::{self, Write};

use huginn_net::Event;
use huginn_net::capture::PcapngWriter;
use huginn_net::core::{Frame, Printable, is_printable};

use super::text::Lines;
use crate::limits::MAX_PACKET_COMMENTS;

/// Maximum length of a comment, in bytes: a few lines on the screen.
const MAX_COMMENT_BYTES: usize = 1000;

/// The application that pcapng files name.
pub(crate) const PCAPNG_APPLICATION: &str = concat!("huginn-net ", env!("CARGO_PKG_VERSION"));

/// Describes an event in one line of printable UTF-8, of bounded length.
pub(crate) fn packet_comment(lines: &Lines, event: &Event) -> String {
    let mut bytes = b"huginn-net: ".to_vec();
    lines.write_comment(&mut bytes, event);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if !text.chars().all(is_printable) {
        text = Printable(&text).to_string();
    }
    if text.len() > MAX_COMMENT_BYTES {
        text.truncate(last_boundary(&text, MAX_COMMENT_BYTES));
        text.push_str("...");
    }
    text
}

/// Writes a frame with the comments of its `count` events. The last comment counts those beyond the limit.
pub(crate) fn write_commented<'c>(
    writer: &mut PcapngWriter<impl Write>,
    interface: u32,
    frame: &Frame<'_>,
    count: usize,
    comments: impl Iterator<Item = &'c str>,
) -> io::Result<()> {
    let Some(more) = count.checked_sub(MAX_PACKET_COMMENTS).filter(|more| *more > 0) else {
        return writer.write_frame(interface, frame, comments);
    };
    // The last comment stands for one more event than there are beyond the limit.
    let last = format!("huginn-net: {} more events", more.saturating_add(1));
    let mut texts: Vec<&str> = comments.take(MAX_PACKET_COMMENTS.saturating_sub(1)).collect();
    texts.push(&last);
    writer.write_frame(interface, frame, texts)
}

/// Returns the last boundary of a character at `limit` or before it.
pub(crate) fn last_boundary(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}
