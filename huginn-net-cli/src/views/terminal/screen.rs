//! The screen: counters, hosts, rare fingerprints, the newest events.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use huginn_net::Timestamp;
use huginn_net::alert::Severity;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Row, Table, Wrap};

use super::feed::{FindingRow, RareValue, Shown};
use super::kept::EventLine;
use super::view::{HostOrder, Panel, Target, View};
use crate::output::Zone;
use crate::views::store::SeenHost;

/// Interval over which the terminal view computes rates.
const RATE_INTERVAL: Duration = Duration::from_secs(1);

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const ALARM: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const MEDIUM: Style = Style::new().fg(Color::Yellow);
const KNOWN: Style = Style::new().fg(Color::Green);
const FOCUS: Style = Style::new().fg(Color::Cyan);
const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);

const HELP: [&str; 12] = [
    "q, Ctrl-C         quit",
    "Tab               next panel",
    "↑ ↓ PgUp PgDn     select a row",
    "Home              back to the top",
    "Enter             details: host, its findings and events; connection of an event",
    "/                 filter rows by words; Enter keeps it",
    "z                 the panel fills the screen",
    "Esc               close details, remove the filter; then quit",
    "s                 sort hosts: most events, or latest first",
    "p, Space          pause: the screen stands still, the analysis goes on",
    "?                 this help",
    "Any key closes this help.",
];

/// Packets and events per second.
#[derive(Debug)]
pub(super) struct Rates {
    since: Instant,
    packets: u64,
    events: u64,
    per_second: (f64, f64),
}

impl Rates {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, packets: 0, events: 0, per_second: (0.0, 0.0) }
    }

    /// Computes rates again once an interval is over.
    pub(super) fn update(&mut self, packets: u64, events: u64, now: Instant) {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed >= RATE_INTERVAL {
            let rate = |new: u64, old: u64| per_second(new.saturating_sub(old), elapsed);
            let per_second = (rate(packets, self.packets), rate(events, self.events));
            *self = Self { since: now, packets, events, per_second };
        }
    }
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Draws the screen.
pub(super) fn draw(frame: &mut Frame<'_>, shown: &Shown, view: &mut View, rates: &Rates, zone: &Zone) {
    let message_rows = u16::try_from(shown.messages.len()).unwrap_or(u16::MAX);
    let [head, panels, messages, keys] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Fill(1),
        Constraint::Length(message_rows),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, head, shown, rates, view.is_paused);
    if let Some(target) = view.details {
        draw_details(frame, panels, target, shown, view);
    } else {
        draw_panels(frame, panels, shown, view, zone);
    }
    let warnings: Vec<Line<'_>> =
        shown.messages.iter().map(|message| Line::styled(message.as_str(), ALARM)).collect();
    frame.render_widget(Paragraph::new(warnings), messages);
    let (filter, is_typing) = (&view.filter, view.is_typing);
    let last = if is_typing || !filter.is_empty() {
        let cursor = if is_typing { "_" } else { "" };
        Line::styled(format!("/{filter}{cursor}"), FOCUS)
    } else {
        Line::styled(
            "q quit  Tab panel  ↑↓ select  Enter details  / filter  z zoom  s sort  p pause  ? help",
            DIM,
        )
    };
    frame.render_widget(Paragraph::new(last), keys);
    if view.has_help {
        draw_help(frame);
    }
}

fn draw_panels(frame: &mut Frame<'_>, area: Rect, shown: &Shown, view: &mut View, zone: &Zone) {
    let size = |panel, part| match view.is_zoomed {
        false => Constraint::Fill(part),
        true if view.focus == panel => Constraint::Fill(1),
        true => Constraint::Length(0),
    };
    let findings = match size(Panel::Findings, 3) {
        Constraint::Fill(_) if shown.findings.is_empty() && !view.is_zoomed => Constraint::Length(1),
        size => size,
    };
    let [hosts, findings, rare, events] =
        Layout::vertical([size(Panel::Hosts, 5), findings, size(Panel::Rare, 3), size(Panel::Events, 4)])
            .areas(area);
    draw_hosts(frame, hosts, shown, view, zone);
    draw_findings(frame, findings, &shown.findings, view);
    draw_rare(frame, rare, &shown.rare, view);
    draw_events(frame, events, &shown.newest, view);
}

