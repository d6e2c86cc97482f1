//! Operating systems: those with a shared TCP stack, middleboxes, those that software runs on, and those of a TLS library.

pub use huginn_net_db::same_stack;
use huginn_net_db::{Label, SHARED_STACKS, System, TcpMatch};
use huginn_net_tls::ClientFamily;

/// Apple's systems, as the built-in database names them.
const APPLE: &str = "macOS or iOS";

/// Middleboxes that terminate connections, by their names in the built-in database: NAT of virtual machines, apps that
/// capture the traffic of a phone, proxies of carriers, load balancers and front ends.
const MIDDLEBOXES: [&str; 8] = [
    "Amazon CloudFront",
    "Android VPN service",
    "Google",
    "NetScaler",
    "PCAPdroid",
    "TCP proxy",
    "VMware NAT",
    "libslirp",
];

/// Whether a label is a middlebox, which hides the system of the host behind it.
pub fn is_middlebox(label: &Label) -> bool {
    MIDDLEBOXES.contains(&&*label.name)
}

/// Whether a match identifies a system: neither fuzzy nor generic, and neither a tool nor a middlebox.
pub fn is_firm(found: &TcpMatch) -> bool {
    let label = &found.label;
    !found.is_fuzzy() && !label.generic && !label.is_tool() && !is_middlebox(label)
}

/// TCP stacks that programs and boot ROMs bring, by their names in the built-in database: they say nothing about the system below.
const PROGRAM_STACKS: [&str; 5] = ["gVisor", "iPXE", "lwIP", "passt", "smoltcp"];

/// Whether a match names the system of a host exactly: it identifies one system, whose stack is that of its kernel.
pub fn names_host(found: &TcpMatch) -> bool {
    let name = &*found.label.name;
    let is_one_system = !name.contains(" or ") || SHARED_STACKS.iter().any(|stack| stack.contains(&name));
    is_firm(found) && is_one_system && !PROGRAM_STACKS.contains(&name)
}

/// The system that a TLS library is part of.
pub fn system_from_family(family: ClientFamily) -> Option<&'static str> {
    match family {
        ClientFamily::Apple => Some(APPLE),
        ClientFamily::Schannel => Some("Windows"),
        _ => None,
    }
}

/// Whether a system with the claimed name may have the TCP stack of that name: Android has the stack of Linux, Xbox that
/// of Windows.
pub fn may_be(claimed: &str, observed: &str) -> bool {
    claimed == observed || matches!((claimed, observed), ("Android", "Linux") | ("Xbox", "Windows"))
}

/// Whether software is known to run on a system.
pub fn runs_on(software: &Label, system: &Label) -> bool {
    software.systems.iter().any(|known| match known {
        System::Name(name) => system.name == *name,
        System::Class(class) => system.class.as_ref() == Some(class),
    })
}
