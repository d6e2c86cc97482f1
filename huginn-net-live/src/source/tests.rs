#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;

use super::*;
use crate::backend::{CaptureBackend, Drops};
use crate::frame_batch::FrameBatch;
use crate::{Interface, InterfaceNames, InterfaceState, NoticeKind};

const MAX_DELAY: Duration = Duration::from_millis(50);

/// A backend that follows a script.
struct ScriptedBackend {
    steps: VecDeque<Step>,
    /// Always readable.
    wake_fd: PipeReader,
    _ring: PipeWriter,
}

enum Step {
    /// Frames that were captured at these times.
    Frames(Vec<u64>),
    Nothing,
    Fails(i32),
    Down,
    /// The result of a refresh.
    Found(io::Result<InterfaceState>),
}

impl ScriptedBackend {
    /// Returns the next step if it satisfies the predicate.
    fn step(&mut self, predicate: impl Fn(&Step) -> bool) -> Option<Step> {
        if predicate(self.steps.front()?) { self.steps.pop_front() } else { None }
    }
}

impl CaptureBackend for ScriptedBackend {
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError> {
        match self.step(|step| !matches!(step, Step::Found(_))) {
            Some(Step::Frames(times)) => times.into_iter().for_each(|time| batch.push_stamped(time)),
            Some(Step::Fails(number)) => {
                return Err(ReceiveError::Failed(io::Error::from_raw_os_error(number)));
            }
            Some(Step::Down) => return Err(ReceiveError::Down),
            _ => {}
        }
        Ok(())
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wake_fd.as_fd())
    }

    fn drops(&mut self) -> Drops {
        Drops::default()
    }

    fn reports_link_down(&self) -> bool {
        true
    }

    fn refresh(&mut self, _: &[Interface]) -> io::Result<InterfaceState> {
        match self.step(|step| matches!(step, Step::Found(_))) {
            Some(Step::Found(outcome)) => outcome,
            _ => Ok(InterfaceState::Up),
        }
    }
}

/// Creates a source of interfaces named `0`, `1` and so on.
fn source(interfaces: impl IntoIterator<Item = Vec<Step>>) -> LiveSource {
    let backends = interfaces.into_iter().enumerate().map(|(number, steps)| {
        let (wake_fd, mut ring) = pipe().unwrap();
        ring.write_all(&[0]).unwrap();
        let backend: Box<dyn CaptureBackend> =
            Box::new(ScriptedBackend { steps: steps.into(), wake_fd, _ring: ring });
        (number.to_string(), backend)
    });
    let stop = Stopper::receivers(1).unwrap().remove(0);
    LiveSource::new(
        Interfaces::from_backends(backends),
        InterfaceNames::default(),
        None,
        [MAX_DELAY, MAINTENANCE_INTERVAL],
        stop,
    )
}

/// Reads up to `count` frames and returns their times.
fn lend(source: &mut LiveSource, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    while times.len() < count {
        let frame = match source.next_frame().unwrap() {
            NextFrame::Frame(frame) => frame,
            NextFrame::Idle => continue,
            NextFrame::End => break,
        };
        times.push(frame.ts.as_nanos());
        assert_eq!(frame.data, frame.ts.as_nanos().to_be_bytes());
    }
    times
}

/// Returns the first result other than `Idle`.
fn next_non_idle(source: &mut LiveSource) -> Result<(), LiveError> {
    loop {
        match source.next_frame()? {
            NextFrame::Idle => {}
            NextFrame::Frame(_) | NextFrame::End => return Ok(()),
        }
    }
}

fn nanos_now() -> u64 {
    ClockReading::now().time.as_nanos()
}

