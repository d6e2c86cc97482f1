//! Policy for dropping privileges.

use std::path::PathBuf;

/// Privileges to keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    /// User to switch to: a name, `UID` or `UID:GID`. `None` keeps the current user.
    pub(crate) user: Option<String>,
    /// Files that stay writable, renamable and removable, with their folders, and the option that names each.
    pub(crate) writable: Vec<(&'static str, PathBuf)>,
    /// Files that are read again, by the same names.
    pub(crate) readable: Vec<PathBuf>,
    /// Folders whose files are read, whatever their names.
    pub(crate) folders: Vec<PathBuf>,
    /// TCP ports to which connections are made.
    pub(crate) ports: Vec<u16>,
    /// Whether folders are made in the folders of these files.
    pub(crate) makes_folders: bool,
    /// Files that are only removed, at exit.
    pub(crate) removable: Vec<PathBuf>,
    /// Denies all other access to files, and other new TCP connections.
    pub(crate) sandbox: bool,
}
