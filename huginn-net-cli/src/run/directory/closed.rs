//! Files that their writer closed, as inotify(7) reports.

use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) use self::linux::ClosedFiles;
#[cfg(not(target_os = "linux"))]
pub(super) use self::other::ClosedFiles;

/// Maximum time after which `watch` sees a signal while it waits.
const WATCH_SIGNAL_INTERVAL: Duration = Duration::from_millis(250);

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet, VecDeque};
    use std::ffi::OsString;
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant, SystemTime};

    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent};

    use super::super::{FileId, Inode};
    use super::WATCH_SIGNAL_INTERVAL;
    use crate::limits::{MAX_WATCHED_FILES, OLDER_FILE_QUIET};
    use crate::stderr;

    /// Time in which the program that creates a file opens it, too: `open` reports IN_CREATE, then IN_OPEN. `link` reports
    /// IN_CREATE only.
    const CREATE_TO_OPEN: Duration = Duration::from_secs(1);

    /// Number of files that may lose their name between IN_MOVED_FROM and IN_MOVED_TO of one file.
    const MAX_PENDING_RENAMES: usize = 64;

    /// What inotify reported of the files of a directory.
    pub(in super::super) struct ClosedFiles {
        /// `None` if the system refused it.
        inotify: Option<Inotify>,
        /// The directory that inotify watches, whatever its name.
        directory: Option<Inode>,
        /// Files as they were when they were closed, or `None` while their writer has them open.
        files: HashMap<Inode, Option<FileId>>,
        /// The last event of names that were not looked up yet.
        names: HashMap<OsString, LastEvent>,
        /// Cookies of renames that have no new name yet, with the last event of the old name.
        renames: VecDeque<(u32, Option<LastEvent>)>,
        /// Files that the last scan did not find.
        absent: HashSet<Inode>,
    }

    #[derive(Clone, Copy)]
    enum LastEvent {
        /// By `open`, whose IN_OPEN follows, or by `link`.
        Created(Instant),
        /// Created and open.
        Opened,
        Closed,
        /// Renamed in the directory.
        Renamed,
    }

    impl ClosedFiles {
        pub(in super::super) fn watch(directory: &Path) -> Self {
            let watched = AddWatchFlags::IN_CREATE
                | AddWatchFlags::IN_OPEN
                | AddWatchFlags::IN_CLOSE_WRITE
                | AddWatchFlags::IN_MOVE
                | AddWatchFlags::IN_DELETE
                | AddWatchFlags::IN_ONLYDIR;
            let found = inode_of(directory);
            let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)
                .and_then(|inotify| inotify.add_watch(directory, watched).map(|_| inotify))
                .inspect_err(|error| {
                    stderr::report(&format_args!(
                        "inotify: {error}; captures are read once newer ones follow"
                    ));
                });
            Self {
                inotify: inotify.ok(),
                directory: found,
                files: HashMap::new(),
                names: HashMap::new(),
                renames: VecDeque::new(),
                absent: HashSet::new(),
            }
        }

        /// Takes all events. Watches the directory again if its path leads to another one.
        pub(in super::super) fn update(&mut self, directory: &Path) {
            let found = inode_of(directory);
            if found.is_some() && found != self.directory {
                *self = Self::watch(directory);
            }
            self.read_events();
            let files = &mut self.files;
            self.names.retain(|name, event| {
                if let LastEvent::Created(seen) = event {
                    return seen.elapsed() < CREATE_TO_OPEN;
                }
                let Ok(found) = fs::symlink_metadata(directory.join(name)) else { return true };
                let id = FileId::of(&found);
                match event {
                    // A second name shows that `link` created this one, and that a reader opened it.
                    LastEvent::Opened if found.nlink() > 1 => {}
                    LastEvent::Created(_) | LastEvent::Opened => _ = files.entry(id.inode()).or_insert(None),
                    LastEvent::Closed => _ = files.insert(id.inode(), Some(id)),
                    LastEvent::Renamed => {
                        let file = files.entry(id.inode()).or_insert(Some(id));
                        if file.is_some_and(|closed| closed.size == id.size) {
                            *file = Some(id);
                        }
                    }
                }
                false
            });
        }

        /// Returns whether an event calls for a scan.
        fn read_events(&mut self) -> bool {
            let mut is_scan_due = false;
            while let Some(events) = self.inotify.as_ref().and_then(|inotify| inotify.read_events().ok()) {
                for event in events {
                    is_scan_due |= self.on_event(event);
                }
                if self.names.len() > MAX_WATCHED_FILES {
                    self.forget();
                }
            }
            is_scan_due
        }

        fn on_event(&mut self, event: InotifyEvent) -> bool {
            let InotifyEvent { mask, cookie, name, .. } = event;
            if mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                self.forget();
                return true;
            }
            let Some(name) = name.filter(|_| !mask.contains(AddWatchFlags::IN_ISDIR)) else { return false };
            if mask.contains(AddWatchFlags::IN_OPEN) {
                if let Some(event) = self.names.get_mut(&name)
                    && matches!(event, LastEvent::Created(_))
                {
                    *event = LastEvent::Opened;
                }
                return false;
            }
            if mask.contains(AddWatchFlags::IN_CLOSE_WRITE) {
                self.names.insert(name, LastEvent::Closed);
            } else if mask.contains(AddWatchFlags::IN_CREATE) {
                self.names.insert(name, LastEvent::Created(Instant::now()));
            } else if mask.contains(AddWatchFlags::IN_MOVED_FROM) {
                if self.renames.len() == MAX_PENDING_RENAMES {
                    self.renames.pop_front();
                }
                self.renames.push_back((cookie, self.names.remove(&name)));
            } else if mask.contains(AddWatchFlags::IN_MOVED_TO) {
                let old = self.renames.iter().position(|(other, _)| *other == cookie);
                let event = match old.and_then(|index| self.renames.remove(index)) {
                    Some((_, Some(event @ (LastEvent::Opened | LastEvent::Closed)))) => event,
                    Some(_) => LastEvent::Renamed,
                    // Only complete files are moved into a directory that is read.
                    None => LastEvent::Closed,
                };
                self.names.insert(name, event);
            } else if mask.contains(AddWatchFlags::IN_DELETE) {
                self.names.remove(&name);
            }
            true
        }

        /// Forgets all events after some were lost.
        fn forget(&mut self) {
            self.files.clear();
            self.names.clear();
            self.renames.clear();
        }

        /// Whether a file is closed; `None` if inotify did not report it.
        pub(in super::super) fn is_closed(&self, id: FileId, now: SystemTime) -> Option<bool> {
            let closed = self.files.get(&id.inode())?;
            // A program may set the time after it closed the file.
            let is_touched = |closed: FileId| closed.size == id.size && id.is_quiet(OLDER_FILE_QUIET, now);
            Some(closed.is_some_and(|closed| closed == id || is_touched(closed)))
        }

        /// Forgets files that two scans did not find: one scan may miss a file that is renamed meanwhile.
        pub(in super::super) fn keep(&mut self, present: &HashSet<Inode>) {
            let absent: HashSet<_> =
                self.files.keys().filter(|inode| !present.contains(*inode)).copied().collect();
            let absent_before = &self.absent;
            self.files.retain(|inode, _| !absent.contains(inode) || !absent_before.contains(inode));
            self.absent = absent;
        }

        /// Waits for an event, a signal, or some time. Returns whether an event calls for a scan.
        pub(in super::super) fn wait(&mut self) -> bool {
            let Some(inotify) = &self.inotify else {
                thread::sleep(WATCH_SIGNAL_INTERVAL);
                return false;
            };
            let mut events = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(WATCH_SIGNAL_INTERVAL).unwrap_or(PollTimeout::MAX);
            match poll(&mut events, timeout) {
                Ok(count) => count > 0 && self.read_events(),
                Err(Errno::EINTR) => false,
                Err(_) => {
                    thread::sleep(WATCH_SIGNAL_INTERVAL);
                    false
                }
            }
        }
    }

    fn inode_of(path: &Path) -> Option<Inode> {
        fs::metadata(path).ok().map(|found| FileId::of(&found).inode())
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::collections::HashSet;
    use std::path::Path;
    use std::thread;
    use std::time::SystemTime;

    use super::super::{FileId, Inode};
    use super::WATCH_SIGNAL_INTERVAL;

    /// This system has no inotify: a newer file shows that an older one is closed.
    pub(in super::super) struct ClosedFiles;

    impl ClosedFiles {
        pub(in super::super) fn watch(_directory: &Path) -> Self {
            Self
        }

        pub(in super::super) fn update(&mut self, _directory: &Path) {}

        pub(in super::super) fn is_closed(&self, _id: FileId, _now: SystemTime) -> Option<bool> {
            None
        }

        pub(in super::super) fn keep(&mut self, _present: &HashSet<Inode>) {}

        pub(in super::super) fn wait(&mut self) -> bool {
            thread::sleep(WATCH_SIGNAL_INTERVAL);
            false
        }
    }
}
