//! Charts as SVG.

use huginn_net::Timestamp;
use huginn_net::core::Amount;
use huginn_net::record::EventGroup;
use maud::{Markup, PreEscaped, html};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::output::Zone;
use crate::views::store::timeline::{GROUPS, Outside, Timeline, TimelineChart};

/// Colours of the groups, distinct for most kinds of colour blindness; the style of the page lightens them in the dark.
const COLOURS: [RGBColor; GROUPS] = [
    RGBColor(0x4e, 0x79, 0xa7),
    RGBColor(0xf2, 0x8e, 0x2b),
    RGBColor(0x59, 0xa1, 0x4f),
    RGBColor(0xb0, 0x7a, 0xa1),
    RGBColor(0x76, 0xb7, 0xb2),
    RGBColor(0xed, 0xc9, 0x48),
    RGBColor(0xe1, 0x57, 0x59),
    RGBColor(0x9c, 0x75, 0x5f),
];
const INK: RGBColor = RGBColor(0x55, 0x55, 0x55);
const SIZE: (u32, u32) = (960, 130);
const LEFT: i32 = 56;
const RIGHT: i32 = 944;
const TOP: i32 = 12;
const BOTTOM: i32 = 94;
const BAR_HEIGHT: i32 = 26;
const NAME_WIDTH: i32 = 250;

/// Events over time, as stacked bars; nothing without events.
pub(super) fn timeline(timeline: &Timeline, zone: &Zone) -> Option<Markup> {
    let TimelineChart { width, intervals, outside, highest } = timeline.chart()?;
    if highest == 0 {
        return None;
    }
    let mut svg = String::new();
    let drawn = draw_timeline(&mut svg, &intervals, highest, width, zone);
    drawn.ok()?;
    let is_seen =
        |group: &EventGroup| intervals.iter().any(|(_, counts)| counts.get(*group as usize) > Some(&0));
    let seen: Vec<EventGroup> = EventGroup::ALL.iter().copied().filter(is_seen).collect();
    let cut = intervals.iter().filter(|(_, counts)| total(counts) > highest);
    let count_cut = cut.clone().count() as u64;
    let tallest = cut.max_by_key(|(_, counts)| total(counts));
    Some(html! {
        figure {
            (with_title(&svg, "Events over time"))
            figcaption {
                @for group in seen {
                    span.key { svg width="12" height="12" aria-hidden="true" { rect width="12" height="12" fill=(hex(group as usize)) {} } " " (group.name()) }
                }
                span.dim { "events for each " (duration(width)) }
                @if let Some((start, counts)) = tallest {
                    @let at = zone.seconds(Timestamp::new(*start, 0, 0)).to_string();
                    @let are = if count_cut == 1 { "is" } else { "are" };
                    @let which = if count_cut == 1 { "it" } else { "the highest" };
                    span.warning { (Amount(count_cut, "bar(s)").to_string()) " " (are) " cut: " (which) " has " (Amount(total(counts), "event(s)").to_string()) ", from " (at) " " (zone.name()) }
                }
                @if let Some(Outside { events, first, last }) = outside {
                    @let seconds = |at| zone.seconds(Timestamp::new(at, 0, 0)).to_string();
                    span.warning { (Amount(events, "event(s)").to_string()) " outside, from " (seconds(first)) " to " (seconds(last)) " " (zone.name()) }
                }
            }
        }
    })
}