fn draw_details(frame: &mut Frame<'_>, area: Rect, target: Target, shown: &Shown, view: &mut View) {
    let title = match target {
        Target::Host(ip) => format!("host {ip} "),
        Target::Connection { client, server } => format!("connection {client} - {server} "),
    };
    let last = u16::try_from(shown.details.len().saturating_sub(1)).unwrap_or(u16::MAX);
    view.details_top = view.details_top.min(last);
    let lines: Vec<Line<'_>> = shown.details.iter().map(|line| Line::raw(line.as_str())).collect();
    let block = Block::new().borders(Borders::TOP).border_style(FOCUS).title(Span::styled(title, FOCUS));
    let details = Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((view.details_top, 0)).block(block);
    frame.render_widget(details, area);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, shown: &Shown, rates: &Rates, is_paused: bool) {
    let Shown { counts, events: event_count, host_count, source, .. } = shown;
    let mut title = vec![Span::styled("huginn-net ", Style::new().add_modifier(Modifier::BOLD))];
    title.push(Span::raw(source.as_str()));
    if counts.has_ended {
        title.push(Span::styled("  ended", KNOWN));
    }
    if is_paused {
        title.push(Span::styled("  paused", ALARM));
    }
    let (packets, events) = rates.per_second;
    let totals = format!(
        "packets {} ({packets:.0}/s)   flows {}   hosts {host_count}   events {event_count} ({events:.0}/s)",
        counts.packets, counts.flows
    );
    let mut losses = vec![Span::raw("lost:")];
    for (place, count) in &counts.losses {
        let style = if *count > 0 { ALARM } else { DIM };
        losses.push(Span::styled(format!("  {place} {count}"), style));
    }
    frame.render_widget(Paragraph::new(vec![Line::from(title), Line::raw(totals), Line::from(losses)]), area);
}

fn block<'a>(title: String, panel: Panel, view: &View) -> Block<'a> {
    let style = if view.focus == panel { FOCUS } else { DIM };
    Block::new().borders(Borders::TOP).border_style(style).title(Span::styled(title, style))
}

/// The number of rows that an area has below its border, and below `headings` lines.
pub(super) fn rows(area: Rect, headings: u16) -> usize {
    usize::from(area.height.saturating_sub(1).saturating_sub(headings))
}

/// The style of a row, which marks the selected one of the panel that has the focus.
fn row_style(style: Style, panel: Panel, index: usize, view: &View) -> Style {
    if view.focus == panel && view.selected(panel) == index { style.patch(SELECTED) } else { style }
}

fn draw_hosts(frame: &mut Frame<'_>, area: Rect, shown: &Shown, view: &mut View, zone: &Zone) {
    let visible = rows(area, 1);
    let top = view.fit(Panel::Hosts, shown.host_count, visible);

    let order = match view.order {
        HostOrder::MostEvents => "tools, then most events first",
        HostOrder::Latest => "tools, then latest first",
    };
    let title = format!("hosts: {}, {order} ", shown.host_count);
    let hosts = shown.hosts.iter().enumerate().skip(top).take(visible);
    let row = |index, host: &SeenHost, ip: String| {
        let row = Row::new([
            ip,
            host.seen.count.to_string(),
            clock(zone, host.seen.last),
            if host.tool.is_empty() { host.system.clone() } else { host.tool.clone() },
            host.software.clone(),
            host.tls_client.clone(),
        ]);
        let is_alarm = !host.tool.is_empty() || host.is_mismatch;
        row.style(row_style(if is_alarm { ALARM } else { Style::new() }, Panel::Hosts, index, view))
    };
    let widths = [
        address_width(shown.hosts.iter().map(|(ip, _)| ip)),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Fill(3),
        Constraint::Fill(3),
        Constraint::Fill(4),
    ];
    let table = Table::new(hosts.map(|(index, (ip, host))| row(index, host, ip.to_string())), widths)
        .header(Row::new(["address", "events", "last", "system", "software", "TLS client"]).style(DIM))
        .block(block(title, Panel::Hosts, view));
    frame.render_widget(table, area);
}

