//! Who is connected to a socket, so many at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::task::JoinHandle;

/// How many may be connected at a time.
pub(super) const MAX_CLIENTS: usize = 64;

/// The clients of a socket. Where there is no room for one more, the one that has been silent for longest goes.
pub(super) struct Clients {
    began: Instant,
    /// In the order in which they came.
    held: Vec<(JoinHandle<()>, Active)>,
}

impl Clients {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), held: Vec::new() }
    }

    /// Serves one more. It may say when it hears of its client.
    pub(super) fn admit<F>(&mut self, serve: impl FnOnce(Active) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.held.retain(|(task, _)| !task.is_finished());
        if self.held.len() >= MAX_CLIENTS {
            let silent = self.held.iter().enumerate().min_by_key(|(_, (_, active))| active.millis());
            if let Some(place) = silent.map(|(place, _)| place) {
                let (task, _) = self.held.remove(place);
                task.abort();
            }
        }
        let active = Active { began: self.began, last: Arc::default() };
        active.note();
        self.held.push((tokio::spawn(serve(active.clone())), active));
    }
}

/// When a client was last heard of.
#[derive(Clone)]
pub(super) struct Active {
    began: Instant,
    /// In milliseconds since then.
    last: Arc<AtomicU64>,
}

impl Active {
    /// It is heard of now.
    pub(super) fn note(&self) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Relaxed);
    }

    fn millis(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}
