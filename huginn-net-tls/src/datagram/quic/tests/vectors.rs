//! Test vectors of the RFCs.

use huginn_net_wire::quic::full_packet_number;
use huginn_net_wire::{Cursor, Side};

use super::seal::Packet;
use super::{Run, unhex};
use crate::quic::ClientInitials;
use crate::quic::keys::Keys;
use crate::quic::version::Protection;

/// The connection id of both appendices.
const DESTINATION: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

/// RFC 9001, appendix A.2: the CRYPTO frame of a client; padding up to 1162 bytes follows it. RFC 9369 has
/// the same frame.
const CLIENT: &str = "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e868
    04fe3a47f06a2b69484c00000413011302010000c000000010000e00000b6578
    616d706c652e636f6dff01000100000a00080006001d00170018001000070005
    04616c706e000500050100000000003300260024001d00209370b2c9caa47fba
    baf4559fedba753de171fa71f50f1ce15d43e994ec74d748002b000302030400
    0d0010000e0403050306030203080408050806002d00020101001c0002400100
    3900320408ffffffffffffffff05048000ffff07048000ffff08011001048000
    75300901100f088394c8f03e51570806048000ffff";

/// RFC 9001, appendix A.3: the frames of a server.
const SERVER: &str = "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf739
    88cfc79825df566dc5430b9a045a1200130100002e00330024001d00209d3c94
    0d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00
    020304";

