//! Reading a signature file: its lines, sections and labels.

use std::sync::Arc;

use huginn_net_tcp::Mtu;
use memchr::memmem::Finder;

use crate::database::{Entry, LinkEntry};
use crate::syntax::{Part, Trouble, number};
use crate::{Database, DatabaseError, Fault, HttpPattern, Label, System, TcpPattern, UserAgentSystem};

/// Reads a whole file.
pub(crate) fn parse(text: &str) -> Result<Database, DatabaseError> {
    let mut parser = Parser::default();
    for (index, line) in text.lines().enumerate() {
        parser.line = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
        parser.read_line(line)?;
    }
    parser.leave_label();
    Ok(parser.database)
}

#[derive(Default)]
struct Parser {
    database: Database,
    /// Counted from 1.
    line: u32,
    section: Option<Section>,
    subject: Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Mtu,
    TcpRequest,
    TcpResponse,
    HttpRequest,
    HttpResponse,
}

/// What the signatures that follow belong to.
#[derive(Default)]
enum Subject {
    /// No label since the section began.
    #[default]
    None,
    /// A label of class `!`, to which `sys` is still to come.
    Tool(Label),
    /// A label that is complete.
    Label(Arc<Label>),
    /// A label of the section `[mtu]`.
    Link(Arc<str>),
}

impl Parser {
    fn read_line(&mut self, text: &str) -> Result<(), DatabaseError> {
        self.read_statement(Part::line(text).trim_start()).map_err(|refusal| match refusal {
            Refusal::Trouble(trouble) => trouble.in_line(self.line, text),
            Refusal::Error(error) => error,
        })
    }

    fn read_statement(&mut self, statement: Part<'_>) -> Result<(), Refusal> {
        if statement.text.is_empty() || statement.text.starts_with(';') {
            return Ok(());
        }
        if statement.text.starts_with('[') {
            return Ok(self.enter_section(statement.trim())?);
        }
        let Some((key, value)) = statement.split_once('=') else {
            return Err(statement
                .trouble(Fault::Statement { text: statement.text.trim_end().into() })
                .into());
        };
        match key.trim() {
            // What an HTTP signature ends with may be a blank.
            key if key.text == "sig" => self.signature(key, value.trim_start()),
            key => Ok(self.assign(key, value.trim())?),
        }
    }

    fn enter_section(&mut self, name: Part<'_>) -> Result<(), Trouble> {
        self.leave_label();
        self.section = Some(match name.text {
            "[mtu]" => Section::Mtu,
            "[tcp:request]" => Section::TcpRequest,
            "[tcp:response]" => Section::TcpResponse,
            "[http:request]" => Section::HttpRequest,
            "[http:response]" => Section::HttpResponse,
            other => return Err(name.trouble(Fault::Section { name: other.into() })),
        });
        Ok(())
    }

    /// Keeps a label to which `sys` has not come, so that a lint can tell.
    fn leave_label(&mut self) {
        if let Subject::Tool(label) = std::mem::take(&mut self.subject) {
            self.database.labels.push(Arc::new(label));
        }
    }

    fn assign(&mut self, key: Part<'_>, value: Part<'_>) -> Result<(), Trouble> {
        match key.text {
            "classes" if self.section.is_some() => Err(key.trouble(Fault::ClassesInSection)),
            "classes" => self.classes(value),
            "ua_os" => match (self.section, &self.subject) {
                (Some(Section::HttpRequest), Subject::None) => self.user_agent_systems(value),
                _ => Err(key.trouble(Fault::UaOsMisplaced)),
            },
            "label" => match (self.section, &self.subject) {
                (None, _) => Err(key.trouble(Fault::LabelOutsideSection)),
                (_, Subject::Tool(_)) => Err(key.trouble(Fault::SysMissing)),
                (Some(Section::Mtu), _) => self.link(value),
                _ => self.label(value),
            },
            "sys" => match std::mem::take(&mut self.subject) {
                Subject::Tool(mut label) => {
                    label.systems = self.systems(value)?;
                    self.complete(label);
                    Ok(())
                }
                _ => Err(key.trouble(Fault::SysMisplaced)),
            },
            other => Err(key.trouble(Fault::Key { key: other.into() })),
        }
    }

