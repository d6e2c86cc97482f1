//! Runs the program against itself, on the loopback interface.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod ab;
mod load;
mod serve;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LAB: &str = env!("CARGO_BIN_EXE_huginn-lab");

/// A server that is killed at the end of its test.
struct Server {
    child: Child,
    clear: u16,
    tls: u16,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let (clear, tls) = (free_port(), free_port());
        let child = Command::new(LAB)
            .args(["serve", "-L", &format!("127.0.0.1:{clear}:{tls}")])
            .args(options)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, clear, tls };
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, tls)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn url(&self, tls: bool, path: &str) -> String {
        let (scheme, port) = if tls { ("https", self.tls) } else { ("http", self.clear) };
        format!("{scheme}://127.0.0.1:{port}{path}")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
