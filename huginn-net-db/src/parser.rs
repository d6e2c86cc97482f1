//! Parses signature files: lines, sections and labels.

use huginn_net_wire::quoted;
use std::collections::HashMap;
use std::sync::Arc;

use huginn_net_tcp::Mtu;
use memchr::memmem::Finder;

use crate::entry::{Entry, LinkEntry};
use crate::syntax::{Part, SyntaxError, number};
use crate::{Database, DatabaseError, Fault, HttpPattern, Label, System, TcpPattern, UserAgentSystem};

/// Parses a complete file. Labels may also use the classes of `base`.
pub(crate) fn parse(text: &str, base: Option<&Database>) -> Result<Database, DatabaseError> {
    let mut parser = Parser::default();
    if let Some(base) = base {
        for class in &base.classes {
            parser.base_classes.entry(class.to_ascii_lowercase()).or_insert_with(|| Arc::clone(class));
        }
        parser.database.base_classes = base.classes.clone();
        parser.database.base_systems = base.system_names().map(Into::into).collect();
    }
    for (index, line) in text.lines().enumerate() {
        parser.line = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
        parser.read_line(line)?;
    }
    parser.leave_label();
    let mut database = parser.database;
    let Database { tcp_request, tcp_response, labels_without_flavor, .. } = &mut database;
    let mut by_system = HashMap::new();
    let mut without_flavor = |label: &Label| {
        let new = || {
            let label = Arc::new(Label { generic: false, flavor: None, ..label.clone() });
            labels_without_flavor.push(Arc::clone(&label));
            label
        };
        Arc::clone(by_system.entry((Arc::clone(&label.name), label.class.clone())).or_insert_with(new))
    };
    tcp_request.finish(&mut without_flavor);
    tcp_response.finish(&mut without_flavor);
    database.http_request.finish();
    database.http_response.finish();
    Ok(database)
}

#[derive(Default)]
struct Parser {
    database: Database,
    /// Counted from 1.
    line: u32,
    section: Option<Section>,
    current_label: CurrentLabel,
    /// Classes by their names in lower case, and those of the base.
    classes: HashMap<String, Arc<str>>,
    base_classes: HashMap<String, Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Mtu,
    TcpRequest,
    TcpResponse,
    HttpRequest,
    HttpResponse,
}

/// The label of the following signatures.
#[derive(Default)]
enum CurrentLabel {
    /// No label since the start of the section.
    #[default]
    None,
    /// A label of class `!` before its `sys` line.
    Tool(Label),
    /// A complete label.
    Label(Arc<Label>),
    /// A label of the section `[mtu]`.
    Link(Arc<str>),
}

impl Parser {
    fn read_line(&mut self, text: &str) -> Result<(), DatabaseError> {
        self.read_statement(Part::line(text).trim_start()).map_err(|error| match error {
            LineError::Syntax(error) => error.in_line(self.line, text),
            LineError::Error(error) => error,
        })
    }

    fn read_statement(&mut self, statement: Part<'_>) -> Result<(), LineError> {
        if statement.text.is_empty() || statement.text.starts_with(';') {
            return Ok(());
        }
        if statement.text.starts_with('[') {
            return Ok(self.enter_section(statement.trim())?);
        }
        let Some((key, value)) = statement.split_once('=') else {
            return Err(statement.error(Fault::Statement { text: quoted(statement.text.trim_end()) }).into());
        };
        match key.trim() {
            // The last field of an HTTP signature may end with a blank.
            key if key.text == "sig" => self.signature(key, value.trim_start()),
            key => Ok(self.assign(key, value.trim())?),
        }
    }

    fn enter_section(&mut self, name: Part<'_>) -> Result<(), SyntaxError> {
        self.leave_label();
        self.section = Some(match name.text {
            "[mtu]" => Section::Mtu,
            "[tcp:request]" => Section::TcpRequest,
            "[tcp:response]" => Section::TcpResponse,
            "[http:request]" => Section::HttpRequest,
            "[http:response]" => Section::HttpResponse,
            other => return Err(name.error(Fault::Section { name: quoted(other) })),
        });
        Ok(())
    }

