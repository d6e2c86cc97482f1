//! The grammar of conditions.

use super::check::{Check, Comparison, Operand, Pattern, network};
use super::error::{SelectionError, SelectionErrorKind};
use super::fields::{Results, bit};

/// Maximum number of comparisons of a condition: their results are bits of a number.
const MAX_TESTS: usize = 128;

/// Maximum number of `not` and parentheses in each other: the parser and the condition recurse.
const MAX_CONDITION_DEPTH: usize = 64;

/// A condition of numbered tests.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Test(usize),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

impl Condition {
    /// Whether the condition holds with these results of its tests.
    pub(super) fn holds(&self, results: Results) -> bool {
        match self {
            Self::Test(number) => results & bit(*number) != 0,
            Self::Not(condition) => !condition.holds(results),
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(results)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.holds(results)),
        }
    }
}

/// Whether a condition can hold, and can fail, in a kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) can_hold: bool,
    pub(super) can_fail: bool,
}

impl Condition {
    /// What the condition can be in a kind of event. `of_test`: the outcomes of each test in that kind.
    pub(super) fn outcomes(&self, of_test: &impl Fn(usize) -> Outcomes) -> Outcomes {
        let of = |conditions: &[Self]| -> Vec<Outcomes> {
            conditions.iter().map(|condition| condition.outcomes(of_test)).collect()
        };
        match self {
            Self::Test(number) => of_test(*number),
            Self::Not(condition) => {
                let Outcomes { can_hold, can_fail } = condition.outcomes(of_test);
                Outcomes { can_hold: can_fail, can_fail: can_hold }
            }
            Self::All(conditions) => {
                let parts = of(conditions);
                Outcomes {
                    can_hold: parts.iter().all(|part| part.can_hold),
                    can_fail: parts.iter().any(|part| part.can_fail),
                }
            }
            Self::Any(conditions) => {
                let parts = of(conditions);
                Outcomes {
                    can_hold: parts.iter().any(|part| part.can_hold),
                    can_fail: parts.iter().all(|part| part.can_fail),
                }
            }
        }
    }

    /// Adds the tests that make the condition true by holding.
    pub(super) fn add_wanted(&self, is_negated: bool, numbers: &mut Vec<usize>) {
        match self {
            Self::Test(number) if !is_negated => numbers.push(*number),
            Self::Test(_) => {}
            Self::Not(condition) => condition.add_wanted(!is_negated, numbers),
            Self::All(conditions) | Self::Any(conditions) => {
                for condition in conditions {
                    condition.add_wanted(is_negated, numbers);
                }
            }
        }
    }
}

/// A test of a field.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) path: String,
    pub(super) check: Check,
    /// Characters before the path.
    pub(super) position: usize,
}

/// Parses a condition and its tests.
pub(super) fn condition(text: &str) -> Result<(Condition, Vec<Test>), SelectionError> {
    let mut parser = Parser { rest: text, position: 0, tests: Vec::new(), depth: 0 };
    let condition = parser.any()?;
    parser.skip_blanks();
    if parser.rest.is_empty() {
        Ok((condition, parser.tests))
    } else {
        Err(parser.expected("'and', 'or' or the end"))
    }
}

struct Parser<'t> {
    rest: &'t str,
    /// Characters before the rest.
    position: usize,
    tests: Vec<Test>,
    depth: usize,
}

type Parsed<T> = Result<T, SelectionError>;

impl<'t> Parser<'t> {
    /// `C or C …`
    fn any(&mut self) -> Parsed<Condition> {
        self.joined(["or", "||"], Self::all, Condition::Any)
    }

    /// `C and C …`
    fn all(&mut self) -> Parsed<Condition> {
        self.joined(["and", "&&"], Self::one, Condition::All)
    }

