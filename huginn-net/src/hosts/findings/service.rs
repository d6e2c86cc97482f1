//! Services that contact their servers at regular intervals, by port and by name.

use crate::observation::BeaconService;

/// Ports whose service clients poll, by the registry of IANA. Those of HTTP and TLS say nothing.
const PORTS: &str = include_str!("service/ports.txt");

/// Domains whose names say what clients ask for, from the documents of their operators. Names below them count, too.
const NAMES: &str = include_str!("service/names.txt");

/// First words of User-Agents, from the documents of the programs that send them.
const USER_AGENTS: &str = include_str!("service/user_agents.txt");

/// The service that a name, a User-Agent or a port stands for. The name counts first.
pub(super) fn service(name: Option<&[u8]>, port: u16, user_agent: Option<&[u8]>) -> Option<BeaconService> {
    let by_name = name.and_then(|name| find(NAMES, |domain| is_below(name, domain)));
    let by_agent =
        || user_agent.and_then(|text| find(USER_AGENTS, |start| text.starts_with(start.as_bytes())));
    let by_port = || find(PORTS, |number| number.parse() == Ok(port));
    by_name
        .map(BeaconService::Name)
        .or_else(|| by_agent().map(BeaconService::UserAgent))
        .or_else(|| by_port().map(BeaconService::Port))
}

/// The service of the first row whose key fits.
fn find(rows: &'static str, fits: impl Fn(&str) -> bool) -> Option<&'static str> {
    rows.lines().filter_map(|row| row.split_once('\t')).find(|(key, _)| fits(key)).map(|(_, service)| service)
}

fn is_below(name: &[u8], domain: &str) -> bool {
    let prefix = name.strip_suffix(domain.as_bytes());
    prefix.is_some_and(|prefix| prefix.last().is_none_or(|last| *last == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        let ports = || PORTS.lines().map(|row| row.split_once('\t').unwrap().0.parse::<u16>().unwrap());
        assert!(ports().is_sorted() && NAMES.lines().is_sorted() && USER_AGENTS.lines().is_sorted());
    }

    #[test]
    fn names_below_a_domain_have_its_service() {
        assert_eq!(
            service(Some(b"courier.push.apple.com"), 443, None),
            Some(BeaconService::Name("push messages"))
        );
        assert_eq!(service(Some(b"push.apple.com"), 443, None), Some(BeaconService::Name("push messages")));
        for name in ["notpush.apple.com", "push.apple.com.example", "example.com", ""] {
            assert_eq!(service(Some(name.as_bytes()), 443, None), None, "{name}");
        }
        assert_eq!(service(None, 993, None), Some(BeaconService::Port("imaps")));
    }

    #[test]
    fn server_name_precedes_user_agent_of_poller() {
        let monitoring = Some(BeaconService::UserAgent("monitoring"));
        assert_eq!(service(Some(b"example.com"), 9100, Some(b"Prometheus/2.53.0")), monitoring);
        let named = Some(BeaconService::Name("push messages"));
        assert_eq!(service(Some(b"push.apple.com"), 443, Some(b"Prometheus/2.53.0")), named);
        assert_eq!(service(None, 80, Some(b"evil Prometheus/")), None);
    }
}
