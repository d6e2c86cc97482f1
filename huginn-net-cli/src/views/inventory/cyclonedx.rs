//! The inventory as a cryptography bill of materials: CycloneDX 1.6, JSON.
//!
//! It has what servers chose. What clients only offered is not in use.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use huginn_net::core::Amount;
use huginn_net::ssh::strength::WeakMethod;
use huginn_net::tls::strength::{KeyExchangeKind, deprecated_by, weaknesses};
use huginn_net::tls::{Certificate, CertificateFields, Version};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::certificate::sha256_of;
use super::summary::{KeyExchangeName, Summary, suite_name, version_name};
use crate::views::encoding::{object, percent_encoded};
use crate::views::store::bounded::Seen;
use crate::views::store::cryptography::{Inventory, LeftOut, Place, TlsChoice};

#[derive(Serialize)]
struct Property {
    name: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Component {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Value>,
    #[serde(rename = "cryptoProperties")]
    crypto: Crypto,
    properties: Vec<Property>,
    evidence: BTreeMap<&'static str, Vec<Occurrence>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "assetType")]
enum Crypto {
    #[serde(rename_all = "camelCase")]
    Algorithm { algorithm_properties: Algorithm },
    #[serde(rename_all = "camelCase")]
    Protocol { protocol_properties: Protocol },
    #[serde(rename_all = "camelCase")]
    Certificate { certificate_properties: CertificateContent },
    #[serde(rename_all = "camelCase")]
    RelatedCryptoMaterial { related_crypto_material_properties: Material },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Algorithm {
    primitive: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nist_quantum_security_level: Option<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Protocol {
    #[serde(rename = "type")]
    kind: &'static str,
    version: String,
    cipher_suites: Vec<CipherSuite>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateContent {
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_valid_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_valid_after: Option<String>,
    /// The component of the algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_algorithm_ref: Option<String>,
    /// The component of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_public_key_ref: Option<String>,
    certificate_format: &'static str,
}

/// A public key.
#[derive(Serialize)]
struct Material {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

#[derive(Serialize)]
struct CipherSuite {
    name: String,
    /// The components of its algorithms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    algorithms: Vec<String>,
    /// The two bytes of the number; none of SSH.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    identifiers: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Occurrence {
    location: String,
    additional_context: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    #[serde(rename = "ref")]
    reference: String,
    depends_on: Vec<String>,
}

/// Name of the component of SSH.
const SSH: &str = "SSH 2.0";

/// Where and when something was chosen: servers by address.
type Places = BTreeMap<Place, Seen>;

/// Versions with their cipher suites and key exchanges.
#[derive(Default)]
struct VersionUse {
    suites: BTreeSet<u16>,
    key_exchanges: BTreeSet<KeyExchangeName>,
    /// Algorithms of SSH that were agreed on together, with the component of the key exchange.
    ssh_suites: BTreeMap<String, Option<String>>,
    /// Weak methods of SSH.
    weak_methods: BTreeSet<WeakMethod>,
    places: Places,
}

/// Writes the document.
pub(crate) fn write(out: &mut impl Write, inventory: &Inventory, summary: &Summary<'_>) -> io::Result<()> {
    let mut versions: BTreeMap<u16, VersionUse> = BTreeMap::new();
    let mut exchanges: BTreeMap<KeyExchangeName, Places> = BTreeMap::new();
    let mut ssh = VersionUse::default();
    let mut certificates: BTreeMap<[u8; 32], (&Certificate, Places)> = BTreeMap::new();
    for judged in &summary.servers {
        for (choice, seen) in judged.server.tls.iter() {
            let used = versions.entry(choice.version.0).or_default();
            used.suites.insert(choice.cipher_suite);
            add_place(&mut used.places, judged.place, seen);
            if let Some(exchange) = known(choice) {
                used.key_exchanges.insert(exchange.clone());
                add_place(exchanges.entry(exchange).or_default(), judged.place, seen);
            }
        }
        for (choice, seen) in judged.server.ssh.iter() {
            add_place(&mut ssh.places, judged.place, seen);
            ssh.weak_methods.extend(choice.weak_methods());
            let exchange = KeyExchangeName::of_ssh(choice).filter(|exchange| exchange.kind.is_some());
            if let Some(name) = choice.suite_name() {
                ssh.ssh_suites.insert(name, exchange.as_ref().map(algorithm_reference));
            }
            let Some(exchange) = exchange else { continue };
            ssh.key_exchanges.insert(exchange.clone());
            add_place(exchanges.entry(exchange).or_default(), judged.place, seen);
        }
        for (found, seen) in judged.server.certificates.iter() {
            let certificate = &found.certificate;
            let (_, places) =
                certificates.entry(*certificate.sha256()).or_insert_with(|| (certificate, Places::default()));
            add_place(places, judged.place, seen);
        }
    }
    let mut signatures: BTreeMap<&str, Places> = BTreeMap::new();
    for (certificate, places) in certificates.values() {
        let Some(name) = signature_of(certificate) else { continue };
        let known = signatures.entry(name).or_default();
        places.iter().for_each(|(place, seen)| add_place(known, *place, seen));
    }
    let signatures: Vec<Component> =
        signatures.into_iter().map(|(name, places)| signature_component(name, places)).collect();
    let keys: Vec<Component> = certificates
        .values()
        .filter_map(|(certificate, places)| key_component(certificate, places))
        .collect();
    let certificates = certificates.into_values();
    let certificates = certificates.map(|(certificate, places)| certificate_component(certificate, places));
    let certificates = signatures.into_iter().chain(keys).chain(certificates);
    let algorithms = exchanges.into_iter().map(|(exchange, places)| algorithm(&exchange, places));
    let used =
        versions.iter().map(|(number, used)| (protocol_reference(&version_name(Version(*number))), used));
    let used = used.chain((!ssh.places.is_empty()).then(|| (protocol_reference(SSH), &ssh)));
    let dependencies = used.map(|(reference, used)| Dependency {
        reference,
        depends_on: used.key_exchanges.iter().map(algorithm_reference).collect(),
    });
    let dependencies: Vec<Dependency> = dependencies.collect();
    let protocols = versions.into_iter().map(|(number, used)| tls_component(Version(number), used));
    let protocols = protocols.chain((!ssh.places.is_empty()).then_some(ssh).map(ssh_component));
    let LeftOut { hosts, values } = inventory.left_out();
    let properties = [("huginn-net:left_out.hosts", hosts), ("huginn-net:left_out.values", values)];
    let tool = object! { r#type: "application", name: "huginn-net", version: env!("CARGO_PKG_VERSION") };
    // The time of the latest event.
    let latest = inventory.span().map(|seen| object! { timestamp: seen.last });
    let metadata = object! {
        #[serde(flatten)] timestamp: latest,
        lifecycles: [object! { phase: "discovery" }],
        tools: object! { components: [tool] },
        properties: properties.map(|(name, count)| Property { name, value: count.to_string() }),
    };
    let components: Vec<Component> = algorithms.chain(protocols).chain(certificates).collect();
    let mut bom = object! {
        #[serde(rename = "bomFormat")] format: "CycloneDX",
        #[serde(rename = "specVersion")] specification: "1.6",
        #[serde(rename = "serialNumber")] serial_number: String::new(),
        version: 1,
        metadata: metadata,
        components: components,
        dependencies: dependencies,
        // A passive inventory is never complete.
        compositions: [object! { aggregate: "incomplete" }],
    };
    bom.serial_number = serial_number(&serde_json::to_vec(&bom)?);
    serde_json::to_writer_pretty(&mut *out, &bom)?;
    out.write_all(b"\n")
}

/// A version 8 UUID (RFC 9562, section 5.8) from the hash of the document: the same captures yield the same number.
fn serial_number(document: &[u8]) -> String {
    let digest = Sha256::digest(document);
    let mut bits = digest.iter().take(16).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    bits = bits & !(0xf << 76) | 0x8 << 76;
    bits = bits & !(0b11 << 62) | 0b10 << 62;
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

fn add_place(places: &mut Places, place: Place, seen: &Seen) {
    places.entry(place).or_default().add(seen);
}

/// The key exchange of a choice, if its kind is known.
fn known(choice: &TlsChoice) -> Option<KeyExchangeName> {
    Some(KeyExchangeName::of(choice)).filter(|exchange| exchange.kind.is_some())
}

fn algorithm_reference(exchange: &KeyExchangeName) -> String {
    format!("crypto/key-exchange/{}/{}", kind_name(exchange), percent_encoded(&exchange.name, "-._"))
}

fn protocol_reference(name: &str) -> String {
    format!("crypto/protocol/{}", percent_encoded(name, "-._"))
}

/// The kind of a key exchange, which distinguishes equal names of TLS and SSH.
fn kind_name(exchange: &KeyExchangeName) -> &'static str {
    exchange.kind.map_or("unknown", KeyExchangeKind::name)
}

fn algorithm(exchange: &KeyExchangeName, places: Places) -> Component {
    let kind = exchange.kind.unwrap_or(KeyExchangeKind::Classical);
    let (primitive, level) = match kind {
        KeyExchangeKind::Hybrid => ("combiner", quantum_level(&exchange.name)),
        KeyExchangeKind::PostQuantum => ("kem", quantum_level(&exchange.name)),
        // RSA encrypts the secret; (EC)DH agrees on it.
        _ if exchange.name.starts_with("RSA") => ("pke", Some(0)),
        _ => ("key-agree", Some(0)),
    };
    let algorithm = Algorithm { primitive, nist_quantum_security_level: level };
    let crypto = Crypto::Algorithm { algorithm_properties: algorithm };
    Component {
        properties: vec![Property { name: "huginn-net:key_exchange", value: kind.name().to_owned() }],
        ..Component::new(algorithm_reference(exchange), exchange.name.clone(), crypto, places)
    }
}

/// The security category of ML-KEM in the name of a group (FIPS 203, section 8).
fn quantum_level(name: &str) -> Option<u8> {
    let levels = [("mlkem512", 1), ("mlkem768", 3), ("mlkem1024", 5)];
    let name = name.to_ascii_lowercase();
    levels.into_iter().find(|(part, _)| name.contains(part)).map(|(_, level)| level)
}

fn tls_component(version: Version, used: VersionUse) -> Component {
    let is_tls = version.name().is_some_and(|name| name.starts_with("TLS") || name.starts_with("SSL"));
    let suites = used.suites.iter().map(|suite| {
        let [high, low] = suite.to_be_bytes();
        let identifiers = [high, low].map(|byte| format!("{byte:#04x}")).into();
        CipherSuite { name: suite_name(*suite), algorithms: Vec::new(), identifiers }
    });
    let deprecated = deprecated_by(version)
        .map(|document| Property { name: "huginn-net:deprecated_by", value: document.to_owned() });
    let weak = used.suites.iter().flat_map(|suite| {
        weaknesses(*suite).map(|weakness| Property {
            name: "huginn-net:weak_cipher_suite",
            value: format!("{}: {}", suite_name(*suite), weakness.name()),
        })
    });
    let properties = deprecated.into_iter().chain(weak).collect();
    let number = version_name(version);
    let protocol = Protocol {
        // CycloneDX 1.6 has no type for DTLS.
        kind: if is_tls { "tls" } else { "other" },
        version: number.split(' ').next_back().unwrap_or_default().to_owned(),
        cipher_suites: suites.collect(),
    };
    let crypto = Crypto::Protocol { protocol_properties: protocol };
    Component { properties, ..Component::new(protocol_reference(&number), number, crypto, used.places) }
}

/// SSH 2.0, with the weak methods in use. Each algorithm is agreed on by itself: a suite is what a connection has.
fn ssh_component(used: VersionUse) -> Component {
    let weak = used.weak_methods.iter().map(|method| Property {
        name: "huginn-net:weak_ssh_method",
        value: format!("{}: {}", method.name, method.weakness.name()),
    });
    let properties = weak.collect();
    let suites = used.ssh_suites.into_iter().map(|(name, exchange)| CipherSuite {
        name,
        algorithms: exchange.into_iter().collect(),
        identifiers: Vec::new(),
    });
    let protocol = Protocol { kind: "ssh", version: "2.0".to_owned(), cipher_suites: suites.collect() };
    let crypto = Crypto::Protocol { protocol_properties: protocol };
    Component { properties, ..Component::new(protocol_reference(SSH), SSH.to_owned(), crypto, used.places) }
}

fn certificate_component(certificate: &Certificate, places: Places) -> Component {
    let fields = certificate.fields();
    let text = |of: fn(&CertificateFields) -> Option<&str>| fields.and_then(of).map(str::to_owned);
    let sha256 = sha256_of(certificate);
    let subject = text(|fields| fields.subject.as_deref());
    let properties = [
        ("huginn-net:key", text(|fields| fields.key.as_deref())),
        ("huginn-net:key_bits", fields.and_then(|fields| fields.key_bits).map(|bits| bits.to_string())),
        ("huginn-net:signature_algorithm", text(|fields| fields.signature_algorithm.as_deref())),
    ];
    let properties =
        properties.into_iter().filter_map(|(name, value)| Some(Property { name, value: value? }));
    let name = subject.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| sha256.clone());
    let reference = format!("crypto/certificate/{sha256}");
    let content = CertificateContent {
        subject_name: subject,
        issuer_name: text(|fields| fields.issuer.as_deref()),
        not_valid_before: fields.and_then(|fields| fields.not_before).map(|time| time.to_string()),
        not_valid_after: fields.and_then(|fields| fields.not_after).map(|time| time.to_string()),
        signature_algorithm_ref: signature_of(certificate).map(signature_reference),
        subject_public_key_ref: text(|fields| fields.key.as_deref()).map(|_| key_reference(certificate)),
        certificate_format: "X.509",
    };
    Component {
        hashes: vec![json!({"alg": "SHA-256", "content": sha256})],
        properties: properties.collect(),
        ..Component::new(reference, name, Crypto::Certificate { certificate_properties: content }, places)
    }
}

/// The signature algorithm of a certificate.
fn signature_of(certificate: &Certificate) -> Option<&str> {
    certificate.fields()?.signature_algorithm.as_deref()
}

fn signature_reference(name: &str) -> String {
    format!("crypto/signature/{}", percent_encoded(name, "-._"))
}

fn key_reference(certificate: &Certificate) -> String {
    format!("crypto/public-key/{}", sha256_of(certificate))
}

fn signature_component(name: &str, places: Places) -> Component {
    let algorithm = Algorithm { primitive: "signature", nist_quantum_security_level: None };
    let crypto = Crypto::Algorithm { algorithm_properties: algorithm };
    Component::new(signature_reference(name), name.to_owned(), crypto, places)
}

/// The public key of a certificate; `None` without a readable one.
fn key_component(certificate: &Certificate, places: &Places) -> Option<Component> {
    let fields = certificate.fields()?;
    let name = fields.key.as_deref()?.to_owned();
    let key = Material { kind: "public-key", size: fields.key_bits };
    let crypto = Crypto::RelatedCryptoMaterial { related_crypto_material_properties: key };
    Some(Component::new(key_reference(certificate), name, crypto, places.clone()))
}

impl Component {
    fn new(reference: String, name: String, crypto: Crypto, places: Places) -> Self {
        let occurrences = places.into_iter().map(|(place, Seen { count, first, last })| Occurrence {
            location: place.to_string(),
            additional_context: format!("{}, {first} to {last}", Amount(count, "connection(s)")),
        });
        Self {
            kind: "cryptographic-asset",
            reference,
            name,
            hashes: Vec::new(),
            crypto,
            properties: Vec::new(),
            evidence: BTreeMap::from([("occurrences", occurrences.collect())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_number_is_a_version_8_uuid_of_the_content() {
        // SHA-256 of "abc" (FIPS 180-4) begins with ba7816bf 8f01cfea 414140de 5dae2223.
        assert_eq!(serial_number(b"abc"), "urn:uuid:ba7816bf-8f01-8fea-8141-40de5dae2223");
    }

    #[test]
    fn quantum_level_is_that_of_fips_203() {
        let rows = [
            ("X25519MLKEM768", Some(3)),
            ("SecP384r1MLKEM1024", Some(5)),
            ("MLKEM512", Some(1)),
            ("X25519Kyber768Draft00", None),
            ("mlkem768x25519-sha256", Some(3)),
        ];
        for (name, level) in rows {
            assert_eq!(quantum_level(name), level, "{name}");
        }
    }
}
