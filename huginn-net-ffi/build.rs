//! Names the shared library, so that programs find the version that they were linked with.

/// Before 1.0, versions with the same major and minor number are compatible.
const COMPATIBLE: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhuginn_net.so.{COMPATIBLE}");
    }
}
