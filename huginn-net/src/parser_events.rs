//! Converts the events of HTTP, TLS and SSH to findings and host updates.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use huginn_net_consistency::systems::is_firm;
use huginn_net_consistency::{
    self as consistency, ClientLayers, ConnectivityCheck, Consistency, Outcome, is_refuted,
};
use huginn_net_core::{Route, Side};
use huginn_net_db::{ClientMatch, Database, Label, SoftwareClaim, TcpMatch};
use huginn_net_http::http2::Akamai;
use huginn_net_http::{HttpEvent, HttpRequest, HttpResponse, HttpSignature, Request, Role};
use huginn_net_ssh::SshEvent;
use huginn_net_tls::{TlsEvent, Version};

use crate::hosts::{
    self, CertificateFacts, FindingSettings, FlowOutput, HttpUpdate, RequestFacts, ServerFacts, TlsUpdate,
    Update,
};
use crate::observation::{
    Clients, HttpRequestObservation, HttpResponseObservation, HttpVerdict, Observation, SshClientObservation,
    SshHandshakeObservation, SshServerObservation, TlsCertificatesObservation, TlsClientObservation,
    TlsHandshakeObservation, TlsServerObservation,
};
use crate::scope::Scope;

/// The operating systems that SYN and SYN+ACK of a connection matched.
#[derive(Debug, Default)]
pub(crate) struct HandshakeSystems {
    client: Option<Arc<Label>>,
    server: Option<Arc<Label>>,
    client_is_firm: bool,
    server_is_firm: bool,
}

impl HandshakeSystems {
    pub(crate) fn set(&mut self, side: Side, found: &TcpMatch) {
        let Self { client, server, client_is_firm, server_is_firm } = self;
        *side.choose(client, server) = Some(Arc::clone(&found.label));
        *side.choose(client_is_firm, server_is_firm) = is_firm(found);
    }

    fn of(&self, side: Side) -> Option<&Arc<Label>> {
        side.choose(&self.client, &self.server).as_ref()
    }

    /// The system of a side, if its handshake matched a specific signature exactly.
    fn firm(&self, side: Side) -> Option<&Arc<Label>> {
        self.of(side).filter(|_| side.choose(self.client_is_firm, self.server_is_firm))
    }
}

/// Converts an SSH event to a finding.
pub(crate) fn on_ssh(clients: &Clients, side: Side, event: SshEvent, emit: &mut dyn FnMut(Side, FlowOutput)) {
    let observation = match event {
        SshEvent::Client(client) => Observation::SshClient(SshClientObservation::new(client, clients)),
        SshEvent::Server(server) => Observation::SshServer(SshServerObservation::new(server, clients)),
        SshEvent::Handshake(negotiation) => {
            Observation::SshHandshake(Box::new(SshHandshakeObservation::new(*negotiation, clients)))
        }
        _ => return,
    };
    emit(side, Route::Report(observation));
}

/// Which findings and host updates are made, and from which databases.
#[derive(Clone, Debug)]
pub(crate) struct ParserSettings {
    pub(crate) database: Arc<Database>,
    pub(crate) clients: Clients,
    pub(crate) scope: Scope,
    pub(crate) profiles: bool,
    pub(crate) findings: Option<FindingSettings>,
    /// Whether the ends of handshakes, and certificates, are reported.
    pub(crate) handshakes: bool,
    /// What takes the place of addresses in HTTP heads.
    #[cfg(feature = "anonymize")]
    pub(crate) anonymizer: Option<Arc<crate::anonymize::Anonymizer>>,
}

/// Converts the events of one connection's parsers to findings and host updates.
pub(crate) struct ParserEvents<'a> {
    pub(crate) settings: &'a ParserSettings,
    pub(crate) systems: &'a HandshakeSystems,
    /// The outcome of the last reported mismatch of the connection.
    pub(crate) mismatch: &'a Cell<Option<Outcome>>,
    /// Whether the client of the connection names no server; set only if findings are enabled.
    pub(crate) is_nameless: &'a Cell<bool>,
}

