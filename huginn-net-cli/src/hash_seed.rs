//! The seed that assigns flows to partitions of the flow table.

use huginn_net::core::HashSeed;
use sha2::{Digest, Sha256};

/// Files with an identifier that the author of a capture does not know: of the installation, else of the boot
/// (machine-id(5), random(4)).
const SECRETS: [&str; 3] = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id"];

/// Greatest seed: JSON numbers are exact up to 2^53.
const MAX_SEED: u64 = (1 << 53) - 1;

/// Returns a seed that is the same for every run on this machine, and unknown to the author of a capture. Without an
/// identifier of the machine it is random.
pub(crate) fn of_machine() -> HashSeed {
    let secret = SECRETS.iter().filter_map(|path| std::fs::read(path).ok()).find(|secret| secret.len() >= 32);
    secret.map_or_else(random, |secret| HashSeed::Fixed(derive(&secret)))
}

/// Returns a random seed that `--stats` can print exactly.
pub(crate) fn random() -> HashSeed {
    use std::hash::{BuildHasher, RandomState};
    HashSeed::Fixed(RandomState::new().hash_one(0_u64) & MAX_SEED)
}

/// Hashes the secret, so that the seed does not reveal it, as machine-id(5) asks.
fn derive(secret: &[u8]) -> u64 {
    let digest = Sha256::new().chain_update(b"huginn-net flow table\0").chain_update(secret).finalize();
    let start = digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    start & MAX_SEED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_has_one_seed() {
        if cfg!(target_os = "linux") {
            assert_eq!(of_machine(), of_machine());
        }
        // Reference: printf 'huginn-net flow table\0%s' 0123456789abcdef0123456789abcdef | sha256sum
        assert_eq!(derive(b"0123456789abcdef0123456789abcdef"), 589_065_947_706);
    }
}
