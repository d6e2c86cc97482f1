//! Captures built byte by byte.