/// The width of the longest address, and of the heading.
fn address_width<'a>(addresses: impl Iterator<Item = &'a IpAddr>) -> Constraint {
    let widths = addresses.map(|ip| ip.to_string().len()).chain([12]);
    Constraint::Max(u16::try_from(widths.max().unwrap_or(0)).unwrap_or(u16::MAX))
}

/// Hours, minutes and seconds.
fn clock(zone: &Zone, ts: Timestamp) -> String {
    let text = zone.seconds(ts).to_string();
    text.get(11..).unwrap_or_default().to_owned()
}

fn draw_findings(frame: &mut Frame<'_>, area: Rect, findings: &[FindingRow], view: &mut View) {
    let visible = rows(area, 0);
    let top = view.fit(Panel::Findings, findings.len(), visible);
    let rows = findings.iter().enumerate().skip(top).take(visible).map(|(index, finding)| {
        let FindingRow { severity, host, text } = finding;
        let style = match severity {
            Severity::High => ALARM,
            Severity::Medium => MEDIUM,
            _ => Style::new(),
        };
        let row = Row::new([severity.to_string(), host.to_string(), text.clone()]);
        row.style(row_style(style, Panel::Findings, index, view))
    });
    let widths = [
        Constraint::Length(6),
        address_width(findings.iter().map(|finding| &finding.host)),
        Constraint::Fill(1),
    ];
    let title = match findings.len() {
        0 => "alerts: none ".to_owned(),
        count => format!("alerts: {count}, worst first "),
    };
    let table = Table::new(rows, widths).block(block(title, Panel::Findings, view));
    frame.render_widget(table, area);
}

