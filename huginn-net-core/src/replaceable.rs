//! Settings that another thread replaces while an analysis runs.

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A setting that running analyses share, and that can be replaced at any time. Clones share it.
pub struct Replaceable<T>(Arc<Shared<T>>);

struct Shared<T> {
    values: Mutex<Values<T>>,
    /// Number of replacements.
    generation: AtomicU64,
}

struct Values<T> {
    current: Arc<T>,
    /// Replaced values that a reader may still have. A reader that gives one up does not free it: that may take long.
    replaced: Vec<Arc<T>>,
}

impl<T> Replaceable<T> {
    /// Shares a value.
    pub fn new(value: T) -> Self {
        let values = Values { current: Arc::new(value), replaced: Vec::new() };
        Self(Arc::new(Shared { values: Mutex::new(values), generation: AtomicU64::new(0) }))
    }

    /// The current value.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.values().current)
    }

    /// Replaces the value. Running analyses take the new one from time to time, and never wait for it. Frees earlier values that no
    /// reader has any more.
    pub fn replace(&self, value: T) {
        let value = Arc::new(value);
        let mut values = self.values();
        let old = mem::replace(&mut values.current, value);
        values.replaced.push(old);
        self.0.generation.fetch_add(1, Ordering::Release);
        drop(values);
        self.free_replaced();
    }

    /// Frees replaced values that no reader has any more, in this thread. Returns the number of those that a reader still has: at most
    /// one for each reader.
    pub fn free_replaced(&self) -> usize {
        let mut values = self.values();
        let (unused, used): (Vec<_>, Vec<_>) =
            mem::take(&mut values.replaced).into_iter().partition(|value| Arc::strong_count(value) == 1);
        let left = used.len();
        values.replaced = used;
        drop(values);
        drop(unused);
        left
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    fn values(&self) -> MutexGuard<'_, Values<T>> {
        // A panic leaves no value half written.
        self.0.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Replaceable<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Replaceable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Replaceable").field(&self.get()).finish()
    }
}

/// The value of a [`Replaceable`] as one reader has it.
#[derive(Debug)]
pub struct ReplaceableReader<T> {
    source: Replaceable<T>,
    value: Arc<T>,
    generation: u64,
}

impl<T> ReplaceableReader<T> {
    /// Reads the current value.
    pub fn new(source: Replaceable<T>) -> Self {
        let generation = source.generation();
        Self { value: source.get(), generation, source }
    }

    /// The value that was read last.
    pub fn value(&self) -> &Arc<T> {
        &self.value
    }

    /// Number of replacements before the value that was read last.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Reads the current value. Returns whether it was replaced.
    #[inline]
    pub fn update(&mut self) -> bool {
        let generation = self.source.generation();
        if generation == self.generation {
            return false;
        }
        self.generation = generation;
        self.value = self.source.get();
        true
    }
}

impl<T> Clone for ReplaceableReader<T> {
    fn clone(&self) -> Self {
        Self { source: self.source.clone(), value: Arc::clone(&self.value), generation: self.generation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_values_are_freed_by_the_thread_that_replaces() {
        let shared = Replaceable::new(1);
        let mut reader = ReplaceableReader::new(shared.clone());
        assert!(!reader.update());
        shared.replace(2);
        shared.replace(3);
        // The reader has the first value; the second one is free.
        assert_eq!((**reader.value(), shared.free_replaced()), (1, 1));
        let first = Arc::downgrade(reader.value());
        assert!(reader.update());
        assert_eq!((**reader.value(), reader.generation()), (3, 2));
        assert!(first.upgrade().is_some(), "the reader does not free it");
        assert_eq!(shared.free_replaced(), 0);
        assert!(first.upgrade().is_none());
    }
}
