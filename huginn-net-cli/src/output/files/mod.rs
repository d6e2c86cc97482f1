//! Files that are appended to, and rotated.

mod append_file;
mod rotated_file;
mod rotation;

pub(super) use self::append_file::{append, is_without_reader};
#[cfg(feature = "parquet")]
pub(super) use self::rotated_file::{RotatedFile, stamp};
pub(super) use self::rotation::RotatingFile;
pub(crate) use self::rotation::Rotation;
#[cfg(test)]
pub(super) use self::rotation::tests;
