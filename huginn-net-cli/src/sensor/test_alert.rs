//! A test alert, which goes through an output as events of live traffic do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{Configure, Event, Frame, HuginnNet, LinkType, Observation, Timestamp};

use super::outputs::{Outputs, Setting};
use super::starting;
use crate::failure::Failure;
use crate::output::{EVENTS_WAIT, Messages};
use crate::plan::LiveOutputPlan;

/// What a watch list has about the client of the [`SYN`], with its name: every format shows one of the two at least.
const LIST: &str = "ip,label\n192.0.2.1,test of huginn-net doctor: no traffic\n";
const LIST_NAME: &str = "test of huginn-net doctor";

/// A SYN from 192.0.2.1 to 192.0.2.2, addresses of documentation (RFC 5737).
const SYN: [u8; 60] = [
    // Version and length, total length; identification, DF; TTL, TCP, checksum; addresses.
    0x45, 0, 0, 60, 0x8a, 0x30, 0x40, 0, 64, 6, 0x2c, 0x86, 192, 0, 2, 1, 192, 0, 2, 2,
    // Ports; numbers; length of the header, SYN; window, checksum, urgent pointer.
    0xb0, 0xe2, 1, 187, 0x50, 0xd2, 0xf4, 0xb7, 0, 0, 0, 0, 0xa0, 2, 0xfa, 0xf0, 0, 0, 0, 0,
    // MSS 1460, SACK permitted, timestamps, NOP, window scale 7.
    2, 4, 5, 0xb4, 4, 2, 8, 10, 0x6d, 0x0f, 0, 0xa1, 0, 0, 0, 0, 1, 3, 3, 7,
];

/// What happened to a test alert.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TestDelivery {
    /// The system, or a server over TLS, has it.
    Written,
    /// The output selects other events, or its format has no alerts.
    NotSelected,
    Failed(String),
}

/// Sends a test alert through an output. `interfaces`: those of the sensor.
pub(crate) fn send_test_alert(
    plan: LiveOutputPlan,
    interfaces: Vec<String>,
) -> Result<TestDelivery, Failure> {
    let (messages, _queue) = Messages::start().map_err(starting("the message thread"))?;
    let errors: Arc<Mutex<Vec<String>>> = Arc::default();
    messages.redirect(Some(Box::new({
        let errors = Arc::clone(&errors);
        move |message| errors.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_string())
    })));
    let event = test_alert()?;
    let name = plan.name.clone();
    let setting = Setting { interfaces: interfaces.into(), has_view: false, messages, stopper: None };
    let outputs = match Outputs::open(vec![plan], false, setting) {
        Ok(outputs) => outputs,
        Err(error) => return Ok(TestDelivery::Failed(without_name(&error.to_string(), &name))),
    };
    let is_selected = {
        let reader = outputs.reader();
        let mut text = Vec::new();
        reader.render(&event, &mut text);
        let _ = reader.push(event.ts, &text);
        reader.push_to_tables(event) || !text.is_empty()
    };
    let lost = outputs.finish();
    let (_, counters) = outputs.counters();
    if !is_selected {
        return Ok(TestDelivery::NotSelected);
    }
    if lost == 0 && counters.written_lines > 0 {
        return Ok(TestDelivery::Written);
    }
    let errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
    let error = errors.first().map_or("nothing takes it", String::as_str);
    let error = error.strip_suffix(EVENTS_WAIT).unwrap_or(error);
    Ok(TestDelivery::Failed(without_name(error, &name)))
}

/// A message without the name of its output, which the caller shows.
fn without_name(message: &str, name: &str) -> String {
    message.strip_prefix(&format!("{name}: ")).unwrap_or(message).to_owned()
}

/// An event `match`, whose list and label say that it is a test.
fn test_alert() -> Result<Event, Failure> {
    let mut lists = WatchLists::default();
    let invalid = |source| Failure::List { path: LIST_NAME.to_owned(), source };
    lists.add(LIST_NAME, LIST.as_bytes()).map_err(invalid)?;
    let mut analyzer = HuginnNet::builder().watch_lists(WatchListHandle::new(lists)).build();
    let ts = Timestamp::from(SystemTime::now());
    let mut alert = None;
    let mut keep = |event: Event| {
        if matches!(event.kind, Observation::Match(_)) {
            alert = Some(event);
        }
    };
    let wire_len = u32::try_from(SYN.len()).unwrap_or(u32::MAX);
    let _ = analyzer.push(&Frame { ts, link: LinkType::RAW, data: &SYN, wire_len }, &mut keep);
    analyzer.finish(&mut keep);
    alert.ok_or_else(|| Failure::Usage("the test alert has no event".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alert_says_that_it_is_a_test() {
        let Observation::Match(found) = test_alert().unwrap().kind else { panic!("no match") };
        assert_eq!((&*found.list, &*found.label), (LIST_NAME, "test of huginn-net doctor: no traffic"));
        assert_eq!(&*found.value, "192.0.2.1");
    }
}
