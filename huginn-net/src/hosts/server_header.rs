//! Operating systems named by Server headers.

use std::sync::{Arc, LazyLock};

use memchr::memmem;

/// Texts of Server headers and the systems that they imply. Microsoft's servers run on Windows. Apache with
/// `ServerTokens OS`, and servers built by distributions, name the system or the distribution in brackets.
const NAMES: &[(&str, &str)] = &[
    ("Microsoft-IIS/", "Windows"),
    ("Microsoft-HTTPAPI/", "Windows"),
    ("(Win32)", "Windows"),
    ("(Win64)", "Windows"),
    ("(Ubuntu)", "Linux"),
    ("(Debian)", "Linux"),
    ("(CentOS", "Linux"),
    ("(Red Hat", "Linux"),
    ("(Fedora", "Linux"),
    ("(Amazon Linux)", "Linux"),
    ("(FreeBSD)", "FreeBSD"),
];

/// An entry of [`NAMES`]; all hosts share its texts.
struct Name {
    search: memmem::Finder<'static>,
    system: Arc<str>,
    text: Arc<str>,
}

/// Searchers, in the order of [`NAMES`].
static SYSTEMS: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let name = |&(text, system): &(&'static str, &str)| Name {
        search: memmem::Finder::new(text),
        system: system.into(),
        text: text.trim_matches(['(', ')', '/']).into(),
    };
    NAMES.iter().map(name).collect()
});

/// Returns the system that a Server header names, and the text that names it.
pub(super) fn system(header: &[u8]) -> Option<(&'static Arc<str>, &'static Arc<str>)> {
    let name = SYSTEMS.iter().find(|name| name.search.find(header).is_some())?;
    Some((&name.system, &name.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_header_names_systems_and_distributions() {
        for (header, want) in [
            ("Apache/2.4.71 (Debian)", Some(("Linux", "Debian"))),
            ("Apache/2.4.6 (CentOS) OpenSSL/1.0.2k-fips", Some(("Linux", "CentOS"))),
            ("Apache/2.2.11 (Win32) PHP/5.3.0", Some(("Windows", "Win32"))),
            ("Microsoft-IIS/7.5", Some(("Windows", "Microsoft-IIS"))),
            ("Apache/2.4.2 (Unix) PHP/4.2.2", None),
            ("nginx", None),
        ] {
            let found = system(header.as_bytes()).map(|(system, text)| (&**system, &**text));
            assert_eq!(found, want, "{header}");
        }
    }
}
