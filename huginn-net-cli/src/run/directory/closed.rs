//! Files that their writer closed, as inotify(7) says.

#[cfg(target_os = "linux")]
pub(super) use self::linux::ClosedFiles;
#[cfg(not(target_os = "linux"))]
pub(super) use self::other::ClosedFiles;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::ffi::OsString;
    use std::fs;
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::thread;

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent};

    use super::super::FileId;
    use crate::limits::{MAX_WATCHED_FILES, WATCH_SIGNAL_INTERVAL};
    use crate::stderr;

    /// What inotify said of the files of a directory.
    pub(in super::super) struct ClosedFiles {
        /// `None` if the system has no more of them.
        inotify: Option<Inotify>,
        /// Files by device and inode, so that a rename changes nothing: as they were when they were closed; `None` of
        /// files that were created and not closed.
        files: HashMap<(u64, u64), Option<FileId>>,
        /// Names of created and closed files that were not looked up.
        names: HashMap<OsString, Kind>,
    }

    #[derive(Clone, Copy)]
    enum Kind {
        Created,
        Closed,
    }

    impl ClosedFiles {
        pub(in super::super) fn watch(directory: &Path) -> Self {
            let watched = AddWatchFlags::IN_CREATE
                | AddWatchFlags::IN_CLOSE_WRITE
                | AddWatchFlags::IN_MOVE
                | AddWatchFlags::IN_DELETE
                | AddWatchFlags::IN_ONLYDIR;
            let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)
                .and_then(|inotify| inotify.add_watch(directory, watched).map(|_| inotify))
                .inspect_err(|error| {
                    stderr::report(&format_args!(
                        "inotify: {error}; captures are read once newer ones follow"
                    ));
                });
            Self { inotify: inotify.ok(), files: HashMap::new(), names: HashMap::new() }
        }

        /// Takes what happened.
        pub(in super::super) fn update(&mut self, directory: &Path) {
            while let Some(events) = self.inotify.as_ref().and_then(|inotify| inotify.read_events().ok()) {
                // Names of files that this directory had before are those of the batch.
                let mut moved = HashMap::new();
                events.into_iter().for_each(|event| self.on_event(event, &mut moved));
                if self.names.len() > MAX_WATCHED_FILES {
                    self.names.clear();
                }
            }
            let files = &mut self.files;
            self.names.retain(|name, kind| {
                let Ok(found) = fs::symlink_metadata(directory.join(name)) else { return true };
                let id = FileId::of(&found);
                match kind {
                    Kind::Created => _ = files.entry((id.device, id.inode)).or_insert(None),
                    Kind::Closed => _ = files.insert((id.device, id.inode), Some(id)),
                }
                false
            });
        }

        fn on_event(&mut self, event: InotifyEvent, moved: &mut HashMap<u32, Option<Kind>>) {
            let InotifyEvent { mask, cookie, name: Some(name), .. } = event else { return };
            if mask.contains(AddWatchFlags::IN_ISDIR) {
                return;
            }
            if mask.contains(AddWatchFlags::IN_CLOSE_WRITE) {
                self.names.insert(name, Kind::Closed);
            } else if mask.contains(AddWatchFlags::IN_CREATE) {
                self.names.insert(name, Kind::Created);
            } else if mask.contains(AddWatchFlags::IN_MOVED_FROM) {
                moved.insert(cookie, self.names.remove(&name));
            } else if mask.contains(AddWatchFlags::IN_MOVED_TO) {
                match moved.remove(&cookie) {
                    // A rename in the directory: what was known of the file holds.
                    Some(kind) => _ = kind.map(|kind| self.names.insert(name, kind)),
                    // Only complete files are moved into a directory that is read.
                    None => _ = self.names.insert(name, Kind::Closed),
                }
            } else if mask.contains(AddWatchFlags::IN_DELETE) {
                self.names.remove(&name);
            }
        }

        /// Whether a file is closed; `None` if nothing happened to it.
        pub(in super::super) fn knows(&self, id: FileId) -> Option<bool> {
            self.files.get(&(id.device, id.inode)).map(|closed| *closed == Some(id))
        }

        /// Forgets files that are not `present`.
        pub(in super::super) fn keep(&mut self, present: &HashSet<FileId>) {
            let inodes: HashSet<_> = present.iter().map(|id| (id.device, id.inode)).collect();
            self.files.retain(|inode, _| inodes.contains(inode));
        }

        /// Waits for an event, a signal, or some time. Returns whether there is an event.
        pub(in super::super) fn wait(&self) -> bool {
            let Some(inotify) = &self.inotify else {
                thread::sleep(WATCH_SIGNAL_INTERVAL);
                return false;
            };
            let mut events = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(WATCH_SIGNAL_INTERVAL).unwrap_or(PollTimeout::MAX);
            match poll(&mut events, timeout) {
                Ok(count) => count > 0,
                Err(Errno::EINTR) => false,
                Err(_) => {
                    thread::sleep(WATCH_SIGNAL_INTERVAL);
                    false
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::collections::HashSet;
    use std::path::Path;
    use std::thread;

    use super::super::FileId;
    use crate::limits::WATCH_SIGNAL_INTERVAL;

    /// This system has no inotify: newer files say that older ones are closed.
    pub(in super::super) struct ClosedFiles;

    impl ClosedFiles {
        pub(in super::super) fn watch(_directory: &Path) -> Self {
            Self
        }

        pub(in super::super) fn update(&mut self, _directory: &Path) {}

        pub(in super::super) fn knows(&self, _id: FileId) -> Option<bool> {
            None
        }

        pub(in super::super) fn keep(&mut self, _present: &HashSet<FileId>) {}

        pub(in super::super) fn wait(&self) -> bool {
            thread::sleep(WATCH_SIGNAL_INTERVAL);
            false
        }
    }
}
