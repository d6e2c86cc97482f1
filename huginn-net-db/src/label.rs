//! What signatures say that something is.

use std::fmt;
use std::sync::Arc;

/// A label: what the signatures under it identify.
///
/// [`Display`](fmt::Display) is the text that p0f prints: name and flavor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Label {
    /// Whether it is a last resort, taken only where no specific signature matches (type `g`).
    pub generic: bool,
    /// The family of systems, one of [`Database::classes`](crate::Database::classes); `None` for software that is
    /// not part of a system (class `!`): a user-space tool for TCP, any application for HTTP.
    pub class: Option<Arc<str>>,
    /// What it is: `Linux`.
    pub name: Arc<str>,
    /// Which of them: `3.11 and newer`.
    pub flavor: Option<Arc<str>>,
    /// Where such software is known to run; empty for a system.
    pub systems: Vec<System>,
    /// Its line in the file, counted from 1.
    pub line: u32,
}

impl Label {
    /// Whether it is software that is not part of a system (class `!`).
    pub fn is_tool(&self) -> bool {
        self.class.is_none()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.flavor {
            Some(flavor) => write!(f, " {flavor}"),
            None => Ok(()),
        }
    }
}

/// Systems that some software is known to run on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// The one of this name.
    Name(Arc<str>),
    /// All of this class (written `@unix`).
    Class(Arc<str>),
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Class(class) => write!(f, "@{class}"),
        }
    }
}

/// A system as User-Agent strings name it (`ua_os`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UserAgentSystem {
    /// The system's name in labels.
    pub name: Arc<str>,
    /// The text that stands for it in a User-Agent; mostly the name.
    pub text: Arc<str>,
}
