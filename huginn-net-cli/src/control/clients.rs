//! Limit on the clients of a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::task::JoinHandle;

use crate::limits::MAX_CLIENTS;

/// Clients of a socket. A new client beyond the limit replaces the one that has been idle for longest.
pub(super) struct Clients {
    started: Instant,
    /// Connections in the order of their arrival.
    connections: Vec<(JoinHandle<()>, Active)>,
}

impl Clients {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), connections: Vec::new() }
    }

    /// Spawns a task for a new client. The task reports the activity of its client.
    pub(super) fn admit<F>(&mut self, serve: impl FnOnce(Active) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.connections.retain(|(task, _)| !task.is_finished());
        if self.connections.len() >= MAX_CLIENTS {
            let idle = self.connections.iter().enumerate().min_by_key(|(_, (_, active))| active.millis());
            if let Some(index) = idle.map(|(index, _)| index) {
                let (task, _) = self.connections.remove(index);
                task.abort();
            }
        }
        let active = Active { started: self.started, last: Arc::default() };
        active.touch();
        self.connections.push((tokio::spawn(serve(active.clone())), active));
    }
}

/// Time of the last activity of a client.
#[derive(Clone)]
pub(super) struct Active {
    started: Instant,
    /// Milliseconds since `started`.
    last: Arc<AtomicU64>,
}

impl Active {
    /// Sets the time of the last activity to now.
    pub(super) fn touch(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Relaxed);
    }

    fn millis(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }
}
