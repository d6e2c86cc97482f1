//! What a source opens: an input for each name, and one for all patterns together.

#[cfg(target_os = "linux")]
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::matched::MatchedInterfaces;
use crate::names::InterfaceNames;
use crate::pattern::{ANY, is_pattern};
use crate::{Backend, LiveError, LiveOptions};

/// An input of a source.
pub(crate) enum Target {
    /// An interface, a socket or a stream.
    Named(String),
    /// The interfaces that patterns match.
    #[cfg(target_os = "linux")]
    Matching(Arc<MatchedInterfaces>),
}

impl Target {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            #[cfg(target_os = "linux")]
            Self::Matching(matched) => matched.name(),
        }
    }

    pub(crate) fn is_of_patterns(&self) -> bool {
        !matches!(self, Self::Named(_))
    }
}

/// The inputs of a source.
pub(crate) struct Targets {
    pub(crate) list: Vec<Target>,
    pub(crate) names: InterfaceNames,
}

impl Targets {
    /// Returns the inputs of these names. If one is a pattern, all interfaces are one input: their names are patterns, too.
    ///
    /// # Errors
    /// The backend has no patterns, a pattern is there twice, or the system cannot list interfaces.
    pub(crate) fn new(names: &[impl AsRef<str>], options: &LiveOptions) -> Result<Self, LiveError> {
        let names = names.iter().map(AsRef::as_ref);
        let is_of_libpcap = |name: &str| options.backend == Backend::Pcap && name == ANY;
        let mut patterns = names.clone().filter(|name| is_pattern(name) && !is_of_libpcap(name));
        match patterns.next() {
            None => Ok(Self::named(names)),
            Some(name) if options.backend == Backend::Pcap => {
                Err(LiveError::PatternNeedsPacket { name: name.to_owned() })
            }
            Some(_) => Self::matching(names),
        }
    }

    fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<String> = names.map(str::to_owned).collect();
        let list = names.iter().cloned().map(Target::Named).collect();
        Self { list, names: names.into() }
    }

    #[cfg(target_os = "linux")]
    fn matching<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<Self, LiveError> {
        use crate::inputs::is_interface;
        use crate::pattern::Patterns;

        let patterns = names.clone().filter(|name| is_interface(name));
        let name = patterns.clone().collect::<Vec<_>>().join(",");
        let place = names.clone().take_while(|name| !is_interface(name)).count();
        let mut inputs: Vec<String> = names.filter(|name| !is_interface(name)).map(str::to_owned).collect();
        inputs.insert(place, name.clone());
        let patterns = Patterns::new(patterns)?;
        let matched = Arc::new(MatchedInterfaces::new(name, patterns, [place, inputs.len()])?);
        let target = |(index, name): (usize, &String)| match index {
            index if index == place => Target::Matching(Arc::clone(&matched)),
            _ => Target::Named(name.clone()),
        };
        let list = inputs.iter().enumerate().map(target).collect();
        Ok(Self { list, names: InterfaceNames::new(inputs, Some(matched.names())) })
    }

    /// The backend packet is that of Linux.
    #[cfg(not(target_os = "linux"))]
    fn matching<'a>(_: impl Iterator<Item = &'a str> + Clone) -> Result<Self, LiveError> {
        Err(LiveError::NoBackend)
    }
}
