//! Which sensors saw a host.

use std::fmt;
use std::sync::Arc;

use huginn_net_consistency::systems::same_stack;
use huginn_net_core::{Escaped, Timestamp};

/// Maximum number of sensors that a joined host names.
const MAX_SENSORS: usize = 16;

/// A sensor, and the site where it is.
///
/// Equal addresses at two sites are two hosts. A sensor without a site is at a site without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ObservationPoint {
    /// The name of the site.
    pub site: Option<Arc<str>>,
    /// The name of the sensor.
    pub sensor: Option<Arc<str>>,
}

impl ObservationPoint {
    /// A sensor at a site.
    pub fn new(site: Option<impl Into<Arc<str>>>, sensor: Option<impl Into<Arc<str>>>) -> Self {
        Self { site: site.map(Into::into), sensor: sensor.map(Into::into) }
    }
}

/// The site of a joined host, and what each sensor says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenBy {
    /// The name of the site.
    pub site: Option<Arc<str>>,
    /// The first 16 sensors that were joined.
    pub sensors: Vec<SensorView>,
}

/// What a sensor says of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SensorView {
    /// The name of the sensor.
    pub sensor: Arc<str>,
    /// Time of the first packet.
    pub first_seen: Timestamp,
    /// Time of the last packet.
    pub last_seen: Timestamp,
    /// The system of its verdict.
    pub system: Option<Arc<str>>,
}

impl SeenBy {
    pub(super) fn new(site: Option<Arc<str>>) -> Self {
        Self { site, sensors: Vec::new() }
    }

    /// Adds what a sensor says.
    pub(super) fn add(&mut self, view: SensorView) {
        if self.sensors.len() < MAX_SENSORS {
            self.sensors.push(view);
        }
    }

    /// Heap memory, in bytes. Sensors share their names.
    pub(super) fn heap_bytes(&self) -> usize {
        let texts = self.sensors.iter().filter_map(|view| view.system.as_ref());
        let of_texts = texts.fold(0_usize, |sum, text| sum.saturating_add(text.len()));
        self.sensors.capacity().saturating_mul(size_of::<SensorView>()).saturating_add(of_texts)
    }

    /// What sensors say, if two of them name systems with different TCP stacks.
    pub fn disagreement(&self) -> Option<Disagreement<'_>> {
        let mut systems = self.sensors.iter().filter_map(|view| view.system.as_deref());
        let first = systems.next()?;
        systems.any(|system| !same_stack(first, system)).then_some(Disagreement(&self.sensors))
    }
}

/// Sensors that name different systems for a host. [`Display`](fmt::Display) is a sentence without its full stop.
#[derive(Clone, Copy, Debug)]
pub struct Disagreement<'a>(&'a [SensorView]);

impl fmt::Display for Disagreement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.0.iter().filter_map(|view| Some((&view.sensor, view.system.as_deref()?)));
        for (place, (sensor, system)) in named.enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{:#} says {system}", Escaped(sensor.as_bytes()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen_by(systems: &[Option<&str>]) -> SeenBy {
        let mut seen_by = SeenBy::new(None);
        for (number, system) in systems.iter().enumerate() {
            let time = Timestamp::new(0, 0, 6);
            let (sensor, system) = (format!("s{number}").into(), system.map(Into::into));
            seen_by.add(SensorView { sensor, first_seen: time, last_seen: time, system });
        }
        seen_by
    }

    #[test]
    fn sensors_disagree_if_two_name_systems_of_different_stacks() {
        for (systems, wanted) in [
            (&[][..], None),
            (&[Some("Linux"), None, Some("Linux")], None),
            (&[Some("Linux"), Some("Android")], None),
            (&[None, Some("Windows"), Some("Linux")], Some("s1 says Windows, s2 says Linux")),
        ] {
            let found = seen_by(systems);
            let text = found.disagreement().map(|found| found.to_string());
            assert_eq!(text.as_deref(), wanted, "{systems:?}");
        }
    }

    #[test]
    fn host_names_its_first_sensors_only() {
        assert_eq!(seen_by(&[None; 40]).sensors.len(), MAX_SENSORS);
    }
}