    /// Keeps a label without its `sys` line, so that the lint can report it.
    fn leave_label(&mut self) {
        if let CurrentLabel::Tool(label) = std::mem::take(&mut self.current_label) {
            self.database.labels.push(Arc::new(label));
        }
    }

    fn assign(&mut self, key: Part<'_>, value: Part<'_>) -> Result<(), SyntaxError> {
        match key.text {
            "classes" if self.section.is_some() => Err(key.error(Fault::ClassesInSection)),
            "classes" => self.classes(value),
            "ua_os" => match (self.section, &self.current_label) {
                (Some(Section::HttpRequest), CurrentLabel::None) => self.user_agent_systems(value),
                _ => Err(key.error(Fault::UaOsMisplaced)),
            },
            "label" => match (self.section, &self.current_label) {
                (None, _) => Err(key.error(Fault::LabelOutsideSection)),
                (_, CurrentLabel::Tool(_)) => Err(key.error(Fault::SysMissing)),
                (Some(Section::Mtu), _) => self.link(value),
                _ => self.label(value),
            },
            "sys" => match std::mem::take(&mut self.current_label) {
                CurrentLabel::Tool(mut label) => {
                    label.systems = self.systems(value)?;
                    self.complete(label);
                    Ok(())
                }
                _ => Err(key.error(Fault::SysMisplaced)),
            },
            other => Err(key.error(Fault::Key { key: quoted(other) })),
        }
    }

