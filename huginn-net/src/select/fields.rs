//! The fields that a condition names, in each kind of event.

use std::fmt::Display;

use huginn_net_core::Timestamp;

use super::check::{Check, Operand, Value, element};
use super::error::{SelectionError, SelectionErrorKind};
use super::parse::{Outcomes, Test};
use super::values::Values;
use crate::Observation;
use crate::alert::FINDING_NAMES;
use crate::record::{EVENT_NAMES, EventKind, FieldInfo, ValueType, ValueVisitor, fields_of_event};

/// The tests of a condition at the places of their fields, for each kind of event.
#[derive(Clone, Debug)]
pub(super) struct Places {
    by_event: Vec<Vec<PlacedTest>>,
}

/// A test at the columns of its field.
#[derive(Clone, Debug)]
pub(super) struct PlacedTest {
    column: usize,
    columns: usize,
    check: Check,
    /// Whether the field is the name of the kind itself.
    is_event: bool,
    /// Number of the test.
    number: usize,
}

impl PlacedTest {
    /// Whether a column is one of the field's.
    fn covers(&self, column: usize) -> bool {
        (self.column..self.column.saturating_add(self.columns)).contains(&column)
    }
}

/// The results of the tests of a condition, a bit for each.
pub(super) type Results = u128;

impl Places {
    pub(super) fn new(tests: Vec<Test>) -> Result<Self, SelectionError> {
        let mut by_event = vec![Vec::new(); EVENT_NAMES.len()];
        for (number, Test { path, mut check, position }) in tests.into_iter().enumerate() {
            if path == "ip" || path.ends_with(".ip") {
                check = check.of_addresses().ok_or_else(|| {
                    let expected =
                        "compared by ==, != or in with an address, 10.0.0.1, or a network, 10.0.0.0/8";
                    SelectionError {
                        position,
                        kind: SelectionErrorKind::Type { field: path.clone(), expected },
                    }
                })?;
            }
            if let Some(kind) = unknown_value(&path, &check) {
                return Err(SelectionError { position, kind });
            }
            let (mut found, mut is_placed) = (None, false);
            // Which operands a value may have.
            let mut can_hold = vec![false; check.operands()];
            let mut never = None;
            for (tests, event) in by_event.iter_mut().zip(EVENT_NAMES.iter().copied()) {
                let fields = fields_of_event(event).unwrap_or_default();
                let Some(place) = find(&path, &fields) else { continue };
                let values = Values::of_field(event, &path, place.value_type);
                found = Some(description(place.value_type, &check));
                let Some(check) = check.of_type(place.value_type) else {
                    if values.are_texts() {
                        never.get_or_insert(values);
                    }
                    continue;
                };
                if check.is_ordered() && !values.has_order() {
                    found = Some("compared by ==, !=, in or ~: its values have no order");
                    continue;
                }
                never.get_or_insert(values);
                if let Some(check) = check.narrowed(values, &mut can_hold) {
                    tests.push(PlacedTest {
                        column: place.column,
                        columns: place.value_type.columns(),
                        check,
                        is_event: path == "event",
                        number,
                    });
                    is_placed = true;
                }
            }
            let wrong = can_hold.iter().position(|can_hold| !can_hold);
            let kind = match (never.zip(wrong), found) {
                (Some((values, wrong)), _) => SelectionErrorKind::Never {
                    value: check.written().into_iter().nth(wrong).unwrap_or_default(),
                    form: values.to_string(),
                    field: path,
                },
                (None, Some(_)) if is_placed => continue,
                (None, Some(expected)) => SelectionErrorKind::Type { field: path, expected },
                (None, None) => SelectionErrorKind::UnknownField(path),
            };
            return Err(SelectionError { position, kind });
        }
        Ok(Self { by_event })
    }

    /// The kinds of events in which a test can hold, for each test of `numbers`. A test of `event` holds in the kinds that it names:
    /// these are returned one by one.
    pub(super) fn kinds_of(&self, numbers: &[usize]) -> Vec<Vec<&'static str>> {
        let mut kinds = Vec::new();
        for number in numbers {
            let mut can_hold = Vec::new();
            for (tests, event) in self.by_event.iter().zip(EVENT_NAMES.iter().copied()) {
                let Some(test) = tests.iter().find(|test| test.number == *number) else { continue };
                if test.is_event && !test.check.holds(Value::Text(event)) {
                    continue;
                }
                if test.is_event && test.check.texts().next().is_some() {
                    kinds.push(vec![event]);
                } else {
                    can_hold.push(event);
                }
            }
            if !can_hold.is_empty() {
                kinds.push(can_hold);
            }
        }
        kinds
    }

    /// The names of the kinds of events, and the outcomes that a test can have in each.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&'static str, impl Fn(usize) -> Outcomes)> {
        EVENT_NAMES.iter().copied().zip(&self.by_event).map(|(event, tests)| {
            let outcomes = move |number| match tests.iter().find(|test| test.number == number) {
                None => Outcomes { can_hold: false, can_fail: true },
                Some(test) if test.is_event => {
                    let can_hold = test.check.holds(Value::Text(event));
                    Outcomes { can_hold, can_fail: !can_hold }
                }
                Some(_) => Outcomes { can_hold: true, can_fail: true },
            };
            (event, outcomes)
        })
    }

    /// The tests of the kind of an event.
    pub(super) fn of_kind(&self, observation: &Observation) -> &[PlacedTest] {
        self.by_event.get(EventKind::of(observation).number()).map_or(&[], Vec::as_slice)
    }
}

