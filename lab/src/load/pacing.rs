//! The times at which requests are due.

use std::time::Duration;

use tokio::time::Instant;

/// A schedule with constant intervals, or none.
pub(super) struct Pacing {
    next: Instant,
    interval: Option<Duration>,
}

impl Pacing {
    /// Divides a rate by the connections; connection `number` begins at its share of the first interval.
    pub(super) fn new(start: Instant, rate: Option<f64>, connections: u16, number: u16) -> Self {
        let interval = rate.map(|rate| Duration::from_secs_f64(f64::from(connections) / rate));
        let offset = interval
            .map_or(Duration::ZERO, |interval| interval.mul_f64(f64::from(number) / f64::from(connections)));
        Self { next: start.checked_add(offset).unwrap_or(start), interval }
    }

    /// Waits until the next request is due and returns that time: latency counts from it, so that a slow response does
    /// not hide the wait of those behind it. Without a rate, a request is due at once.
    pub(super) async fn due(&mut self) -> Instant {
        let Some(interval) = self.interval else { return Instant::now() };
        let due = self.next;
        self.next = due.checked_add(interval).unwrap_or(due);
        tokio::time::sleep_until(due).await;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn schedule_does_not_shift_after_a_slow_response() {
        let start = Instant::now();
        let mut pacing = Pacing::new(start, Some(20.0), 2, 1);
        assert_eq!(pacing.due().await - start, Duration::from_millis(50));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(pacing.due().await - start, Duration::from_millis(150));
        assert_eq!(Instant::now() - start, Duration::from_millis(550));
    }
}
