//! `huginn-net follow`: one host, or who sent something.

use huginn_net::hosts::JoinedHosts;
use huginn_net::{Event, HuginnNet};

use crate::args::FollowArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Selected;
use crate::plan::{FollowPlan, host_limits};
use crate::run::{CaptureOutcome, CaptureRun, Networks, OpenCapture, Visitor};
use crate::stderr;
use crate::views::columns;
use crate::views::follow::{Context, Followed};

pub(super) fn run(args: FollowArguments) -> Result<Outcome, Failure> {
    let FollowPlan { inputs, analyzer, networks, subject, selected, output } = FollowPlan::new(args)?;
    let networks = Networks::new(&networks, &inputs);
    let mut writer = output.create(false)?;
    let mut run = CaptureRun::start(inputs, analyzer, output.is_quiet)?;
    let followed = Followed::new(subject);
    let hosts = JoinedHosts::new(&host_limits());
    let mut follower = Follower { followed, selected, networks, hosts };
    run.run(&mut follower)?;
    let Follower { followed, hosts, .. } = follower;
    let name = |index| run.name(index).filter(|_| run.opened() > 1);
    let width = columns::width(writer.is_on_terminal());
    let context = Context { hosts: &hosts, file_name: &name, width, zone: &output.zone };
    let out = writer.begin_part()?;
    if followed.is_empty(&hosts) {
        stderr::report(&followed.nothing());
    } else if output.is_json() {
        followed.write_json(out, &context)?;
    } else {
        followed.write_text(out, &context)?;
    }
    writer.finish()?;
    Ok(run.outcome())
}

/// Keeps what concerns the subject.
struct Follower {
    followed: Followed,
    selected: Selected,
    networks: Networks,
    hosts: JoinedHosts,
}

impl Visitor for Follower {
    fn analyze(&mut self, analyzer: &mut HuginnNet, capture: &mut OpenCapture<'_>) -> CaptureOutcome {
        let Self { followed, selected, .. } = self;
        followed.begin_file(capture.index);
        let add = &mut |event: Event| {
            if followed.concerns(&event) {
                followed.note(&event);
                if selected.contains(&event, capture.name.as_deref(), None) {
                    followed.add(event);
                }
            }
        };
        analyzer.analyze(&mut capture.source, add).map(drop)
    }

    fn end_capture(&mut self, analyzer: &HuginnNet, capture: &OpenCapture<'_>) -> Result<(), Failure> {
        self.hosts.add(analyzer.shared_state(), self.networks.of(capture.index).as_ref());
        Ok(())
    }
}
