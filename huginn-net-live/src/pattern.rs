//! Patterns of names of interfaces.

use crate::inputs::is_interface;
use crate::{Interface, LiveError};

/// The name that stands for all interfaces.
pub(crate) const ANY: &str = "any";

/// What a pattern that excludes interfaces begins with.
const EXCLUDES: char = '!';

/// Whether a name stands for several interfaces: `any`, a pattern with `*` or `?`, or an exclusion that begins with `!`.
pub fn is_pattern(name: &str) -> bool {
    is_interface(name) && (name == ANY || name.starts_with(EXCLUDES) || has_wildcard(name))
}

/// Returns the interfaces that patterns and names match; an input that is not an interface matches none.
///
/// # Errors
/// A pattern or name is there twice.
pub fn matching<'a>(
    patterns: &[impl AsRef<str>],
    interfaces: &'a [Interface],
) -> Result<Vec<&'a Interface>, LiveError> {
    let names = patterns.iter().map(AsRef::as_ref).filter(|name| is_interface(name));
    let patterns = Patterns::new(names)?;
    Ok(interfaces.iter().filter(|interface| patterns.matches(&interface.name)).collect())
}

/// Patterns that select interfaces together: those that one of them selects, without those that another one excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patterns {
    selects: Vec<String>,
    excludes: Vec<String>,
    /// Whether all interfaces are selected that are not excluded: `any` is a pattern, or none selects.
    selects_all: bool,
}

impl Patterns {
    /// Takes patterns and names.
    ///
    /// # Errors
    /// A pattern is there twice.
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Result<Self, LiveError> {
        let (mut selects, mut excludes): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut has_any = false;
        for name in names {
            let (pattern, list) = match name.strip_prefix(EXCLUDES) {
                Some(pattern) => (pattern, &mut excludes),
                None => (name, &mut selects),
            };
            if list.iter().any(|known| known == pattern) {
                return Err(LiveError::DuplicateInterface { name: name.to_owned() });
            }
            has_any |= name == ANY;
            list.push(pattern.to_owned());
        }
        let selects_all = has_any || selects.is_empty();
        Ok(Self { selects, excludes, selects_all })
    }

    /// Whether an interface is captured.
    pub(crate) fn matches(&self, name: &str) -> bool {
        (self.selects_all || self.names(name)) && !self.excludes.iter().any(|pattern| matches(pattern, name))
    }

    /// Whether every interface is captured, whatever its name.
    #[cfg(target_os = "linux")]
    pub(crate) fn match_every_name(&self) -> bool {
        self.selects_all && self.excludes.is_empty()
    }

    /// Whether a name or a pattern other than `any` selects an interface.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.selects.iter().any(|pattern| pattern != ANY && matches(pattern, name))
    }
}

fn has_wildcard(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Whether a pattern matches a whole name: `*` matches any characters, `?` one byte.
fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.as_bytes(), name.as_bytes());
    // The pattern after the last `*`, and the name that it has yet to match.
    let mut last_star: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (Some((b'*', after)), _) => {
                last_star = Some((after, name));
                pattern = after;
            }
            (Some((b'?', pattern_after)), Some((_, name_after))) => {
                (pattern, name) = (pattern_after, name_after);
            }
            (Some((wanted, pattern_after)), Some((byte, name_after))) if wanted == byte => {
                (pattern, name) = (pattern_after, name_after);
            }
            (None, None) => return true,
            _ => {
                // The last `*` matches one byte more.
                let Some((after, from)) = last_star else { return false };
                let Some((_, rest)) = from.split_first() else { return false };
                last_star = Some((after, rest));
                (pattern, name) = (after, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(typed: &[&str]) -> Vec<&'static str> {
        let patterns = Patterns::new(typed.iter().copied()).unwrap();
        let names = ["lo", "eth0", "eth1", "veth12", "veth1b", "br-ab"];
        names.into_iter().filter(|name| patterns.matches(name)).collect()
    }

    #[test]
    fn patterns_select_and_exclude_together() {
        assert_eq!(matching(&["any"]), ["lo", "eth0", "eth1", "veth12", "veth1b", "br-ab"]);
        assert_eq!(matching(&["eth*"]), ["eth0", "eth1"]);
        assert_eq!(matching(&["*th1?"]), ["veth12", "veth1b"]);
        assert_eq!(matching(&["veth*", "lo", "!veth1b"]), ["lo", "veth12"]);
        assert_eq!(matching(&["!lo", "!veth*"]), ["eth0", "eth1", "br-ab"]);
        assert_eq!(matching(&["any", "!*"]), [""; 0]);
        assert_eq!(matching(&["!veth*", "veth12", "any"]), ["lo", "eth0", "eth1", "br-ab"]);
    }

    #[test]
    fn pattern_with_many_stars_ends() {
        let (stars, name) = ("*a".repeat(1000), "a".repeat(999));
        assert!(!matches(&stars, &name));
        assert!(matches(&stars, &format!("{name}a")));
    }

    #[test]
    fn pattern_typed_twice_is_an_error() {
        let twice = Patterns::new(["!lo", "eth*", "!lo"].into_iter());
        assert!(matches!(twice, Err(LiveError::DuplicateInterface { name }) if name == "!lo"));
    }

    #[test]
    fn only_patterns_stand_for_several_interfaces() {
        let patterns = ["any", "!lo", "veth*", "eth?", "eth0", "udp:4789", "file:/tmp/*", "tcp:h:1"];
        let found: Vec<_> = patterns.into_iter().filter(|name| is_pattern(name)).collect();
        assert_eq!(found, ["any", "!lo", "veth*", "eth?"]);
    }
}
