//! Network namespaces joined by a veth pair, or one with its loopback interface.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

/// Addresses that the load connects from: each has its own ports, so that short connections do not run out of them.
const CLIENT_ADDRESSES: u8 = 8;
const SETTINGS: [&str; 4] = [
    "net.ipv4.ip_local_port_range=1024 65535",
    // A port in TIME-WAIT may be used for a new connection.
    "net.ipv4.tcp_tw_reuse=1",
    "net.ipv4.tcp_max_syn_backlog=16384",
    "net.core.somaxconn=4096",
];

/// The namespaces of a server and a client, deleted on drop.
pub(super) struct Network {
    client: String,
    server: String,
    loopback: bool,
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Network {
    /// Creates the namespaces. Without `offload`, segments and checksums are as on a wire.
    pub(super) fn create(loopback: bool, offload: bool) -> anyhow::Result<Self> {
        let id = std::process::id();
        let server = format!("lab-{id}-server");
        let client = if loopback { server.clone() } else { format!("lab-{id}-client") };
        let network = Self { client, server, loopback };
        ip(&["netns", "add", &network.server]).context("network namespaces need root and iproute2")?;
        ip(&["-n", &network.server, "link", "set", "lo", "up"])?;
        if !loopback {
            ip(&["netns", "add", &network.client])?;
            ip(&[
                "link",
                "add",
                "lab0",
                "netns",
                &network.server,
                "type",
                "veth",
                "peer",
                "name",
                "lab1",
                "netns",
                &network.client,
            ])?;
            ip(&["-n", &network.server, "address", "add", "10.77.0.1/24", "dev", "lab0"])?;
            for address in network.client_addresses() {
                ip(&["-n", &network.client, "address", "add", &format!("{address}/24"), "dev", "lab1"])?;
            }
            ip(&["-n", &network.server, "link", "set", "lab0", "up"])?;
            ip(&["-n", &network.client, "link", "set", "lab1", "up"])?;
            if !offload {
                for (namespace, interface) in [(&network.server, "lab0"), (&network.client, "lab1")] {
                    let mut command = in_namespace(namespace, "ethtool");
                    run(command
                        .args(["-K", interface, "tso", "off", "gso", "off", "gro", "off", "tx", "off"]))?;
                }
            }
        }
        for namespace in [&network.server, &network.client] {
            for setting in SETTINGS {
                run(in_namespace(namespace, "sysctl").args(["-q", "-w", setting]))?;
            }
        }
        Ok(network)
    }

    pub(super) fn interface(&self) -> &'static str {
        if self.loopback { "lo" } else { "lab0" }
    }

    pub(super) fn server_address(&self) -> IpAddr {
        if self.loopback { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(10, 77, 0, 1) }.into()
    }

    pub(super) fn client_addresses(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let [a, b, c] = if self.loopback { [127, 0, 0] } else { [10, 77, 0] };
        (0..CLIENT_ADDRESSES).map(move |number| Ipv4Addr::new(a, b, c, number.saturating_add(10)).into())
    }

    pub(super) fn in_server(&self, program: &str) -> Command {
        in_namespace(&self.server, program)
    }

    pub(super) fn in_client(&self, program: &str) -> Command {
        in_namespace(&self.client, program)
    }

    /// Reads the counters of the interface that the sensor listens on.
    pub(super) fn traffic(&self) -> anyhow::Result<Traffic> {
        let mut command = Command::new("ip");
        command.args(["-n", &self.server, "-s", "-j", "link", "show", "dev", self.interface()]);
        let json: Value = serde_json::from_slice(&command.output()?.stdout).context("ip printed no JSON")?;
        let count = |path: &str| {
            json.pointer(path).and_then(Value::as_u64).with_context(|| format!("ip printed no {path}"))
        };
        let (packets, bytes) = (count("/0/stats64/rx/packets")?, count("/0/stats64/rx/bytes")?);
        if self.loopback {
            // The loopback interface receives every packet that it sends.
            return Ok(Traffic { packets, bytes });
        }
        Ok(Traffic {
            packets: packets.saturating_add(count("/0/stats64/tx/packets")?),
            bytes: bytes.saturating_add(count("/0/stats64/tx/bytes")?),
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [&self.client, &self.server] {
            // One that was not created, or is deleted already, is not an error.
            let _ = Command::new("ip").args(["netns", "delete", namespace]).stderr(Stdio::null()).status();
        }
    }
}

impl Traffic {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(before.packets),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

fn in_namespace(namespace: &str, program: &str) -> Command {
    // ip(8) replaces itself with the program, which therefore has the process number of this child.
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]).stdin(Stdio::null());
    command
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    run(Command::new("ip").args(arguments))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
