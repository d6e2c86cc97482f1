//! Policy for dropping privileges.

use std::path::PathBuf;

/// Privileges to keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    /// Who runs on: a name of the system's users, `UID` or `UID:GID`. Without one the user stays who it is.
    pub(crate) user: Option<String>,
    /// The files that are written, renamed, removed or made from now on: in their folders that stays possible.
    pub(crate) writable: Vec<PathBuf>,
    /// The files that are removed at the end, and nothing else.
    pub(crate) removable: Vec<PathBuf>,
    /// Whether everything else of the file system is put out of reach, and so are new TCP connections.
    pub(crate) sandbox: bool,
}
