//! Option kinds (IANA, "TCP Option Kind Numbers").

/// End of the option list (RFC 9293).
pub const EOL: u8 = 0;
/// No operation (RFC 9293).
pub const NOP: u8 = 1;
/// Maximum segment size (RFC 9293).
pub const MSS: u8 = 2;
/// Window scale (RFC 7323).
pub const WINDOW_SCALE: u8 = 3;
/// Selective acknowledgements are permitted (RFC 2018).
pub const SACK_PERMITTED: u8 = 4;
/// Selective acknowledgement (RFC 2018).
pub const SACK: u8 = 5;
/// Timestamps (RFC 7323).
pub const TIMESTAMP: u8 = 8;
