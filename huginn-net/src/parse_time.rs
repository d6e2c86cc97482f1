//! Times that people write.

use huginn_net_core::Timestamp;

/// Reads a time in UTC: a date, or a date and the time of day to the minute, the second or a fraction of it.
///
/// ```
/// use huginn_net::select::parse_time;
///
/// assert_eq!(parse_time("2022-03-17 08:38").unwrap().to_string(), "2022-03-17T08:38:00Z");
/// assert_eq!(parse_time("noon"), None);
/// ```
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, of_day) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let seconds = if of_day.len() == "00:00".len() { ":00" } else { "" };
    format!("{date}T{of_day}{seconds}Z").parse().ok()
}
