//! Settings of interfaces and of the clock that matter for a capture. Reading them needs no privilege.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::packet::ffi;

/// Settings of an interface; `None` where its driver does not have the setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterfaceSettings {
    /// Whether the kernel joins received segments (GRO).
    pub gro: Option<bool>,
    /// Whether the card joins received segments (LRO).
    pub lro: Option<bool>,
    /// Number of receive descriptors of the card, and the maximum.
    pub receive_ring: Option<(u32, u32)>,
}

impl InterfaceSettings {
    /// Reads the settings of an interface of this thread's network namespace.
    ///
    /// # Errors
    /// The error of the system if it has no sockets.
    pub fn read(name: &str) -> io::Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0"))?;
        let socket = socket.as_fd();
        Ok(Self {
            gro: ffi::joins_segments(socket, name).ok(),
            lro: ffi::card_joins_segments(socket, name).ok(),
            receive_ring: ffi::receive_ring(socket, name).ok().filter(|(_, max)| *max > 0),
        })
    }
}

/// Returns by how much the clock that stamps frames may be wrong; `None` if no program keeps it correct.
///
/// # Errors
/// The error of the system.
pub fn clock_error() -> io::Result<Option<Duration>> {
    let (is_synchronized, micros) = ffi::clock()?;
    Ok(is_synchronized.then(|| Duration::from_micros(micros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_settings_of_loopback_and_none_of_an_unknown_interface() {
        assert!(InterfaceSettings::read("lo").is_ok_and(|found| found.gro.is_some()));
        let unknown = InterfaceSettings::read("a-name-that-is-too-long-for-an-interface");
        assert!(unknown.is_ok_and(|found| found == InterfaceSettings::default()));
        assert!(clock_error().is_ok());
    }
}
