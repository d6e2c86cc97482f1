//! The live analyzer of huginn-net 2.2.1 as a program: prints SYNs, requests and ClientHellos as JSON lines, with the
//! fields that `huginn-lab measure` compares.
//!
//! usage: live INTERFACE

use std::io::Write;
use std::net::IpAddr;
use std::sync::mpsc;

use published::{Database, HuginnNet};

/// Connections that the analyzer follows at a time.
const CONNECTIONS: usize = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let interface = std::env::args().nth(1).ok_or("usage: live INTERFACE")?;
    let (sender, results) = mpsc::channel();
    std::thread::spawn(move || {
        let outcome = Database::load_default().map_err(|error| error.to_string()).and_then(|database| {
            let mut analyzer =
                HuginnNet::new(Some(&database), CONNECTIONS, None).map_err(|error| error.to_string())?;
            analyzer.analyze_network(&interface, sender, None).map_err(|error| error.to_string())
        });
        if let Err(error) = outcome {
            eprintln!("live: {error}");
            std::process::exit(1);
        }
    });
    let mut out = std::io::stdout().lock();
    for result in results {
        if let Some(syn) = result.tcp_syn {
            line(&mut out, "tcp_syn", syn.source.ip, syn.source.port, "")?;
        }
        if let Some(request) = result.http_request {
            let agent = request.sig.user_agent.unwrap_or_default();
            let value = format!(r#","user_agent":"{}""#, agent.escape_default());
            line(&mut out, "http_request", request.source.ip, request.source.port, &value)?;
        }
        if let Some(hello) = result.tls_client {
            let value = format!(r#","ja4":"{}""#, hello.sig.ja4.full.value());
            line(&mut out, "tls_client", hello.source.ip, hello.source.port, &value)?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, event: &str, ip: IpAddr, port: u16, value: &str) -> std::io::Result<()> {
    writeln!(out, r#"{{"event":"{event}","client":{{"ip":"{ip}","port":{port}}}{value}}}"#)
}
