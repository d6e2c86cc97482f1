//! Labels: the names of systems and software.

use std::fmt;
use std::sync::Arc;

/// The label of a group of signatures: the system or software that they identify.
///
/// [`Display`](fmt::Display) writes name and flavor, as p0f prints them. With the feature `serde`, a label is serialized as name, flavor
/// and line: the database has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Label {
    /// Whether the label is generic (type `g`): used only if no specific signature matches.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub generic: bool,
    /// The class of systems, one of [`Database::classes`](crate::Database::classes); `None` for software that is not
    /// part of a system (class `!`): a user-space tool for TCP, any application for HTTP.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub class: Option<Arc<str>>,
    /// The name, such as `Linux`.
    pub name: Arc<str>,
    /// The flavor, such as `3.11 and newer`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub flavor: Option<Arc<str>>,
    /// Systems that such software runs on; empty for a system.
    #[cfg_attr(feature = "serde", serde(skip))]
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

/// Systems that some software runs on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// The system with this name.
    Name(Arc<str>),
    /// All systems of this class (written `@unix`).
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

/// The name of a system in User-Agent strings (`ua_os`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UserAgentSystem {
    /// Name of the system in labels.
    pub name: Arc<str>,
    /// Text that identifies it in a User-Agent; usually the name.
    pub text: Arc<str>,
}
