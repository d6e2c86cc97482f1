//! Benches beside other implementations of the same fingerprints.
