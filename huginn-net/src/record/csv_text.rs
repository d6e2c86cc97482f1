//! Text as a cell of CSV and TSV.

use std::borrow::Cow;

use huginn_net_core::{Printable, is_printable};

/// First characters of formulas, with their full-width forms. Tabs and line ends, which begin some too, are escaped.
const FORMULA_STARTS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Text as a cell of a table that spreadsheets open: what is not printable escaped as by [`Printable`], and with an apostrophe
/// before what a spreadsheet would take for a formula ("CSV Injection" of the OWASP Foundation). Quotation marks around
/// the cell are the caller's.
///
/// ```
/// use huginn_net::record::csv_text;
///
/// assert_eq!(csv_text("curl/8.5.0"), "curl/8.5.0");
/// assert_eq!(csv_text("=1+1"), "'=1+1");
/// assert_eq!(csv_text("a\tb"), r"a\x09b");
/// ```
#[doc(hidden)]
pub fn csv_text(text: &str) -> Cow<'_, str> {
    let mark = if text.starts_with(FORMULA_STARTS) { "'" } else { "" };
    if mark.is_empty() && text.chars().all(is_printable) {
        return text.into();
    }
    format!("{mark}{}", Printable(text)).into()
}