impl ParserEvents<'_> {
    /// Converts an HTTP event; `decrypted` if the connection is encrypted.
    pub(crate) fn on_http(
        &self,
        side: Side,
        event: HttpEvent,
        decrypted: bool,
        emit: &mut dyn FnMut(Side, FlowOutput),
    ) {
        let scope = self.settings.scope;
        #[cfg(feature = "anonymize")]
        let event = self.anonymized(event);
        let signature = match &event {
            HttpEvent::Request(HttpRequest { request, .. }) => {
                if scope == Scope::P0f {
                    HttpSignature::p0f_from_request(request)
                } else {
                    Some(HttpSignature::from_request(request))
                }
            }
            HttpEvent::Response(HttpResponse { response, .. }) => {
                if scope == Scope::P0f {
                    HttpSignature::p0f_from_response(response)
                } else {
                    Some(HttpSignature::from_response(response))
                }
            }
            _ => return,
        };
        let Some(signature) = signature else { return };
        let check = match &event {
            HttpEvent::Request(HttpRequest { request, .. }) if scope == Scope::Full => {
                ConnectivityCheck::from_request(request)
            }
            _ => None,
        };
        let mut verdict = self.verdict(signature, check);
        verdict.params.repeats_pseudo_headers = match &event {
            HttpEvent::Request(found) => found.request.headers().repeats_pseudo_headers(),
            HttpEvent::Response(found) => found.response.headers().repeats_pseudo_headers(),
            _ => false,
        };
        let mut update = HttpUpdate::new(&verdict, scope == Scope::P0f);
        if self.settings.profiles {
            let language = match scope {
                Scope::Full => language_of(&event),
                Scope::P0f => hosts::p0f_language_of(&verdict.signature),
            };
            update =
                update.for_profile(&verdict, language, name_of(&event), self.systems.firm(side).cloned());
        }
        let has_findings = self.settings.findings.is_some() && scope == Scope::Full;
        let mut mismatch = None;
        let observation = match event {
            HttpEvent::Request(HttpRequest { request, exchange, akamai, http3, .. }) => {
                let software = akamai
                    .as_ref()
                    .and_then(|akamai| self.settings.clients.get().match_akamai(akamai.hash()));
                if scope == Scope::Full && check.is_none() {
                    mismatch = self.mismatch(&request, akamai.as_deref(), software.as_ref(), &verdict);
                }
                let imitation = mismatch.as_ref().filter(|found| found.outcome == Outcome::Imitation);
                update.is_imitation = imitation.is_some();
                if has_findings {
                    let contact =
                        RequestFacts::from_request(&request, &verdict, software.as_ref(), imitation);
                    update = update.for_findings(contact, &verdict, self.systems.firm(side).cloned());
                }
                let of_http3 = || self.settings.clients.get().match_http3_hash(http3.as_ref()?.hash());
                let software = software.or_else(of_http3);
                let found = HttpRequestObservation {
                    request,
                    exchange,
                    decrypted,
                    akamai,
                    software,
                    http3,
                    verdict,
                    clients: self.settings.clients.clone(),
                };
                Observation::HttpRequest(Box::new(found))
            }
            HttpEvent::Response(HttpResponse { response, exchange, .. }) => {
                Observation::HttpResponse(Box::new(HttpResponseObservation {
                    response,
                    exchange,
                    decrypted,
                    verdict,
                }))
            }
            _ => return,
        };
        emit(side, Route::Report(observation));
        if let Some(mismatch) = mismatch
            && self.mismatch.get() < Some(mismatch.outcome)
        {
            self.mismatch.set(Some(mismatch.outcome));
            emit(side, Route::Report(Observation::Mismatch(mismatch)));
        }
        if self.settings.profiles || has_findings || scope == Scope::P0f {
            emit(side, Route::Update(Update::Http(Box::new(update)).into()));
        }
    }

    #[cfg(feature = "anonymize")]
    fn anonymized(&self, mut event: HttpEvent) -> HttpEvent {
        if let Some(map) = self.settings.anonymizer.as_deref() {
            let in_head = |name: Option<&[u8]>, text: &[u8]| crate::anonymize::in_head(name, text, map);
            match &mut event {
                HttpEvent::Request(found) => found.request.replace_texts(in_head),
                HttpEvent::Response(found) => found.response.replace_texts(in_head),
                _ => {}
            }
        }
        event
    }

    /// Compares a request with the browser that it claims, if anything about it is unusual.
    fn mismatch(
        &self,
        request: &Request,
        akamai: Option<&Akamai>,
        software: Option<&ClientMatch>,
        verdict: &HttpVerdict,
    ) -> Option<Consistency> {
        let is_unusual = akamai.is_some()
            || verdict.params.claim != SoftwareClaim::Agrees
            || verdict.system.agrees == Some(false)
            || request.header("Accept").is_none()
            || request.header("Sec-CH-UA").is_some();
        if !is_unusual {
            return None;
        }
        // A claim without a text is not evidence.
        let is_evidence = verdict.system.claimed.is_none() || verdict.system.text.is_some();
        let system = self.systems.firm(Side::Client).cloned().filter(|_| is_evidence);
        let layers = ClientLayers::default()
            .system(system.as_deref())
            .akamai(akamai)
            .http2(software.map(|found| &*found.software))
            .http1(verdict.matched.as_ref().filter(|_| akamai.is_none()))
            .request(request);
        let found = consistency::check(&layers, &self.settings.database);
        (found.outcome >= Outcome::Proxy).then_some(found)
    }

    fn verdict(&self, signature: HttpSignature, check: Option<ConnectivityCheck>) -> HttpVerdict {
        let ParserSettings { database, clients, scope, .. } = self.settings;
        let sender = match signature.role() {
            Role::Request => Side::Client,
            Role::Response => Side::Server,
        };
        let firm = self.systems.firm(sender).map(|system| &**system);
        let mut matched = match (scope, signature.role()) {
            (Scope::P0f, _) => database.match_http_as_p0f(&signature),
            (Scope::Full, Role::Request) => database.match_request(&signature),
            (Scope::Full, Role::Response) => database.match_response(&signature),
        };
        if *scope == Scope::Full {
            matched = matched.filter(|found| !is_refuted(found, firm));
        }
        if let Some(found) =
            matched.as_mut().filter(|found| check.is_some() && found.claim == SoftwareClaim::Dishonest)
        {
            found.claim = SoftwareClaim::Custom;
        }
        let system = self.systems.of(sender).map(|system| &**system);
        HttpVerdict::new(signature, matched, check, system, database, *scope, clients.text_limit)
    }

    /// Converts an event of TLS; `decrypted` if the connection is inside an encrypted one.
    pub(crate) fn on_tls(
        &self,
        side: Side,
        event: TlsEvent,
        decrypted: bool,
        emit: &mut dyn FnMut(Side, FlowOutput),
    ) {
        let has_findings = self.settings.findings.is_some() && self.settings.scope == Scope::Full;
        if has_findings && let Some(facts) = self.server_facts(side, &event) {
            emit(side, Route::Update(Update::Server(Box::new(facts)).into()));
        }
        let (update, observation) = match event {
            TlsEvent::Handshake(_) | TlsEvent::Certificates(_) if !self.settings.handshakes => return,
            TlsEvent::Client(client) => {
                let observation =
                    Box::new(TlsClientObservation::new(client, decrypted, &self.settings.clients));
                if has_findings {
                    let facts = RequestFacts::from_hello(&observation);
                    self.is_nameless.set(facts.is_nameless);
                    emit(side, Route::Update(Update::Request(Box::new(facts)).into()));
                }
                let tcp = || self.systems.firm(Side::Client).cloned();
                let update =
                    self.settings.profiles.then(|| Update::TlsClient(TlsUpdate::new(&observation, tcp())));
                (update, Observation::TlsClient(observation))
            }
            TlsEvent::Server(server) => (
                self.settings.profiles.then_some(Update::TlsServer),
                Observation::TlsServer(TlsServerObservation::new(server, decrypted, &self.settings.clients)),
            ),
            TlsEvent::Handshake(found) => {
                let (handshake, text_limit) = (*found, self.settings.clients.text_limit);
                let decrypted = decrypted || handshake.decrypted;
                let observation = TlsHandshakeObservation { handshake, decrypted, text_limit };
                (None, Observation::TlsHandshake(Box::new(observation)))
            }
            TlsEvent::Certificates(certificates) => {
                let text_limit = self.settings.clients.text_limit;
                let decrypted = decrypted || certificates.decrypted;
                let observation = TlsCertificatesObservation { certificates, decrypted, text_limit };
                (None, Observation::TlsCertificates(Box::new(observation)))
            }
            _ => return,
        };
        emit(side, Route::Report(observation));
        update.into_iter().for_each(|update| emit(side, Route::Update(update.into())));
    }
}