/// The events of all groups.
fn total(counts: &[u64; GROUPS]) -> u64 {
    counts.iter().sum()
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw_timeline(
    svg: &mut String,
    intervals: &[(u64, [u64; GROUPS])],
    highest: u64,
    width: u64,
    zone: &Zone,
) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let count = i64::try_from(intervals.len())?.max(1);
    let at = |index: i64| -> i32 {
        let span = i64::from(RIGHT.saturating_sub(LEFT));
        let x = span.saturating_mul(index).checked_div(count).unwrap_or(0);
        LEFT.saturating_add(i32::try_from(x).unwrap_or(0))
    };
    let height = |events: u64, highest: u64| -> i32 {
        let span = u64::from(BOTTOM.saturating_sub(TOP).unsigned_abs());
        let y = span.saturating_mul(events).checked_div(highest).unwrap_or(0);
        i32::try_from(y).unwrap_or(0)
    };
    // Bars that are cut are a quarter higher than all others.
    let is_cut = intervals.iter().any(|(_, counts)| total(counts) > highest);
    let top = if is_cut { highest.saturating_add(highest.div_ceil(4)) } else { highest };
    let text = |anchor| ("sans-serif", 13).into_font().color(&INK).pos(anchor);
    let labels = Pos::new(HPos::Right, VPos::Center);
    for events in [0, highest.div_ceil(2), highest] {
        let y = BOTTOM.saturating_sub(height(events, top));
        root.draw(&PathElement::new(vec![(LEFT, y), (RIGHT, y)], INK.mix(0.25)))?;
        root.draw(&Text::new(events.to_string(), (LEFT.saturating_sub(8), y), text(labels)))?;
    }
    for (index, (start, counts)) in (0_i64..).zip(intervals) {
        let (left, right) = (at(index), at(index.saturating_add(1)).saturating_sub(1));
        let total = total(counts);
        // A bar that is cut fills the height.
        let height = |events: u64| if total > highest { height(events, total) } else { height(events, top) };
        let mut below = 0_u64;
        for (colour, events) in COLOURS.iter().zip(counts).filter(|(_, events)| **events > 0) {
            let bottom = BOTTOM.saturating_sub(height(below));
            below = below.saturating_add(*events);
            let top = BOTTOM.saturating_sub(height(below)).min(bottom.saturating_sub(1));
            root.draw(&Rectangle::new(
                [(left, top), (right.max(left.saturating_add(1)), bottom)],
                colour.filled(),
            ))?;
        }
        if total > highest {
            for y in [TOP.saturating_add(12), TOP.saturating_add(17)] {
                let ends = vec![
                    (left.saturating_sub(2), y.saturating_add(3)),
                    (right.saturating_add(2), y.saturating_sub(3)),
                ];
                root.draw(&PathElement::new(ends, INK))?;
            }
        }
        let step = count.div_euclid(5).max(1);
        if index.checked_rem(step) == Some(0) && count.saturating_sub(index).saturating_mul(2) > step {
            let at = Timestamp::new(*start, 0, 0);
            let label = zone.seconds(at).to_string();
            // Days are enough where an interval has several.
            let label = if width >= 86_400 { label.get(..10).unwrap_or(&label) } else { &label };
            let anchor = Pos::new(HPos::Left, VPos::Top);
            root.draw(&Text::new(label.to_owned(), (left, BOTTOM.saturating_add(10)), text(anchor)))?;
        }
    }
    root.present()?;
    Ok(())
}

/// Names with their numbers, as horizontal bars; nothing without names.
pub(super) fn bars(title: &str, rows: &[(String, u64)]) -> Option<Markup> {
    let highest = rows.iter().map(|(_, count)| *count).max().filter(|count| *count > 0)?;
    let mut svg = String::new();
    draw_bars(&mut svg, rows, highest).ok()?;
    Some(html! { figure.bars { (with_title(&svg, title)) } })
}

fn draw_bars(svg: &mut String, rows: &[(String, u64)], highest: u64) -> Drawn {
    let rows_height = u32::try_from(rows.len())?.saturating_mul(BAR_HEIGHT.unsigned_abs());
    let root = SVGBackend::with_string(svg, (560, rows_height)).into_drawing_area();
    let text = |anchor| ("sans-serif", 14).into_font().color(&INK).pos(anchor);
    for (index, (name, count)) in (0_i32..).zip(rows) {
        let top = index.saturating_mul(BAR_HEIGHT).saturating_add(4);
        let middle = top.saturating_add(9);
        let length = count.saturating_mul(240).checked_div(highest).unwrap_or(0);
        let end = NAME_WIDTH.saturating_add(i32::try_from(length)?.max(2));
        let right = Pos::new(HPos::Right, VPos::Center);
        let left = Pos::new(HPos::Left, VPos::Center);
        root.draw(&Text::new(short(name), (NAME_WIDTH.saturating_sub(8), middle), text(right)))?;
        let bottom = top.saturating_add(18);
        root.draw(&Rectangle::new([(NAME_WIDTH, top), (end, bottom)], COLOURS[0].filled()))?;
        root.draw(&Text::new(count.to_string(), (end.saturating_add(8), middle), text(left)))?;
    }
    root.present()?;
    Ok(())
}

/// A name that fits before a bar.
fn short(name: &str) -> String {
    if name.chars().count() <= 34 {
        name.to_owned()
    } else {
        name.chars().take(32).chain("…".chars()).collect()
    }
}

/// Makes the SVG an image with a title, for screen readers, that scales with the page.
fn with_title(svg: &str, title: &str) -> Markup {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let head = svg.split_once('>').map_or("", |(head, _)| head);
    // The size of the drawing.
    let size = |name: &str| {
        let value = head.split_once(&format!(" {name}=\"")).map_or("0", |(_, rest)| rest);
        value.split('"').next().unwrap_or("0").to_owned()
    };
    let view = format!("0 0 {} {}", size("width"), size("height"));
    html! {
        svg role="img" viewBox=(view) aria-label=(title) {
            title { (title) }
            (PreEscaped(body.strip_suffix("</svg>\n").or_else(|| body.strip_suffix("</svg>")).unwrap_or(body)))
        }
    }
}

fn hex(group: usize) -> String {
    let RGBColor(red, green, blue) = COLOURS.get(group).copied().unwrap_or(INK);
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// A number of seconds in words.
fn duration(seconds: u64) -> String {
    match seconds {
        1 => "second".to_owned(),
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{:.1} min", seconds as f64 / 60.0),
        7200..=172_799 => format!("{:.1} h", seconds as f64 / 3600.0),
        _ => format!("{:.1} days", seconds as f64 / 86_400.0),
    }
}
