//! Distance of a sender in hops, from its time to live.

/// The most likely initial TTL of a sender: the next of 32, 64, 128 and 255.
pub const fn initial_ttl(ttl: u8) -> u8 {
    match ttl {
        0..=32 => 32,
        33..=64 => 64,
        65..=128 => 128,
        129..=255 => 255,
    }
}

/// Hops between the sender and the capture point, if the sender used [`initial_ttl`].
pub const fn distance(ttl: u8) -> u8 {
    initial_ttl(ttl).saturating_sub(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_to_next_initial_ttl() {
        // As p0f 3.09b prints it after the `+` of `raw_sig` (and `?` where it is over 35).
        for (ttl, want) in
            [(0, 32), (1, 31), (32, 0), (33, 31), (64, 0), (65, 63), (93, 35), (128, 0), (220, 35), (255, 0)]
        {
            assert_eq!(distance(ttl), want, "{ttl}");
        }
    }
}
