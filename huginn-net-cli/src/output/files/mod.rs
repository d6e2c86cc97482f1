//! Files that are appended to, and rotated.

mod append_file;
mod compression;
mod rotated_file;
mod rotation;
mod stamped;

pub(super) use self::append_file::{FileId, append, is_without_reader};
pub(super) use self::compression::Compression;
#[cfg(test)]
pub(super) use self::compression::tests::decompressed;
pub(super) use self::rotated_file::{RotatedFile, StampForm};
pub(super) use self::rotation::RotatingFile;
pub(crate) use self::rotation::Rotation;
#[cfg(test)]
pub(super) use self::rotation::tests;
pub(crate) use self::stamped::StampedFiles;
