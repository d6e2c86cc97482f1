//! Stub for systems on which the program cannot drop privileges.

mod policy;

use std::fmt;

pub(crate) use self::policy::Policy;

/// Unchanged privileges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped;

/// Error of dropping privileges.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PrivilegeError {
    /// Switching users is not supported.
    #[error("--user {name}: switching users is not supported on this system: start the program as that user")]
    Unsupported { name: String },
}

impl PrivilegeError {
    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        true
    }
}

/// Returns an error if the policy names a user; otherwise changes nothing.
pub(crate) fn drop(policy: &Policy) -> Result<Dropped, PrivilegeError> {
    match &policy.user {
        Some(name) => Err(PrivilegeError::Unsupported { name: name.clone() }),
        None => Ok(Dropped),
    }
}

impl Dropped {
    /// Returns no warning.
    pub(crate) fn warning(&self) -> Option<String> {
        None
    }
}

/// Returns the owner of new files; always `None` here, because [`drop`] never switches users.
pub(crate) fn owner(_user: Option<&str>) -> Result<Option<(u32, u32)>, PrivilegeError> {
    Ok(None)
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keeps its privileges: dropping them is not supported on this system")
    }
}

/// Returns advice for a missing capture permission.
pub(crate) fn how_to_get_rights() -> String {
    "run it as root, or give your user access to the devices for capturing".to_owned()
}