#[test]
fn merges_interfaces_in_capture_order() {
    let start_time = nanos_now();
    let times =
        |range: std::ops::Range<u64>, step| range.step_by(step).map(|time| start_time + time).collect();
    let mut source = source([
        vec![Step::Frames(times(0..64, 2)), Step::Frames(times(64..500, 2))],
        vec![Step::Nothing, Step::Frames(times(1..300, 2)), Step::Frames(times(301..499, 2))],
        vec![],
    ]);
    let stats = source.stats();
    assert_eq!(lend(&mut source, 499), (start_time..start_time + 499).collect::<Vec<_>>());
    assert!(nanos_now() - start_time >= 50_000_000);
    source.stopper().stop();
    assert_eq!(lend(&mut source, 1).len(), 0);
    let received: Vec<_> = stats.interfaces().iter().map(|stats| stats.received).collect();
    assert_eq!(received, [250, 249, 0]);
}

#[test]
fn single_interface_adds_no_delay() {
    let start_time = Instant::now();
    // Out of order: a single interface keeps the order of the system.
    let times = [nanos_now(), nanos_now() + 3, nanos_now() + 1];
    let mut source = source([vec![Step::Frames(times.to_vec())]]);
    assert_eq!(lend(&mut source, 3), times);
    assert!(matches!(source.next_frame(), Ok(NextFrame::Idle)));
    assert!(start_time.elapsed() < MAX_DELAY);
}

#[test]
fn stop_lends_waiting_frames() {
    let soon = nanos_now() + 20_000_000;
    let mut stopped = source([vec![Step::Frames(vec![1, soon])], vec![]]);
    thread::sleep(Duration::from_millis(30));
    stopped.stopper().stop();
    assert_eq!(lend(&mut stopped, 9), [1, soon]);
    // Frames captured later are not lent.
    let late = nanos_now() + 10_000_000_000;
    let mut stopped = source([vec![Step::Frames(vec![2, late])], vec![]]);
    stopped.stopper().stop();
    assert_eq!(lend(&mut stopped, 9), [2]);

    let mut failed = source([vec![Step::Frames(vec![late])], vec![Step::Fails(libc::EBADF)]]);
    assert_eq!(lend(&mut failed, 1), [late]);
    match next_non_idle(&mut failed) {
        Err(LiveError::Receive { name, .. }) => assert_eq!(name, "1"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(failed.next_frame(), Ok(NextFrame::End)));
}

#[test]
fn transient_errors_are_counted_and_retried() {
    let fails = [libc::ENOMEM, libc::ENOBUFS, libc::EINTR, libc::EIO].map(Step::Fails);
    let mut source = source([fails.into_iter().chain([Step::Frames(vec![7])]).collect()]);
    assert_eq!(lend(&mut source, 1), [7]);
    assert_eq!(source.stats().interfaces()[0].read_errors, 4);
}

#[test]
fn interface_removed_during_reopen_is_retried() {
    let system = |number| Step::Found(Err(io::Error::from_raw_os_error(number)));
    let back = || Step::Found(Ok(InterfaceState::Up));
    for (found, want) in [
        (vec![system(libc::ENODEV), back()], vec![NoticeKind::Removed, NoticeKind::Recovered]),
        (
            vec![system(libc::ENXIO), system(libc::ENETDOWN), back()],
            vec![NoticeKind::Removed, NoticeKind::Recovered],
        ),
    ] {
        let mut source =
            source([[vec![Step::Down], found, vec![Step::Frames(vec![7])]].into_iter().flatten().collect()]);
        let (sender, received) = mpsc::channel();
        source.on_notice(move |notice| sender.send(notice.kind.clone()).unwrap());
        assert_eq!(lend(&mut source, 1), [7]);
        assert_eq!(received.try_iter().collect::<Vec<_>>(), want);
    }
}

#[test]
fn permanent_reopen_error_abandons_interface() {
    let reasons = [io::Error::from_raw_os_error(libc::EPERM), io::Error::other("hardware type 9")];
    for reason in reasons {
        let reported_reason = reason.to_string();
        let mut source = source([vec![Step::Down, Step::Found(Err(reason))]]);
        let (sender, received) = mpsc::channel();
        source.on_notice(move |notice| sender.send(notice.kind.clone()).unwrap());
        assert!(matches!(next_non_idle(&mut source), Err(LiveError::NoInterfaceLeft)));
        assert_eq!(
            received.try_iter().collect::<Vec<_>>(),
            [NoticeKind::Abandoned { reason: reported_reason }]
        );
    }
}
