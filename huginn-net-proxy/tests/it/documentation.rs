//! The page about proxies.

const PAGE: &str = include_str!("../../../docs/proxy.md");
const EXAMPLE: &str = include_str!("../../../examples/axum_proxy.rs");

#[test]
fn page_names_complete_proxy_in_under_40_lines() {
    let (_, code) = EXAMPLE.split_once("\n\n").unwrap();
    assert!(PAGE.contains("(../examples/axum_proxy.rs)"));
    assert!(code.lines().count() < 40);
}

#[cfg(feature = "http")]
#[test]
fn page_lists_all_headers() {
    use huginn_net_proxy::FingerprintField;

    for &field in FingerprintField::ALL {
        let row =
            PAGE.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{}`", field.name())));
        let row = row.unwrap_or_else(|| panic!("no row for {}", field.name()));
        let by_default = match row.rsplit('|').nth(1).unwrap().trim() {
            "the hash" => field.name().ends_with("-hash"),
            text => text == "yes",
        };
        // The hash of Akamai and the name have their own rows.
        assert_eq!(by_default, FingerprintField::DEFAULT.contains(&field), "{row}");
    }
}
