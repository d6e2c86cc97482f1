//! TCP fingerprints.

use huginn_net_consistency::systems::is_middlebox;
use huginn_net_core::{Interest, Origin, Protocol, Route, Segment, Side, TcpFlags, Timestamp};
use huginn_net_db::Label;
use huginn_net_tcp::{Mtu, TcpEvent, TcpFlow};

use super::flow_state::ProtocolStates;
use super::{FlowOutput, Observers};
use crate::hosts::{TcpUpdate, Update};
use crate::observation::{MtuObservation, Observation, TcpObservation};
use crate::scope::Scope;

impl Observers {
    pub(super) fn on_tcp(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> Interest {
        let Some(tcp) = &mut self.tcp else { return Interest::Done };
        let database = &self.settings.database;
        let ProtocolStates { tcp: state, by_tool, systems, p0f, .. } = flow;
        let (scope, profiles) = (self.settings.scope, self.settings.profiles);
        let interest = tcp.on_segment(segment, sender, state, &mut |origin, event| {
            let side = origin.subject;
            let (signature, sendsyn) = match event {
                TcpEvent::Syn(signature) | TcpEvent::SynAck(signature) => (signature, false),
                TcpEvent::SendsynProbe(signature) | TcpEvent::SendsynResponse(signature) => (signature, true),
                TcpEvent::Mtu(_) if *by_tool == Some(side) => return,
                TcpEvent::Mtu(mtu) => {
                    if profiles {
                        let link = MtuObservation { mtu, link: database.match_mtu(mtu).cloned() };
                        emit(origin, Route::Update(Update::Mtu(link).into()));
                    }
                    return;
                }
                TcpEvent::Clock(clock) if scope == Scope::Full => {
                    return emit(origin, Route::Update(Update::Clock(clock).into()));
                }
                _ => return,
            };
            let matched = scope.match_handshake(database, &signature);
            let mut observation = TcpObservation::new(signature, matched, sendsyn);
            if !sendsyn && *by_tool != Some(side) && !observation.label().is_some_and(Label::is_tool) {
                let mtu = Mtu::from_mss(signature.version, signature.mss);
                observation.link =
                    mtu.map(|mtu| MtuObservation { mtu, link: database.match_mtu(mtu).cloned() });
            }
            match &observation.matched {
                Some(found) if found.label.is_tool() => *by_tool = Some(side),
                Some(found) if !is_middlebox(&found.label) => {
                    systems.set(side, found);
                }
                _ => {}
            }
            if side == Side::Client && scope == Scope::P0f && !sendsyn {
                *p0f = Some(Box::default());
            }
            let update = TcpUpdate {
                signature,
                matched: observation.matched.clone(),
                clock: p0f.as_ref().map(|p0f| p0f.clock.clone()),
                isn: segment.tcp().map_or(0, |tcp| tcp.seq),
            };
            emit(origin, Route::Report(Observation::Tcp(observation)));
            if !sendsyn {
                emit(origin, Route::Update(Update::Tcp(update).into()));
            }
        });
        if self.settings.scope == Scope::P0f && by_tool.take().is_some() {
            state.end();
            flow.http_done = true;
            flow.p0f = None;
            return Interest::More;
        }
        interest
    }

    /// Whether TCP fingerprints need nothing of a segment.
    #[inline(always)]
    pub(super) fn skips_tcp(
        &self,
        ts: Timestamp,
        flags: TcpFlags,
        sender: Side,
        flow: &TcpFlow,
        is_done: bool,
    ) -> bool {
        const CONTROL: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);
        let can_skip = || self.tcp.as_ref().is_some_and(|observer| observer.can_skip(ts, sender, flow));
        is_done || !flags.intersects(CONTROL) && can_skip()
    }
}