struct Vectors {
    version: u32,
    /// Key, IV and header key.
    client_keys: [&'static str; 3],
    server_keys: [&'static str; 3],
    /// The first bytes of the client's packet, and its authentication tag.
    client_packet: [&'static str; 2],
    server_packet: &'static str,
    retry: &'static str,
}

/// Appendix A of RFC 9001, then appendix A of RFC 9369.
const VECTORS: [Vectors; 2] = [
    Vectors {
        version: 1,
        client_keys: [
            "1f369613dd76d5467730efcbe3b1a22d",
            "fa044b2f42a3fd3b46fb255c",
            "9f50449e04a0e810283a1e9933adedd2",
        ],
        server_keys: [
            "cf3a5331653c364c88f0f379b6067e37",
            "0ac1493ca1905853b0bba03e",
            "c206b8d9b9f0f37644430b490eeaa314",
        ],
        client_packet: [
            "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11
             d242b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd449f63300099f399",
            "e221af44860018ab0856972e194cd934",
        ],
        server_packet: "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a
            5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3
            dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84
            022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4
            2158407dd074ee",
        retry: "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba",
    },
    Vectors {
        version: 0x6b33_43cf,
        client_keys: [
            "8b1a0bc121284290a29e0971b5cd045d",
            "91f73e2351d8fa91660e909f",
            "45b95e15235d6f45a6b19cbcb0294ba9",
        ],
        server_keys: [
            "82db637861d55e1d011f19ea71d5d2a7",
            "dd13c276499c0249d3310652",
            "edf6d05c83121201b436e16877593c3a",
        ],
        client_packet: [
            "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485
             dd04de806071bf03dceebfa162e75d6c96058bdbfb127cdfcbf903388e99ad04",
            "a18b2faa745b6fe189cf772a9f84cbfc",
        ],
        server_packet: "dc6b3343cf0008f067a5502a4262b5004075d92faaf16f05d8a4398c47089698
            baeea26b91eb761d9b89237bbf87263017915358230035f7fd3945d88965cf17
            f9af6e16886c61bfc703106fbaf3cb4cfa52382dd16a393e42757507698075b2
            c984c707f0a0812d8cd5a6881eaf21ceda98f4bd23f6fe1a3e2c43edd9ce7ca8
            4bed8521e2e140",
        retry: "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6",
    },
];

/// Builds the client's packet of appendix A.2.
fn client_packet(version: u32) -> Vec<u8> {
    let mut payload = unhex(CLIENT);
    payload.resize(1162, 0);
    Packet { number: 2, number_len: 4, ..Packet::client(version, &DESTINATION) }.seal(&payload)
}

#[test]
fn initial_keys_match_rfc_vectors() {
    for vectors in &VECTORS {
        let protection = Protection::from_version(vectors.version).unwrap();
        for (side, expected) in [(Side::Client, vectors.client_keys), (Side::Server, vectors.server_keys)] {
            let keys = Keys::derive(protection, &DESTINATION, side).unwrap();
            let found = [&keys.key[..], &keys.iv, &keys.header];
            assert_eq!(found, expected.map(unhex).each_ref().map(Vec::as_slice), "{side}");
        }
    }
}

/// The client's key in versions without a published vector, computed from the salts with Python's `hmac`. tshark 4.0.17
/// decrypts packets with these keys, except those of draft-ietf-quic-v2, which it does not support.
#[test]
fn initial_keys_of_other_versions() {
    for (version, key) in [
        (0xff00_0016, "07863d9c083786bc86766ce0d02bf93f"),
        (0xff00_0017, "af7fd7efebd21878ff66811248983694"),
        (0xff00_001c, "af7fd7efebd21878ff66811248983694"),
        (0xff00_001d, "175257a31eb09dea9366d8bb79ad80ba"),
        (0xff00_0020, "175257a31eb09dea9366d8bb79ad80ba"),
        (0xff00_0021, "1f369613dd76d5467730efcbe3b1a22d"),
        (0xff02_0000, "95df2be2e8d549c82e996fc9339f4563"),
        (0x709a_50c4, "95df2be2e8d549c82e996fc9339f4563"),
        (0xface_b001, "07863d9c083786bc86766ce0d02bf93f"),
        (0xface_b002, "af7fd7efebd21878ff66811248983694"),
        (0xface_b00e, "af7fd7efebd21878ff66811248983694"),
        (0x5430_3530, "80ab8e0313d2c851aaff5405824a916a"),
        (0x5430_3531, "e66b805440a16d39f1889b2726d1cc5c"),
    ] {
        let protection = Protection::from_version(version).unwrap();
        let keys = Keys::derive(protection, &DESTINATION, Side::Client).unwrap();
        assert_eq!(keys.key[..], unhex(key), "{version:#x}");
    }
}

/// The authentication tag covers the whole packet, so equal tags mean equal packets.
#[test]
fn test_encryption_matches_rfc_packets() {
    for vectors in &VECTORS {
        let packet = client_packet(vectors.version);
        let [begin, end] = vectors.client_packet.map(unhex);
        assert_eq!(packet.len(), 1200);
        assert!(packet.starts_with(&begin) && packet.ends_with(&end));
    }
    assert_eq!(
        client_packet(1),
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/rfc9001-a2-client-initial.bin"))
    );
}

#[test]
fn decrypts_packets_of_both_sides() {
    for vectors in &VECTORS {
        let mut run = Run::default();
        run.client(&client_packet(vectors.version));
        run.client(&unhex(vectors.retry));
        run.server(&unhex(vectors.server_packet));
        let hellos = [
            (Side::Client, unhex(CLIENT)[4..].to_vec(), false),
            (Side::Server, unhex(SERVER)[9..].to_vec(), false),
        ];
        assert_eq!(run.found, hellos);
        assert_eq!(run.counters.opened, 2);
    }
}

#[test]
fn reads_hello_of_rfc_packets() {
    for vectors in &VECTORS {
        let hello = ClientInitials::new().push(&client_packet(vectors.version)).unwrap().value().unwrap();
        assert_eq!(hello.server_name(), Some(&b"example.com"[..]));
        assert_eq!(hello.cipher_suites().collect::<Vec<_>>(), [0x1301, 0x1302]);
    }
}

/// RFC 9000, appendix A.1.
#[test]
fn decodes_variable_length_integers() {
    for (wire, value) in [
        ("c2197c5eff14e88c", 151_288_809_941_952_652),
        ("9d7f3e7d", 494_878_333),
        ("7bbd", 15_293),
        ("25", 37),
        ("4025", 37),
    ] {
        assert_eq!(Cursor::new(&unhex(wire)).varint(), Ok(value));
    }
    assert!(Cursor::new(&unhex("c2197c5eff14e8")).varint().is_err());
}

/// RFC 9000, appendix A.3, and edge cases of its algorithm.
#[test]
fn expands_packet_numbers() {
    for (number, len, largest, whole) in [
        (0x9b32, 2, Some(0xa82f_30ea), 0xa82f_9b32),
        (7, 1, None, 7),
        (0xffff_fff0, 4, None, 0xffff_fff0),
        (0, 1, Some(0xff), 0x100),
        (0xfe, 1, Some(0x100), 0xfe),
        (3, 1, Some(1), 3),
        (0xff, 1, Some(1), 0xff),
    ] {
        assert_eq!(full_packet_number(number, len, largest), whole, "{number:#x} after {largest:x?}");
    }
}
