//! `huginn-net hosts join`: the hosts of several sensors, by site and address.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use huginn_net::core::{Amount, Escaped};
use huginn_net::hosts::{JoinedHosts, ObservationPoint};

use super::hosts::write_hosts;
use crate::args::HostsJoinArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::paths::name_of;
use crate::plan::HostsJoinPlan;
use crate::sensor::read_hosts;
use crate::stderr;
use crate::views::store::alerts::AlertList;

pub(super) fn run(args: HostsJoinArguments) -> Result<Outcome, Failure> {
    let HostsJoinPlan { files, limits, database, output, pages } = HostsJoinPlan::new(args)?;
    let mut writer = output.create(pages)?;
    let mut joined = JoinedHosts::new(&limits);
    let mut points = Points::default();
    let mut outcome = Outcome::Complete;
    for path in &files {
        let name: Arc<str> = name_of(path).into();
        let read = read_hosts(path, |point, saved| {
            // A sensor without a name has that of its file.
            let sensor = point.sensor.clone().or_else(|| Some(Arc::clone(&name)));
            joined.add_saved(saved, &ObservationPoint::new(point.site.clone(), sensor), &database)
        });
        match read.unwrap_or_else(|failure| Err(failure.to_string())) {
            Ok(summary) => {
                if let Some((left_out, reason)) = summary.left_out {
                    let hosts = Amount(left_out, "host(s)");
                    stderr::report(&format_args!(
                        "{name}: {hosts} left out: {reason}; --db names its database"
                    ));
                }
                points.add(summary.point, name);
            }
            Err(error) => {
                stderr::report(&error);
                outcome = Outcome::Failed;
            }
        }
    }
    points.report();
    write_hosts(&output, &mut writer, joined.profiles(), &AlertList::default(), None)?;
    writer.finish()?;
    if joined.left_out() > 0 {
        let left_out = joined.left_out();
        stderr::report(&format_args!("the list omits {left_out} hosts: the host limit was reached"));
    }
    if !output.is_quiet {
        let (states, sites) = (Amount(points.states, "state(s)"), Amount(points.sites(), "site(s)"));
        let hosts = Amount(joined.profiles().count() as u64, "host(s)");
        stderr::report(&format_args!("{states} of {sites}: {hosts}"));
    }
    Ok(outcome)
}

/// The sensors of the states that were read.
#[derive(Default)]
struct Points {
    states: u64,
    /// The first file of each sensor with a name.
    files: BTreeMap<ObservationPoint, Arc<str>>,
    sites: BTreeSet<Option<Arc<str>>>,
    /// The files without a site.
    without_site: Vec<Arc<str>>,
}

impl Points {
    fn add(&mut self, point: ObservationPoint, file: Arc<str>) {
        self.states = self.states.saturating_add(1);
        self.sites.insert(point.site.clone());
        if point.site.is_none() {
            self.without_site.push(Arc::clone(&file));
        }
        let Some(sensor) = &point.sensor else { return };
        match self.files.get(&point) {
            Some(first) => {
                let sensor = Escaped(sensor.as_bytes());
                stderr::report(&format_args!(
                    "{first} and {file} are both of the sensor '{sensor:#}': what both have counts twice"
                ));
            }
            None => {
                self.files.insert(point, file);
            }
        }
    }

    fn sites(&self) -> u64 {
        self.sites.len() as u64
    }

    /// Says whose site is not known, if there are several states.
    fn report(&self) {
        if let Some(first) = self.without_site.first().filter(|_| self.states > 1) {
            let others = self.without_site.len().saturating_sub(1) as u64;
            let others =
                if others == 0 { String::new() } else { format!(" and {}", Amount(others, "other file(s)")) };
            stderr::report(&format_args!(
                "{first}{others}: without a site: their equal addresses are one host; 'live --site' names it"
            ));
        }
    }
}
