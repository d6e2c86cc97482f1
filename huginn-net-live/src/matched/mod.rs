//! The interfaces that patterns match, as they come and go.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use nix::net::if_::if_indextoname;

use crate::interface::{self, Link};
use crate::limits::{
    CHANGE_NOTICES, CHANGE_NOTICES_INTERVAL, LINK_CHECK_INTERVAL, MAX_JOINED_NAMES, REMOVED_INTERFACE_TIME,
};
use crate::names::JoinedNames;
use crate::pattern::Patterns;
use crate::{LiveError, Notice, NoticeKind};

/// The interfaces that patterns match. The queues of a source share them.
pub(crate) struct MatchedInterfaces {
    /// The patterns as they were typed.
    name: String,
    patterns: Patterns,
    /// Grows with each change of what [`find`](Self::find) returns.
    version: AtomicU64,
    state: Mutex<State>,
    names: JoinedNames,
}

/// What the queues share.
#[derive(Default)]
struct State {
    /// The interfaces of the system, by index.
    present: HashMap<u32, Present>,
    /// Interfaces that were removed lately, by index: their frames may still be in the ring.
    removed: HashMap<u32, Removed>,
    numbers: Numbers,
    changes: Changes,
    /// Whether an interface that is captured is up.
    is_up: bool,
    next_check: Option<Instant>,
    /// Interfaces that joined and are not yet in promiscuous mode.
    promiscuous: Vec<u32>,
}

/// What is known of the interface of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its number; `None` if its frames are left out.
    pub(crate) number: Option<u16>,
    /// Whether the interface exists, or was removed lately.
    pub(crate) is_known: bool,
}

/// An interface of the system.
struct Present {
    name: Arc<str>,
    /// Its number, if it is captured.
    number: Option<u16>,
    /// Whether a notice said that its frames cannot be read.
    is_unreadable: bool,
}

/// An interface that was removed.
struct Removed {
    /// Its number, if it was captured.
    number: Option<u16>,
    /// When it is forgotten.
    until: Option<Instant>,
}

/// The numbers that timestamps have for names.
#[derive(Default)]
struct Numbers {
    /// The number of the input, whose name stands for interfaces without a number of their own.
    input: u16,
    /// The first number of a name.
    first: u16,
    by_name: HashMap<Arc<str>, u16>,
    present: HashSet<u16>,
    /// Numbers of interfaces that left, the first one first; those that joined again are among them.
    left: VecDeque<u16>,
}

/// Notices of interfaces that joined or left.
#[derive(Default)]
struct Changes {
    notices: Vec<Notice>,
    /// When the interval began, and the number of its notices.
    begun: Option<Instant>,
    emitted: usize,
    /// Changes of the interval without a notice.
    joined: u64,
    left: u64,
}

impl MatchedInterfaces {
    /// Returns the interfaces of the system that match now. `input`: the number of the patterns among `inputs` inputs.
    ///
    /// # Errors
    /// The system cannot list interfaces.
    pub(crate) fn new(
        name: String,
        patterns: Patterns,
        [input, inputs]: [usize; 2],
    ) -> Result<Self, LiveError> {
        let number = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        let numbers = Numbers { input: number(input), first: number(inputs), ..Numbers::default() };
        let matched = Self {
            name,
            patterns,
            version: AtomicU64::new(1),
            state: Mutex::new(State { numbers, ..State::default() }),
            names: JoinedNames::default(),
        };
        let mut state = matched.lock();
        matched.update(&mut state, interface::links()?, Instant::now());
        // Those that were there at the start did not join.
        state.changes = Changes::default();
        drop(state);
        Ok(matched)
    }

