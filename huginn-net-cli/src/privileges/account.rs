//! User that the program switches to.

use std::ffi::CString;

use nix::errno::Errno;
use nix::unistd::{
    Gid, Uid, User, geteuid, getgrouplist, getgroups, getresgid, getresuid, setgroups, setresgid, setresuid,
};

use super::PrivilegeError;

/// User with its groups.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Account {
    name: String,
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Account {
    /// A user that the system knows, by name or number, with all groups; or `UID:GID` in no other group.
    pub(super) fn find(name: &str) -> Result<Self, PrivilegeError> {
        let failed = |source| PrivilegeError::LookUp { name: name.to_owned(), source };
        let unknown = || PrivilegeError::NoUser { name: name.to_owned() };
        if let Some((uid, gid)) = name.split_once(':') {
            let number = |text: &str| text.parse().map_err(|_| unknown());
            let (uid, gid) = (Uid::from_raw(number(uid)?), Gid::from_raw(number(gid)?));
            return Ok(Self { name: name.to_owned(), uid, gid, groups: vec![gid] });
        }
        let user = match (User::from_name(name).map_err(failed)?, name.parse()) {
            (Some(user), _) => user,
            (None, Ok(uid)) => User::from_uid(Uid::from_raw(uid)).map_err(failed)?.ok_or_else(unknown)?,
            (None, Err(_)) => return Err(unknown()),
        };
        let c_name = CString::new(user.name.as_str()).map_err(|_| unknown())?;
        let groups = getgrouplist(&c_name, user.gid).map_err(failed)?;
        Ok(Self { name: name.to_owned(), uid: user.uid, gid: user.gid, groups })
    }

    /// Returns the user ID and the group ID.
    pub(super) fn ids(&self) -> (u32, u32) {
        (self.uid.as_raw(), self.gid.as_raw())
    }

    /// Switches to this user permanently. Does nothing if the process already runs as this user.
    pub(super) fn assume(&self) -> Result<(), PrivilegeError> {
        if self.is_current()? {
            return Ok(());
        }
        if !geteuid().is_root() {
            return Err(PrivilegeError::NotRoot { name: self.name.clone(), uid: geteuid() });
        }
        // The user comes last: afterwards the process may not change its groups.
        setgroups(&self.groups).map_err(refused("setgroups"))?;
        setresgid(self.gid, self.gid, self.gid).map_err(refused("setresgid"))?;
        setresuid(self.uid, self.uid, self.uid).map_err(refused("setresuid"))?;
        if !self.is_current()? || !self.has_these_groups()? {
            return Err(PrivilegeError::Kept { what: "the user and the groups" });
        }
        Ok(())
    }

    fn is_current(&self) -> Result<bool, PrivilegeError> {
        let uid = getresuid().map_err(refused("getresuid"))?;
        let gid = getresgid().map_err(refused("getresgid"))?;
        Ok([uid.real, uid.effective, uid.saved] == [self.uid; 3]
            && [gid.real, gid.effective, gid.saved] == [self.gid; 3])
    }

    fn has_these_groups(&self) -> Result<bool, PrivilegeError> {
        let groups = getgroups().map_err(refused("getgroups"))?;
        Ok(groups.iter().all(|group| self.groups.contains(group)))
    }
}

fn refused(step: &'static str) -> impl Fn(Errno) -> PrivilegeError {
    move |source| PrivilegeError::Refused { step, source }
}