fn draw_rare(frame: &mut Frame<'_>, area: Rect, rare: &[RareValue], view: &mut View) {
    let visible = rows(area, 1);
    let top = view.fit(Panel::Rare, rare.len(), visible);
    let values = rare.iter().enumerate().skip(top).take(visible);
    let table_rows = values.map(|(index, value)| {
        let row = Row::new([
            value.kind.to_owned(),
            value.hosts.to_string(),
            value.client.to_string(),
            value.name.clone(),
            value.value.clone(),
        ]);
        row.style(row_style(Style::new(), Panel::Rare, index, view))
    });
    let widths = [
        Constraint::Length(12),
        Constraint::Length(5),
        address_width(rare.iter().map(|value| &value.client)),
        Constraint::Fill(2),
        Constraint::Fill(5),
    ];
    let table = Table::new(table_rows, widths)
        .header(Row::new(["kind", "hosts", "first client", "name", "fingerprint"]).style(DIM))
        .block(block("rare fingerprints ".to_owned(), Panel::Rare, view));
    frame.render_widget(table, area);
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, newest: &[Arc<EventLine>], view: &mut View) {
    let visible = rows(area, 0);
    let top = view.fit(Panel::Events, newest.len(), visible);
    let line = |(index, line)| {
        let line: &Arc<EventLine> = line;
        let EventLine { text, is_alarm, .. } = &**line;
        let style = if *is_alarm { ALARM } else { Style::new() };
        Line::styled(&**text, row_style(style, Panel::Events, index, view))
    };
    let lines: Vec<Line<'_>> = newest.iter().enumerate().skip(top).take(visible).map(line).collect();
    let block = block("events, the newest first ".to_owned(), Panel::Events, view);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let height = u16::try_from(HELP.len()).unwrap_or(0).saturating_add(2);
    let [_, row, _] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(height), Constraint::Fill(1)]).areas(area);
    let [_, area, _] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Max(74), Constraint::Fill(1)]).areas(row);
    frame.render_widget(Clear, area);
    let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::raw(*line)).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" keys ")), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::feed::Counts;
    use super::*;
    use crate::views::store::bounded::Seen;

    fn host(count: u64, system: &str) -> SeenHost {
        let seen = Seen { count, ..Seen::default() };
        SeenHost { seen, system: system.to_owned(), ..SeenHost::default() }
    }

    fn event(text: &str) -> Arc<EventLine> {
        let (client, server) = (([192, 0, 2, 1], 40000).into(), ([192, 0, 2, 2], 443).into());
        Arc::new(EventLine { number: 0, client, server, is_alarm: false, text: text.into() })
    }

    fn shown() -> Shown {
        let address = |last| IpAddr::from([192, 0, 2, last]);
        Shown {
            counts: Counts {
                packets: 1234,
                flows: 7,
                losses: vec![("kernel", 0), ("limits", 3)],
                has_ended: false,
            },
            events: 9,
            source: "eth0".to_owned(),
            host_count: 2,
            hosts: vec![(address(1), host(8, "Linux")), (address(2), host(1, "Windows"))],
            findings: vec![FindingRow {
                severity: Severity::Medium,
                host: address(2),
                text: "certificate of port 443, expired".to_owned(),
            }],
            rare: vec![RareValue {
                kind: "JA4",
                value: "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6".to_owned(),
                name: "libcurl".to_owned(),
                hosts: 1,
                client: address(1),
            }],
            newest: vec![event("second event"), event("first event")],
            messages: Vec::new(),
            details: Vec::new(),
        }
    }

    fn lines(shown: &Shown, view: &mut View, size: (u16, u16)) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        let rates = Rates::new(Instant::now());
        terminal.draw(|frame| draw(frame, shown, view, &rates, &Zone::new(false))).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content().chunks(usize::from(size.0));
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()).collect()
    }

    fn contains(lines: &[String], text: &str) -> bool {
        lines.iter().any(|line| line.contains(text))
    }

    #[test]
    fn screen_has_all_parts() {
        let lines = lines(&shown(), &mut View::default(), (120, 30));
        for text in [
            "huginn-net eth0",
            "packets 1234",
            "flows 7   hosts 2   events 9",
            "lost:  kernel 0  limits 3",
            "192.0.2.1",
            "Windows",
            "alerts: 1, worst first",
            "medium 192.0.2.2    certificate of port 443, expired",
            "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6",
            "second event",
            "q quit",
        ] {
            assert!(contains(&lines, text), "{text}\n{}", lines.join("\n"));
        }
        let place = |text: &str| lines.iter().position(|line| line.contains(text));
        assert!(place("second event") < place("first event"));
    }

    #[test]
    fn host_with_tool_shows_it_in_place_of_system() {
        let mut shown = shown();
        shown.hosts[0].1.tool = "Nmap: 1 SYN to 1 port of 1 host".to_owned();
        let lines = lines(&shown, &mut View::default(), (160, 30));
        let row = lines.iter().find(|line| line.starts_with("192.0.2.1 ")).unwrap();
        assert!(row.contains("Nmap: 1 SYN to 1 port of 1 host") && !row.contains("Linux"), "{row}");
    }

    #[test]
    fn screen_of_any_size_is_drawn() {
        for (width, height) in [(1, 1), (20, 3), (40, 10), (80, 24), (300, 100)] {
            let lines = lines(&shown(), &mut View { has_help: true, ..View::default() }, (width, height));
            assert_eq!(lines.len(), usize::from(height));
        }
    }

    #[test]
    fn panel_with_focus_scrolls_to_its_selected_row() {
        let mut shown = shown();
        shown.newest = (0..100).map(|number| event(&format!("event {number}."))).collect();
        let mut view = View { focus: Panel::Events, ..View::default() };
        view.move_by(50);
        let screen = lines(&shown, &mut view, (80, 24));
        assert!(contains(&screen, "event 50.") && !contains(&screen, "event 0."), "{screen:#?}");
        view.move_by(1000);
        assert!(contains(&lines(&shown, &mut view, (80, 24)), "event 99."));
        view.move_by(isize::MIN);
        assert!(contains(&lines(&shown, &mut view, (80, 24)), "event 0."));
    }

    #[test]
    fn zoomed_panel_fills_the_screen() {
        let mut view = View { focus: Panel::Events, is_zoomed: true, ..View::default() };
        let screen = lines(&shown(), &mut view, (80, 24));
        assert!(contains(&screen, "second event") && !contains(&screen, "rare fingerprints"), "{screen:#?}");
    }

    #[test]
    fn zoomed_findings_scroll_to_the_selected_one() {
        let mut shown = shown();
        let row = shown.findings[0].clone();
        shown.findings = (0..100).map(|n| FindingRow { text: format!("scan {n}."), ..row.clone() }).collect();
        let mut view = View { focus: Panel::Findings, is_zoomed: true, ..View::default() };
        view.move_by(70);
        let screen = lines(&shown, &mut view, (80, 24));
        assert!(contains(&screen, "scan 70.") && !contains(&screen, "scan 0."), "{screen:#?}");
        assert!(contains(&screen, "alerts: 100,"), "{screen:#?}");
        shown.findings.clear();
        let screen = lines(&shown, &mut View::default(), (80, 24));
        assert!(contains(&screen, "alerts: none"), "{screen:#?}");
    }

    #[test]
    fn details_take_the_place_of_panels() {
        let mut shown = shown();
        shown.details = vec!["system      Linux".to_owned(), "x".repeat(200)];
        let mut view = View::default();
        view.open_details(Some(Target::Host(IpAddr::from([192, 0, 2, 1]))));
        let screen = lines(&shown, &mut view, (80, 24));
        assert!(contains(&screen, "host 192.0.2.1") && contains(&screen, "system      Linux"), "{screen:#?}");
        assert!(!contains(&screen, "rare fingerprints"));
        let wrapped = screen.iter().filter(|line| line.contains("xxxx")).count();
        assert_eq!(wrapped, 3, "long lines are wrapped");
    }

    #[test]
    fn filter_is_shown() {
        let mut view = View { is_typing: true, ..View::default() };
        "curl".chars().for_each(|character| view.type_character(character));
        assert!(contains(&lines(&shown(), &mut view, (80, 24)), "/curl_"));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut shown = shown();
        shown.newest = vec![event("a\u{1b}[31mb\rc")];
        shown.details = vec!["d\u{1b}[31me\rf".to_owned()];
        let mut details = View::default();
        details.open_details(Some(Target::Host(IpAddr::from([192, 0, 2, 1]))));
        for mut view in [View::default(), details] {
            let lines = lines(&shown, &mut view, (80, 24));
            assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
        }
    }

    #[test]
    fn rates_are_those_of_the_last_interval() {
        let start = Instant::now();
        let mut rates = Rates::new(start);
        rates.update(500, 50, start.checked_add(RATE_INTERVAL / 2).unwrap());
        assert_eq!(rates.per_second, (0.0, 0.0), "too early");
        rates.update(500, 50, start.checked_add(RATE_INTERVAL).unwrap());
        let seconds = RATE_INTERVAL.as_secs_f64();
        assert_eq!(rates.per_second, (500.0 / seconds, 50.0 / seconds));
        rates.update(500, 50, start.checked_add(RATE_INTERVAL * 2).unwrap());
        assert_eq!(rates.per_second, (0.0, 0.0));
    }
}