    fn classes(&mut self, list: Part<'_>) -> Result<(), SyntaxError> {
        for class in names(list) {
            if class.text.is_empty() || !class.text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(class.error(Fault::ClassName { name: quoted(class.text) }));
            }
            let name: Arc<str> = class.text.into();
            self.classes.entry(name.to_ascii_lowercase()).or_insert_with(|| Arc::clone(&name));
            self.database.classes.push(name);
        }
        Ok(())
    }

    /// Parses `Linux,iOS=[iPad]`.
    fn user_agent_systems(&mut self, list: Part<'_>) -> Result<(), SyntaxError> {
        let mut rest = list;
        while !rest.text.is_empty() {
            let (name, after) = rest.trim().take_while(|c| c != ',' && c != '=');
            let name = checked_name(name.trim())?;
            let (text, after) = match after.strip_prefix("=") {
                Some(value) => value.bracketed()?,
                None => (name, after),
            };
            self.database.user_agent_searches.push(Finder::new(text.text).into_owned());
            self.database
                .user_agent_systems
                .push(UserAgentSystem { name: name.text.into(), text: text.text.into() });
            rest = match after.strip_prefix(",") {
                Some(next) => next,
                None if after.text.is_empty() => after,
                None => return Err(after.error(Fault::BracketedValue { value: quoted(after.text) })),
            };
        }
        Ok(())
    }

    fn link(&mut self, name: Part<'_>) -> Result<(), SyntaxError> {
        if name.text.is_empty() {
            return Err(name.error(Fault::EmptyLabel));
        }
        self.current_label = CurrentLabel::Link(name.text.into());
        Ok(())
    }

    /// Parses `type:class:name:flavor`.
    fn label(&mut self, text: Part<'_>) -> Result<(), SyntaxError> {
        let too_few = |found| move || text.error(Fault::LabelFieldCount { found });
        let (kind, rest) = text.split_once(':').ok_or_else(too_few(1))?;
        let (class, rest) = rest.split_once(':').ok_or_else(too_few(2))?;
        let (name, flavor) = rest.split_once(':').ok_or_else(too_few(3))?;
        let generic = match kind.text {
            "s" => false,
            "g" => true,
            other => return Err(kind.error(Fault::LabelType { value: quoted(other) })),
        };
        let class = if class.text == "!" { None } else { Some(self.class(class)?) };
        let label = Label {
            generic,
            class,
            name: checked_name(name)?.text.into(),
            flavor: Some(flavor.text).filter(|flavor| !flavor.is_empty()).map(Into::into),
            systems: Vec::new(),
            line: self.line,
        };
        if label.is_tool() {
            self.current_label = CurrentLabel::Tool(label);
        } else {
            self.complete(label);
        }
        Ok(())
    }

    fn complete(&mut self, label: Label) {
        let label = Arc::new(label);
        self.database.labels.push(label.clone());
        self.current_label = CurrentLabel::Label(label);
    }

    /// Looks up a class of `classes`, ignoring case.
    fn class(&self, name: Part<'_>) -> Result<Arc<str>, SyntaxError> {
        let lower = name.text.to_ascii_lowercase();
        let known = self.classes.get(&lower).or_else(|| self.base_classes.get(&lower));
        known.cloned().ok_or_else(|| name.error(Fault::UnknownClass { name: quoted(name.text) }))
    }

    /// Parses `Linux,@win`.
    fn systems(&self, list: Part<'_>) -> Result<Vec<System>, SyntaxError> {
        let system = |name: Part<'_>| match name.strip_prefix("@") {
            Some(class) => self.class(class).map(System::Class),
            None => checked_name(name).map(|name| System::Name(name.text.into())),
        };
        names(list).map(system).collect()
    }

    fn signature(&mut self, key: Part<'_>, value: Part<'_>) -> Result<(), LineError> {
        let label = match &self.current_label {
            CurrentLabel::Label(label) => label.clone(),
            CurrentLabel::Link(link) => {
                let mtu = parse_mtu(value.trim())?;
                self.database.link_by_mtu.entry(mtu).or_insert_with(|| link.clone());
                self.database.links.push(LinkEntry { mtu, link: link.clone(), line: self.line });
                return Ok(());
            }
            CurrentLabel::Tool(_) => return Err(key.error(Fault::SysMissing).into()),
            CurrentLabel::None => return Err(key.error(Fault::SigWithoutLabel).into()),
        };
        let line = self.line;
        match self.section {
            Some(Section::TcpRequest) => {
                let pattern = TcpPattern::parse(value.trim())?;
                self.database.tcp_request.push(Entry { pattern, label, line })?;
            }
            Some(Section::TcpResponse) => {
                let pattern = TcpPattern::parse(value.trim())?;
                self.database.tcp_response.push(Entry { pattern, label, line })?;
            }
            Some(Section::HttpRequest) => {
                let pattern = HttpPattern::parse(value)?;
                let Database { http_request, header_names, .. } = &mut self.database;
                http_request.push(Entry { pattern, label, line }, header_names)?;
            }
            Some(Section::HttpResponse) => {
                let pattern = HttpPattern::parse(value)?;
                let Database { http_response, header_names, .. } = &mut self.database;
                http_response.push(Entry { pattern, label, line }, header_names)?;
            }
            Some(Section::Mtu) | None => {}
        }
        Ok(())
    }
}

/// Why a line is rejected: a syntax error, or a signature that an earlier one covers.
enum LineError {
    Syntax(SyntaxError),
    Error(DatabaseError),
}

impl From<SyntaxError> for LineError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

impl From<DatabaseError> for LineError {
    fn from(error: DatabaseError) -> Self {
        Self::Error(error)
    }
}

/// The comma-separated names of a list; none for an empty list.
fn names(list: Part<'_>) -> impl Iterator<Item = Part<'_>> {
    list.split(',').map(Part::trim).filter(move |_| !list.text.is_empty())
}

/// Checks the characters of a name.
fn checked_name(name: Part<'_>) -> Result<Part<'_>, SyntaxError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " ./-_!?()".contains(c);
    if name.text.is_empty() || !name.text.chars().all(allowed) {
        return Err(name.error(Fault::Name { name: quoted(name.text) }));
    }
    Ok(name)
}

fn parse_mtu(text: Part<'_>) -> Result<Mtu, SyntaxError> {
    match number::<u16>(text.text) {
        Some(mtu) if mtu != 0 => Ok(Mtu(mtu.into())),
        _ => Err(text.error(Fault::Mtu { value: quoted(text.text) })),
    }
}
