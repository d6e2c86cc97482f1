//! Filter expressions of `pcap-filter(7)`, compiled and run by the libpcap of the system.
//!
//! libpcap is loaded when the first expression is compiled: a program builds and runs without it, and has filters where it is
//! installed. A statically linked program cannot load it.
//!
//! ```
//! use huginn_net_bpf::{FilterError, Program};
//!
//! const ETHERNET: i32 = 1;
//! match Program::compile("udp port 53", ETHERNET) {
//!     Ok(program) => assert!(!program.passes(&[0; 60])),
//!     Err(FilterError::NoLibpcap { reason }) => eprintln!("{reason}"),
//!     Err(error) => panic!("{error}"),
//! }
//! ```
//!
//! The crate has no features.
mod libpcap;

use std::fmt;

use self::libpcap::Compiled;

/// A compiled filter expression.
pub struct Program(Compiled);

/// An instruction of classic BPF (`struct bpf_insn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// Instructions to skip if a condition holds.
    pub jump_true: u8,
    /// Instructions to skip if it does not hold.
    pub jump_false: u8,
    /// The operand.
    pub operand: u32,
}

/// A filter expression that could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The system has no libpcap, or the program is linked statically.
    #[error(
        "filter expressions need libpcap, which cannot be loaded ({reason}): install the package libpcap0.8 (Debian) or libpcap (Fedora, Alpine)"
    )]
    NoLibpcap {
        /// The error of the system.
        reason: String,
    },
    /// The expression is invalid, or has no meaning for frames of this type.
    #[error("{reason}")]
    Expression {
        /// The error of libpcap.
        reason: String,
    },
}

impl Program {
    /// Compiles an expression for frames of a type: a `DLT_` number of libpcap. The netmask of the interface is unknown: `ip broadcast`
    /// is an error.
    ///
    /// # Errors
    /// If libpcap cannot be loaded, or refuses the expression.
    pub fn compile(expression: &str, data_link_type: i32) -> Result<Self, FilterError> {
        Compiled::new(expression, data_link_type).map(Self)
    }

    /// Whether a frame passes. `len`, `greater` and `less` see its captured length.
    #[inline]
    pub fn passes(&self, frame: &[u8]) -> bool {
        self.0.passes(frame)
    }

    /// Returns the instructions.
    pub fn instructions(&self) -> &[Instruction] {
        self.0.instructions()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.instructions()).finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

    use std::process::Command;

    use super::*;

    const ETHERNET: i32 = 1;
    const RAW: i32 = 12;

    /// The instructions that `tcpdump -ddd` prints.
    fn of_tcpdump(expression: &str, link: &str) -> Vec<Instruction> {
        let mut command = Command::new("tcpdump");
        let output = command.args(["-ddd", "-y", link, expression]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let instruction = |line: &str| {
            let numbers: Vec<u32> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            Instruction {
                code: numbers[0].try_into().unwrap(),
                jump_true: numbers[1].try_into().unwrap(),
                jump_false: numbers[2].try_into().unwrap(),
                operand: numbers[3],
            }
        };
        text.lines().skip(1).map(instruction).collect()
    }

    #[test]
    fn instructions_are_those_of_tcpdump() {
        for (link, name) in [(ETHERNET, "EN10MB"), (RAW, "RAW")] {
            for expression in [
                "tcp port 443",
                "udp and not port 53",
                "host 192.0.2.1 or net 2001:db8::/32",
                "tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn",
                "ip6 proto 44 or portrange 1000-2000",
                "",
            ] {
                let program = Program::compile(expression, link).unwrap();
                let mut expected = of_tcpdump(expression, name);
                // A frame that passes is returned whole: the snap length of tcpdump is another number.
                for instruction in &mut expected {
                    if instruction.code == 6 && instruction.operand > 0 {
                        instruction.operand = libpcap::SNAP_LEN.try_into().unwrap();
                    }
                }
                assert_eq!(program.instructions(), expected, "{name}: {expression}");
            }
        }
    }

    #[test]
    fn frames_pass_or_not_whatever_their_length() {
        let udp = [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x00, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10,
            0, 0, 1, 10, 0, 0, 2, 0, 53, 4, 0, 0, 8, 0, 0,
        ];
        let program = Program::compile("udp port 53", ETHERNET).unwrap();
        assert!(program.passes(&udp));
        for len in 0..36 {
            assert!(!program.passes(&udp[..len]), "{len}");
        }
        assert!(Program::compile("less 41", ETHERNET).unwrap().passes(&udp[..41]));
        assert!(!Program::compile("less 41", ETHERNET).unwrap().passes(&udp));
        assert!(!Program::compile("tcp", ETHERNET).unwrap().passes(&udp));
    }

    #[test]
    fn threads_share_programs_and_compile_at_once() {
        let shared = Program::compile("port 80", ETHERNET).unwrap();
        std::thread::scope(|scope| {
            for port in 1..9_u16 {
                let shared = &shared;
                scope.spawn(move || {
                    let own = Program::compile(&format!("port {port}"), ETHERNET).unwrap();
                    assert!(!own.passes(&[0; 60]) && !shared.passes(&[0; 60]));
                });
            }
        });
    }

    #[test]
    fn errors_are_those_of_libpcap() {
        for (expression, link, expected) in [
            ("tcp prot 80", ETHERNET, "syntax error"),
            ("host 192.0.2.0.1", ETHERNET, "unknown host"),
            ("ether host 01:02:03:04:05:06", RAW, "ethernet addresses"),
            ("ip broadcast", ETHERNET, "netmask not known"),
            ("tcp\0", ETHERNET, "a zero byte"),
            ("tcp", -5, "data link type -5"),
        ] {
            let error = Program::compile(expression, link).unwrap_err();
            let FilterError::Expression { reason } = &error else { panic!("{error:?}") };
            assert!(reason.to_lowercase().contains(expected), "{expression}: {reason}");
        }
    }
}