    /// The patterns as they were typed.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn names(&self) -> JoinedNames {
        Arc::clone(&self.names)
    }

    /// Whether an interface is captured.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.patterns.matches(name)
    }

    /// Whether an interface that matches exists.
    pub(crate) fn has_any(&self) -> bool {
        self.lock().present.values().any(|present| present.number.is_some())
    }

    /// Whether an interface that matches is up.
    pub(crate) fn is_up(&self) -> bool {
        self.lock().is_up
    }

    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Looks an interface up, for all of its frames until the [`version`](Self::version) changes. Asks the system for the name of an unknown
    /// index.
    #[cold]
    pub(crate) fn find(&self, index: u32) -> Found {
        if let Some(found) = self.lock().find(index) {
            return found;
        }
        // The name is empty without an interface.
        let name = if_indextoname(index).ok().and_then(|name| name.into_string().ok());
        let name = name.filter(|name| !name.is_empty());
        let mut state = self.lock();
        // Another queue may have found it meanwhile.
        if let Some(found) = state.find(index) {
            return found;
        }
        match name {
            Some(name) => {
                let number = self.join(&mut state, index, &name, Instant::now());
                Found { number, is_known: true }
            }
            None => {
                let number = self.patterns.match_every_name().then_some(state.numbers.input);
                Found { number, is_known: false }
            }
        }
    }

    /// Records that the frames of an interface have a type that cannot be read.
    #[cold]
    pub(crate) fn on_unreadable(&self, index: u32, hardware: u16) {
        let mut state = self.lock();
        let State { present, changes, .. } = &mut *state;
        if let Some(present) = present.get_mut(&index).filter(|present| !present.is_unreadable) {
            present.is_unreadable = true;
            changes.notices.push(Notice::new(&*present.name, NoticeKind::Unreadable { hardware }));
        }
    }

    /// Compares with the interfaces of the system, if none of the queues did lately. Returns notices that were not returned yet.
    pub(crate) fn check(&self, now: Instant) -> Vec<Notice> {
        let mut state = self.lock();
        // If the system cannot list interfaces, the next call tries again.
        if state.next_check.is_none_or(|at| now >= at)
            && let Ok(links) = interface::links()
        {
            self.update(&mut state, links, now);
            state.next_check = now.checked_add(LINK_CHECK_INTERVAL);
        }
        state.changes.summarize(&self.name, now);
        std::mem::take(&mut state.changes.notices)
    }

    /// Takes the interfaces that patterns other than `any` select and that are not yet in promiscuous mode.
    pub(crate) fn take_promiscuous(&self) -> Vec<u32> {
        std::mem::take(&mut self.lock().promiscuous)
    }

    /// Returns the interfaces that are not captured.
    pub(crate) fn left_out(&self) -> Vec<u32> {
        let state = self.lock();
        let left_out = state.present.iter().filter(|(_, present)| present.number.is_none());
        let mut left_out: Vec<u32> = left_out.map(|(index, _)| *index).collect();
        left_out.sort_unstable();
        left_out
    }

    fn update(&self, state: &mut State, links: Vec<Link>, now: Instant) {
        let mut gone: HashSet<u32> = state.present.keys().copied().collect();
        state.is_up = false;
        for Link { index, name, is_up } in links {
            gone.remove(&index);
            let number = match state.present.get(&index) {
                Some(present) if *present.name == *name => present.number,
                // The index belongs to another interface, or the interface has another name.
                Some(_) => {
                    self.leave(state, index, now);
                    self.join(state, index, &name, now)
                }
                None => self.join(state, index, &name, now),
            };
            state.is_up |= is_up && number.is_some();
        }
        for index in gone {
            let number = state.present.get(&index).and_then(|present| present.number);
            state.removed.insert(index, Removed { number, until: now.checked_add(REMOVED_INTERFACE_TIME) });
            self.leave(state, index, now);
        }
        let removed = state.removed.len();
        state.removed.retain(|_, removed| removed.until.is_some_and(|until| now < until));
        if state.removed.len() < removed {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    fn join(&self, state: &mut State, index: u32, name: &str, now: Instant) -> Option<u16> {
        let name: Arc<str> = name.into();
        let number = self.matches(&name).then(|| state.numbers.assign(&name, &self.names));
        if number.is_some() {
            state.changes.push(&self.name, &name, NoticeKind::Joined, now);
            if self.patterns.names(&name) {
                state.promiscuous.push(index);
            }
        }
        state.present.insert(index, Present { name, number, is_unreadable: false });
        self.version.fetch_add(1, Ordering::Release);
        number
    }

    fn leave(&self, state: &mut State, index: u32, now: Instant) {
        let Some(present) = state.present.remove(&index) else { return };
        state.promiscuous.retain(|waiting| *waiting != index);
        if let Some(number) = present.number {
            state.numbers.release(number);
            state.changes.push(&self.name, &present.name, NoticeKind::Left, now);
        }
        self.version.fetch_add(1, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(&self, index: u32) -> Option<Found> {
        let present = self.present.get(&index).map(|present| present.number);
        let number = present.or_else(|| self.removed.get(&index).map(|removed| removed.number))?;
        Some(Found { number, is_known: true })
    }
}

impl Numbers {
    /// Returns the number of a name: the one that it had, a new one, or that of the interface that left first.
    fn assign(&mut self, name: &Arc<str>, names: &JoinedNames) -> u16 {
        if let Some(number) = self.by_name.get(name) {
            self.present.insert(*number);
            return *number;
        }
        let mut names = names.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = names.len() < MAX_JOINED_NAMES;
        let number = if is_new {
            u16::try_from(names.len()).ok().and_then(|len| self.first.checked_add(len))
        } else {
            self.take_left()
        };
        // More interfaces at once than there are numbers.
        let Some(number) = number else { return self.input };
        if is_new {
            names.push(Arc::clone(name));
        } else if let Some(known) = names.get_mut(usize::from(number.saturating_sub(self.first))) {
            self.by_name.remove(known);
            *known = Arc::clone(name);
        }
        self.by_name.insert(Arc::clone(name), number);
        self.present.insert(number);
        number
    }

    /// Takes the number of the interface that left first.
    fn take_left(&mut self) -> Option<u16> {
        while let Some(number) = self.left.pop_front() {
            if !self.present.contains(&number) {
                return Some(number);
            }
        }
        None
    }

    fn release(&mut self, number: u16) {
        if self.present.remove(&number) {
            // An interface that comes and goes keeps one place.
            if self.left.len() >= 2 * MAX_JOINED_NAMES {
                let Self { left, present, .. } = self;
                let mut seen = HashSet::new();
                left.retain(|number| !present.contains(number) && seen.insert(*number));
            }
            self.left.push_back(number);
        }
    }
}

impl Changes {
    fn push(&mut self, input: &str, interface: &str, kind: NoticeKind, now: Instant) {
        self.summarize(input, now);
        if self.emitted < CHANGE_NOTICES {
            self.emitted = self.emitted.saturating_add(1);
            self.notices.push(Notice::new(interface, kind));
        } else if kind == NoticeKind::Joined {
            self.joined = self.joined.saturating_add(1);
        } else {
            self.left = self.left.saturating_add(1);
        }
    }

    /// Begins an interval if the last one is over, and reports the changes that had no notice.
    fn summarize(&mut self, input: &str, now: Instant) {
        if self.begun.is_some_and(|begun| now.duration_since(begun) < CHANGE_NOTICES_INTERVAL) {
            return;
        }
        let (joined, left) = (std::mem::take(&mut self.joined), std::mem::take(&mut self.left));
        if joined > 0 || left > 0 {
            let kind = NoticeKind::MoreChanges { joined, left };
            self.notices.push(Notice::new(input, kind));
        }
        (self.begun, self.emitted) = (Some(now), 0);
    }
}

#[cfg(test)]
mod tests;
