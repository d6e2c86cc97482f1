//! Forms of JA4 without the extensions that a session changes. They share the syntax of JA4, but not their values.

use huginn_net_tls::extension_type::{EARLY_DATA, PADDING, PRE_SHARED_KEY, SESSION_TICKET};

/// A form of JA4 that leaves out extension types, in list and count.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionForm {
    /// The tool, and what it calls the form.
    pub(super) name: &'static str,
    pub(super) left_out: &'static [u16],
}

/// The forms in use; a list that several of them reduce alike is taken for the first one.
pub(super) const SESSION_FORMS: [SessionForm; 3] = [
    SessionForm {
        name: "ja4_stable, without 0015, 0023, 0029 and 002a",
        left_out: &[PADDING, SESSION_TICKET, PRE_SHARED_KEY, EARLY_DATA],
    },
    SessionForm {
        name: "the stable form of nDPI, without 0015, 0023 and 0029",
        left_out: &[PADDING, SESSION_TICKET, PRE_SHARED_KEY],
    },
    SessionForm {
        name: "the ja4_s1 of huginn-net 2.2, without nine extensions of sessions",
        left_out: &HUGINN_NET_S1,
    },
];

/// Extensions without which huginn-net 2.2.1 (crates.io) computes its `ja4_s1`.
const HUGINN_NET_S1: [u16; 9] = [0x0015, 0x0019, 0x0020, 0x0023, 0x0029, 0x002a, 0x002c, 0x002d, 0x003a];