    fn joined(
        &mut self,
        words: [&str; 2],
        part: fn(&mut Self) -> Parsed<Condition>,
        join: fn(Vec<Condition>) -> Condition,
    ) -> Parsed<Condition> {
        let first = part(self)?;
        let mut parts = vec![first];
        while words.into_iter().any(|word| self.take(word)) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() > 1 { join(parts) } else { parts.remove(0) })
    }

    /// `not C`, `(C)` or a test.
    fn one(&mut self) -> Parsed<Condition> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_CONDITION_DEPTH {
            return Err(
                self.error(SelectionErrorKind::TooLarge("more than 64 'not' and parentheses in each other"))
            );
        }
        let condition = if self.take("not") || !self.rest.starts_with("!=") && self.take("!") {
            Condition::Not(Box::new(self.one()?))
        } else if self.take("(") {
            let condition = self.any()?;
            self.require(")")?;
            condition
        } else {
            self.test()?
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(condition)
    }

    /// `FIELD OPERATOR VALUE`
    fn test(&mut self) -> Parsed<Condition> {
        self.skip_blanks();
        if !self.rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Err(self.expected("a field, such as sni"));
        }
        let position = self.position;
        let path = self.take_while(|character| character.is_ascii_alphanumeric() || "_.".contains(character));
        let mut is_negated = self.take("!=");
        let check = if is_negated || self.take("==") {
            self.equal()?
        } else if self.take("<=") {
            Check::Compare(Comparison::LessOrEqual, self.operand()?)
        } else if self.take(">=") {
            Check::Compare(Comparison::GreaterOrEqual, self.operand()?)
        } else if self.take("<") {
            Check::Compare(Comparison::Less, self.operand()?)
        } else if self.take(">") {
            Check::Compare(Comparison::Greater, self.operand()?)
        } else if self.take("~") {
            self.skip_blanks();
            let place = self.position;
            let pattern = self.text()?;
            if Pattern::is_regular_expression(pattern) {
                return Err(SelectionError { position: place, kind: SelectionErrorKind::RegularExpression });
            }
            Check::Like(Pattern::new(pattern))
        } else if self.take("is") {
            is_negated = self.take("not");
            if !self.take("null") {
                return Err(
                    self.expected("null or not null; values are compared by ==, as in: sni == 'www.example'")
                );
            }
            Check::Present
        } else {
            is_negated = self.take("not");
            if self.take("in") {
                Check::In(self.set()?)
            } else if self.take("contains") {
                Check::Like(Pattern::containing(self.text()?))
            } else if is_negated {
                return Err(self.expected("in or contains, as in: sni not in ('a', 'b')"));
            } else {
                return Err(self.expected(self.operator_like()));
            }
        };
        // To have no value is the opposite of having one.
        let is_negated = is_negated != matches!(check, Check::Present);
        let test = match path {
            "ip" | "port" => {
                let client = self.numbered(format!("client.{path}"), check.clone(), position)?;
                Condition::Any(vec![client, self.numbered(format!("server.{path}"), check, position)?])
            }
            _ => self.numbered(path.to_owned(), check, position)?,
        };
        Ok(if is_negated { Condition::Not(Box::new(test)) } else { test })
    }

    /// Adds a test of a field.
    fn numbered(&mut self, path: String, check: Check, position: usize) -> Parsed<Condition> {
        let number = self.tests.len();
        if number == MAX_TESTS {
            return Err(
                self.error(SelectionErrorKind::TooLarge("more than 128 comparisons: write FIELD in (…)"))
            );
        }
        self.tests.push(Test { path, check, position });
        Ok(Condition::Test(number))
    }

    /// The operators, or the one that another spelling stands for.
    fn operator_like(&self) -> &'static str {
        let mut ahead = Parser { rest: self.rest, position: 0, tests: Vec::new(), depth: 0 };
        for (words, meant) in [
            (&["=~", "like", "matches", "ilike", "regex"][..], "~, as in: sni ~ '*.example'"),
            (&["=", "eq", "equals"], "==, as in: sni == 'www.example'"),
            (&["ne"], "!=, as in: sni != 'www.example'"),
            (&["gt", "ge", "lt", "le"], "<, <=, > or >="),
        ] {
            if words.iter().any(|word| ahead.take(word)) {
                return meant;
            }
        }
        "==, !=, <, <=, >, >=, in, contains, ~ or is null"
    }

    /// The value after `==`.
    fn equal(&mut self) -> Parsed<Check> {
        if self.take("null") {
            Ok(Check::Present)
        } else {
            Ok(Check::Compare(Comparison::Equal, self.operand()?))
        }
    }

    /// The values after `in`.
    fn set(&mut self) -> Parsed<Vec<Operand>> {
        if !self.take("(") {
            return self.operand().map(|operand| vec![operand]);
        }
        let mut operands = vec![self.operand()?];
        while self.take(",") {
            operands.push(self.operand()?);
        }
        self.require(")")?;
        Ok(operands)
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.skip_blanks();
        if self.rest.starts_with(['\'', '"']) {
            return self.text().map(|text| Operand::Text(text.to_owned()));
        }
        let (rest, position) = (self.rest, self.position);
        let word =
            self.take_while(|character| character.is_ascii_alphanumeric() || "._:/".contains(character));
        let number = || word.parse().map(Operand::Integer).or_else(|_| word.parse().map(Operand::Float));
        let is_number = word.starts_with(|first: char| first.is_ascii_digit());
        if is_number && self.rest.starts_with('-') {
            (self.rest, self.position) = (rest, position);
            return Err(self.expected("a time in quotes, such as '2022-03-17 08:38'"));
        }
        match word {
            "true" => Ok(Operand::Bool(true)),
            "false" => Ok(Operand::Bool(false)),
            _ => network(word)
                .map(Operand::Network)
                .or_else(|| number().ok().filter(|_| is_number))
                .ok_or_else(|| {
                    (self.rest, self.position) = (rest, position);
                    self.expected("a 'text' in quotes, a number, an address or network, true or false")
                }),
        }
    }

    /// A text in quotes.
    fn text(&mut self) -> Parsed<&'t str> {
        self.skip_blanks();
        let Some(quote) = self.rest.chars().next().filter(|first| matches!(first, '\'' | '"')) else {
            return Err(self.expected("a 'text' in quotes"));
        };
        let inner = self.rest.get(1..).unwrap_or_default();
        let Some(len) = inner.find(quote) else { return Err(self.error(SelectionErrorKind::OpenText)) };
        let (text, behind) = inner.split_at_checked(len).unwrap_or_default();
        self.position = self.position.saturating_add(text.chars().count()).saturating_add(2);
        self.rest = behind.get(1..).unwrap_or_default();
        Ok(text)
    }

    fn skip_blanks(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let len = self.rest.find(|character| !belongs(character)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or_default();
        self.position = self.position.saturating_add(taken.chars().count());
        self.rest = rest;
        taken
    }

    /// Takes a sign, or a word in upper or lower case, after blanks.
    fn take(&mut self, wanted: &str) -> bool {
        self.skip_blanks();
        let Some((start, rest)) = self.rest.split_at_checked(wanted.len()) else { return false };
        let is_word = wanted.starts_with(|first: char| first.is_ascii_alphabetic());
        let goes_on = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || "_.".contains(next));
        let is_taken = start.eq_ignore_ascii_case(wanted) && !(is_word && goes_on);
        if is_taken {
            self.position = self.position.saturating_add(wanted.len());
            self.rest = rest;
        }
        is_taken
    }

    fn require(&mut self, wanted: &'static str) -> Parsed<()> {
        if self.take(wanted) { Ok(()) } else { Err(self.expected(wanted)) }
    }

    /// An error that names the next word or sign.
    fn expected(&mut self, expected: &'static str) -> SelectionError {
        self.skip_blanks();
        let word = self.rest.split(|next: char| !next.is_alphanumeric()).next().unwrap_or_default();
        let found = if word.is_empty() {
            self.rest.chars().take(1).collect()
        } else {
            word.chars().take(32).collect()
        };
        self.error(SelectionErrorKind::Expected { expected, found })
    }

    fn error(&self, kind: SelectionErrorKind) -> SelectionError {
        SelectionError { position: self.position, kind }
    }
}