impl ParserEvents<'_> {
    /// What an event says of a server without a name, or with the certificate of a C2 program.
    fn server_facts(&self, side: Side, event: &TlsEvent) -> Option<ServerFacts> {
        let is_nameless = self.is_nameless.get();
        match event {
            TlsEvent::Server(server) if is_nameless && !server.hello.is_retry_request() => {
                let version = server.hello.version();
                Some(ServerFacts {
                    is_nameless,
                    is_old: matches!(version, Version::SSL_2 | Version::SSL_3 | Version::TLS_1_0),
                    hides_certificate: version == Version::TLS_1_3,
                    certificate: None,
                })
            }
            TlsEvent::Certificates(found) if side == Side::Server => {
                let certificate = CertificateFacts::new(found.certificates.first(), is_nameless)?;
                Some(ServerFacts { is_nameless, certificate: Some(certificate), ..ServerFacts::default() })
            }
            _ => None,
        }
    }
}

/// The preferred language of a request.
fn language_of(event: &HttpEvent) -> Option<Cow<'static, str>> {
    let HttpEvent::Request(found) = event else { return None };
    found.request.language().map(hosts::language_of)
}

/// The name that a request asks for.
fn name_of(event: &HttpEvent) -> Option<Box<[u8]>> {
    let HttpEvent::Request(found) = event else { return None };
    found.request.host().and_then(hosts::asked_name)
}
