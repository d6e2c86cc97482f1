//! GREASE values (RFC 8701), which clients send so that peers tolerate unknown values.

/// Whether RFC 8701, section 2, reserves this value: `0x?A?A` with equal bytes.
///
/// ```
/// use huginn_net_tls::is_grease;
///
/// assert!(is_grease(0x2a2a));
/// assert!(!is_grease(0x0a1a));
/// ```
pub const fn is_grease(value: u16) -> bool {
    let [high, low] = value.to_be_bytes();
    high == low && low & 0x0f == 0x0a
}

pub(crate) fn is_no_grease(value: &u16) -> bool {
    !is_grease(*value)
}

#[cfg(test)]
mod tests {
    use super::is_grease;

    /// The sixteen values of RFC 8701, section 2.
    #[test]
    fn only_sixteen_values_are_grease() {
        let reserved = [
            0x0a0a, 0x1a1a, 0x2a2a, 0x3a3a, 0x4a4a, 0x5a5a, 0x6a6a, 0x7a7a, 0x8a8a, 0x9a9a, 0xaaaa, 0xbaba,
            0xcaca, 0xdada, 0xeaea, 0xfafa,
        ];
        let found: Vec<u16> = (0..=u16::MAX).filter(|value| is_grease(*value)).collect();
        assert_eq!(found, reserved);
    }
}
