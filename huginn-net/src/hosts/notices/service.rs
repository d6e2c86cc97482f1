//! Services that contact their servers at regular intervals, by port and by name.

use crate::finding::BeaconService;

/// Ports whose service clients poll, by the registry of IANA. Those of HTTP and TLS say nothing.
const PORTS: [(u16, &str); 30] = [
    (22, "ssh"),
    (25, "smtp"),
    (53, "dns"),
    (88, "kerberos"),
    (110, "pop3"),
    (119, "nntp"),
    (123, "ntp"),
    (143, "imap"),
    (161, "snmp"),
    (179, "bgp"),
    (389, "ldap"),
    (445, "smb"),
    (465, "submissions"),
    (514, "syslog"),
    (515, "printer"),
    (587, "submission"),
    (631, "ipp"),
    (636, "ldaps"),
    (853, "dns over tls"),
    (990, "ftps"),
    (993, "imaps"),
    (995, "pop3s"),
    (1433, "ms-sql"),
    (1883, "mqtt"),
    (3306, "mysql"),
    (5222, "xmpp"),
    (5432, "postgresql"),
    (6379, "redis"),
    (8883, "mqtt over tls"),
    (9100, "printer"),
];

/// Domains whose names say what clients ask for, from the documents of their operators. Names below them count, too.
const NAMES: [(&str, &str); 24] = [
    ("archive.ubuntu.com", "software updates"),
    ("captive.apple.com", "connectivity check"),
    ("connectivity-check.ubuntu.com", "connectivity check"),
    ("connectivitycheck.gstatic.com", "connectivity check"),
    ("deb.debian.org", "software updates"),
    ("delivery.mp.microsoft.com", "software updates"),
    ("detectportal.firefox.com", "connectivity check"),
    ("download.windowsupdate.com", "software updates"),
    ("fedoraproject.org", "software updates"),
    ("mesu.apple.com", "software updates"),
    ("msftconnecttest.com", "connectivity check"),
    ("msftncsi.com", "connectivity check"),
    ("mtalk.google.com", "push messages"),
    ("network-test.debian.org", "connectivity check"),
    ("nmcheck.gnome.org", "connectivity check"),
    ("ocsp.digicert.com", "certificate status"),
    ("push.apple.com", "push messages"),
    ("push.services.mozilla.com", "push messages"),
    ("security.debian.org", "software updates"),
    ("security.ubuntu.com", "software updates"),
    ("swscan.apple.com", "software updates"),
    ("update.googleapis.com", "software updates"),
    ("update.microsoft.com", "software updates"),
    ("wns.windows.com", "push messages"),
];

/// First words of User-Agents, from the documents of the programs that send them.
const USER_AGENTS: [(&str, &str); 22] = [
    ("Amazon-Route53-Health-Check-Service", "monitoring"),
    ("Blackbox Exporter/", "monitoring"),
    ("CaptiveNetworkSupport", "connectivity check"),
    ("Consul Health Check", "monitoring"),
    ("Datadog", "monitoring"),
    ("Debian APT", "software updates"),
    ("ELB-HealthChecker/", "monitoring"),
    ("GoogleHC/", "monitoring"),
    ("Grafana/", "monitoring"),
    ("Microsoft NCSI", "connectivity check"),
    ("Microsoft-Delivery-Optimization/", "software updates"),
    ("NRPE/", "monitoring"),
    ("Prometheus/", "monitoring"),
    ("Telegraf/", "monitoring"),
    ("Ubuntu APT", "software updates"),
    ("Uptime-Kuma/", "monitoring"),
    ("VictoriaMetrics", "monitoring"),
    ("Windows-Update-Agent/", "software updates"),
    ("Zabbix", "monitoring"),
    ("check_http/", "monitoring"),
    ("kube-probe/", "monitoring"),
    ("vm_promscrape", "monitoring"),
];

/// The service that a name, a User-Agent or a port stands for. The name counts first.
pub(super) fn service(name: Option<&[u8]>, port: u16, user_agent: Option<&[u8]>) -> Option<BeaconService> {
    let by_name = name.and_then(by_name).map(BeaconService::Name);
    let by_agent = || user_agent.and_then(by_user_agent).map(BeaconService::UserAgent);
    by_name.or_else(by_agent).or_else(|| by_port(port).map(BeaconService::Port))
}

fn by_user_agent(text: &[u8]) -> Option<&'static str> {
    USER_AGENTS.iter().find(|(start, _)| text.starts_with(start.as_bytes())).map(|(_, service)| *service)
}

fn by_port(port: u16) -> Option<&'static str> {
    let index = PORTS.binary_search_by_key(&port, |(number, _)| *number).ok()?;
    Some(PORTS.get(index)?.1)
}

fn by_name(name: &[u8]) -> Option<&'static str> {
    let is_below = |domain: &str| {
        let prefix = name.strip_suffix(domain.as_bytes());
        prefix.is_some_and(|prefix| prefix.last().is_none_or(|last| *last == b'.'))
    };
    NAMES.iter().find(|(domain, _)| is_below(domain)).map(|(_, service)| *service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(PORTS.is_sorted() && NAMES.is_sorted() && USER_AGENTS.is_sorted());
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
    fn user_agent_of_a_poller_names_its_service_after_the_name_of_the_server() {
        let monitoring = Some(BeaconService::UserAgent("monitoring"));
        assert_eq!(service(Some(b"example.com"), 9100, Some(b"Prometheus/2.53.0")), monitoring);
        let named = Some(BeaconService::Name("push messages"));
        assert_eq!(service(Some(b"push.apple.com"), 443, Some(b"Prometheus/2.53.0")), named);
        assert_eq!(service(None, 80, Some(b"evil Prometheus/")), None);
    }
}
