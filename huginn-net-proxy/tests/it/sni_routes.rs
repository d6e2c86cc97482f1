//! Routes by server name.

use huginn_net_proxy::SniRoutes;

#[test]
fn most_specific_name_decides() {
    let routes = SniRoutes::new()
        .with("Example.org.", "name")
        .with("*.example.org", "suffix")
        .with("*.a.example.org", "longer suffix")
        .with("x.a.example.org", "name under suffix")
        .with("*", "a literal star");
    for (name, target) in [
        ("example.org", Some("name")),
        ("EXAMPLE.ORG", Some("name")),
        ("example.org.", Some("name")),
        ("b.example.org", Some("suffix")),
        ("c.b.example.org", Some("suffix")),
        ("a.example.org", Some("suffix")),
        ("b.a.example.org", Some("longer suffix")),
        ("x.a.example.org", Some("name under suffix")),
        ("y.x.a.example.org", Some("longer suffix")),
        ("notexample.org", None),
        (".example.org", None),
        ("org", None),
        ("", None),
    ] {
        assert_eq!(routes.find_name(name.as_bytes()), target.as_ref(), "{name}");
    }
}

#[test]
fn default_takes_all_other_names() {
    let routes = SniRoutes::new().with("example.org", 1).with_default(2);
    assert_eq!(routes.find_name(b"\xff\0"), Some(&2));
    assert_eq!(routes.find_name(&[b'.'; 60_000]), Some(&2));
    assert_eq!(SniRoutes::<u8>::default().find_name(b"example.org"), None);
}