    fn classes(&mut self, list: Part<'_>) -> Result<(), Trouble> {
        for class in names(list) {
            if class.text.is_empty() || !class.text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return Err(class.trouble(Fault::ClassName { name: class.text.into() }));
            }
            self.database.classes.push(class.text.into());
        }
        Ok(())
    }

    /// `Linux,iOS=[iPad]`
    fn user_agent_systems(&mut self, list: Part<'_>) -> Result<(), Trouble> {
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
                None => return Err(after.trouble(Fault::BracketedValue { value: after.text.into() })),
            };
        }
        Ok(())
    }

    fn link(&mut self, name: Part<'_>) -> Result<(), Trouble> {
        if name.text.is_empty() {
            return Err(name.trouble(Fault::EmptyLabel));
        }
        self.subject = Subject::Link(name.text.into());
        Ok(())
    }

    /// `type:class:name:flavor`
    fn label(&mut self, text: Part<'_>) -> Result<(), Trouble> {
        let too_few = |found| move || text.trouble(Fault::LabelFieldCount { found });
        let (kind, rest) = text.split_once(':').ok_or_else(too_few(1))?;
        let (class, rest) = rest.split_once(':').ok_or_else(too_few(2))?;
        let (name, flavor) = rest.split_once(':').ok_or_else(too_few(3))?;
        let generic = match kind.text {
            "s" => false,
            "g" => true,
            other => return Err(kind.trouble(Fault::LabelType { value: other.into() })),
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
            self.subject = Subject::Tool(label);
        } else {
            self.complete(label);
        }
        Ok(())
    }

    fn complete(&mut self, label: Label) {
        let label = Arc::new(label);
        self.database.labels.push(label.clone());
        self.subject = Subject::Label(label);
    }

    /// A class of `classes`; case does not count.
    fn class(&self, name: Part<'_>) -> Result<Arc<str>, Trouble> {
        let known = self.database.classes.iter().find(|class| class.eq_ignore_ascii_case(name.text));
        known.cloned().ok_or_else(|| name.trouble(Fault::UnknownClass { name: name.text.into() }))
    }

    /// `Linux,@win`
    fn systems(&self, list: Part<'_>) -> Result<Vec<System>, Trouble> {
        let system = |name: Part<'_>| match name.strip_prefix("@") {
            Some(class) => self.class(class).map(System::Class),
            None => checked_name(name).map(|name| System::Name(name.text.into())),
        };
        names(list).map(system).collect()
    }

    fn signature(&mut self, key: Part<'_>, value: Part<'_>) -> Result<(), Refusal> {
        let label = match &self.subject {
            Subject::Label(label) => label.clone(),
            Subject::Link(link) => {
                let mtu = parse_mtu(value.trim())?;
                self.database.link_by_mtu.entry(mtu).or_insert_with(|| link.clone());
                self.database.links.push(LinkEntry { mtu, link: link.clone(), line: self.line });
                return Ok(());
            }
            Subject::Tool(_) => return Err(key.trouble(Fault::SysMissing).into()),
            Subject::None => return Err(key.trouble(Fault::SigWithoutLabel).into()),
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

/// Why a line is refused: it cannot be read, or the signature in it is one too many.
enum Refusal {
    Trouble(Trouble),
    Error(DatabaseError),
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<DatabaseError> for Refusal {
    fn from(error: DatabaseError) -> Self {
        Self::Error(error)
    }
}

/// The names of a list between commas; none of an empty one.
fn names(list: Part<'_>) -> impl Iterator<Item = Part<'_>> {
    list.split(',').map(Part::trim).filter(move |_| !list.text.is_empty())
}

/// A name made of what names may hold.
fn checked_name(name: Part<'_>) -> Result<Part<'_>, Trouble> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || " ./-_!?()".contains(c);
    if name.text.is_empty() || !name.text.chars().all(allowed) {
        return Err(name.trouble(Fault::Name { name: name.text.into() }));
    }
    Ok(name)
}

fn parse_mtu(text: Part<'_>) -> Result<Mtu, Trouble> {
    match number::<u16>(text.text) {
        Some(mtu) if mtu != 0 => Ok(Mtu(mtu.into())),
        _ => Err(text.trouble(Fault::Mtu { value: text.text.into() })),
    }
}