/// A value that no event has, of a field with few values.
fn unknown_value(path: &str, check: &Check) -> Option<SelectionErrorKind> {
    let (field, known): (_, &'static [&'static str]) = match path {
        "event" => ("event", EVENT_NAMES),
        "finding" => ("finding", &**FINDING_NAMES),
        _ => return None,
    };
    let value = check.texts().find(|value| !known.contains(value))?.to_owned();
    Some(SelectionErrorKind::UnknownValue { field, value, known })
}

/// The place of a field.
struct Place {
    column: usize,
    value_type: ValueType,
}

/// Finds a field by its path.
fn find(path: &str, fields: &[FieldInfo]) -> Option<Place> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let mut column = 0_usize;
    for field in fields {
        if field.name == name {
            let Some(rest) = rest else { return Some(Place { column, value_type: field.value_type }) };
            let within = find(rest, field.value_type.fields())?;
            return Some(Place { column: column.saturating_add(within.column), ..within });
        }
        column = column.saturating_add(field.value_type.columns());
    }
    None
}

/// How the values of a type are compared.
fn description(value_type: ValueType, check: &Check) -> &'static str {
    match (element(value_type), check) {
        (ValueType::Object(_) | ValueType::List(_), _) => {
            "an object: name one of its fields, or compare it with null"
        }
        (_, Check::Like(_)) => "not a text: ~ is for texts",
        (ValueType::Text, Check::Compare(_, Operand::Network(_))) => {
            "compared with an address or network by ==, != or in"
        }
        (ValueType::Text, _) => "a text: write 'text', or a network such as 10.0.0.0/8",
        (ValueType::Bool, _) => "true or false: write == true or == false",
        (ValueType::Integer { .. } | ValueType::Float, _) => "a number: write 443",
        (ValueType::Time, _) => "a time: write '2022-03-17 08:38', in UTC",
    }
}

/// Tests the values of an event in the order of its fields.
pub(super) struct Tester<'s> {
    tests: &'s [PlacedTest],
    column: usize,
    /// The first column and the number of columns of each list around the next value.
    lists: Vec<(usize, usize)>,
    pub(super) results: Results,
}

impl<'s> Tester<'s> {
    pub(super) fn new(tests: &'s [PlacedTest]) -> Self {
        Self { tests, column: 0, lists: Vec::new(), results: 0 }
    }

    /// Tests the value of the next column.
    fn take<'v>(&mut self, value: impl FnOnce() -> Value<'v>) {
        let Self { tests, column, results, .. } = self;
        let mut wanted = tests.iter().filter(|test| test.covers(*column)).peekable();
        if wanted.peek().is_some() {
            let value = value();
            for test in wanted.filter(|test| test.check.holds(value)) {
                *results |= bit(test.number);
            }
        }
        *column = column.saturating_add(1);
    }
}

/// The bit of a test in the results.
pub(super) fn bit(number: usize) -> Results {
    u32::try_from(number).ok().and_then(|number| 1_u128.checked_shl(number)).unwrap_or_default()
}

impl ValueVisitor for Tester<'_> {
    fn text(&mut self, text: &str) {
        self.take(|| Value::Text(text));
    }

    fn display(&mut self, value: impl Display) {
        let is_tested = self.tests.iter().any(|test| test.covers(self.column));
        let text = if is_tested { value.to_string() } else { String::new() };
        self.take(|| Value::Text(&text));
    }

    fn bool(&mut self, value: bool) {
        self.take(|| Value::Bool(value));
    }

    fn integer(&mut self, value: u64) {
        self.take(|| Value::Integer(value));
    }

    fn float(&mut self, value: f64) {
        self.take(|| Value::Float(value));
    }

    fn time(&mut self, time: Timestamp) {
        self.take(|| Value::Time(time));
    }

    fn seconds(&mut self, seconds: i64) {
        self.take(|| Value::Seconds(seconds));
    }

    fn absent(&mut self, columns: usize) {
        self.column = self.column.saturating_add(columns);
    }

    fn begin_list(&mut self, columns: usize) {
        self.lists.push((self.column, columns));
    }

    fn begin_element(&mut self) {
        self.column = self.lists.last().map_or(self.column, |(first, _)| *first);
    }

    fn end_list(&mut self) {
        if let Some((first, columns)) = self.lists.pop() {
            self.column = first.saturating_add(columns);
        }
    }
}
