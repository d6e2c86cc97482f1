//! Makes two SSH_MSG_KEXINITs of any lists: one byte for each side that guesses, then the eight lists of the client and those of
//! the server, a line each. Each agreed name is the first of the client's list that the server's list has, and owned values equal
//! borrowed ones.
#![no_main]

use huginn_net_ssh::{IMPLICIT_MAC, KexGuess, KexInit, NameList, Negotiation, Side};
use libfuzzer_sys::fuzz_target;

/// Number of lists of a message, without the languages.
const LISTS: usize = 8;
/// Comparing each name with each is quadratic, so longer inputs are left out.
const MAX_LEN: usize = 4096;

fuzz_target!(|data: &[u8]| {
    let (Some((guesses, text)), true) = (data.split_first_chunk::<2>(), data.len() <= MAX_LEN) else {
        return;
    };
    let mut lists: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    lists.resize(2 * LISTS, b"");
    let (client, server) = lists.split_at(LISTS);
    let [client, server] = [message(client, guesses[0]), message(server, guesses[1])];
    let [client, server] = [&client, &server].map(|message| KexInit::from_payload(message).unwrap());
    let found = Negotiation::new(&client, &server);
    assert_eq!(found.clone().into_owned(), found);
    assert_eq!(found.guess().is_some(), guesses.iter().any(|byte| *byte != 0));
    assert!(found.guess() != Some(KexGuess::Right) || found.unmatched().is_none());
    assert_eq!(found.is_post_quantum().is_some(), found.kex().is_some());

    let direction = |side| [found.cipher(side), found.mac(side), found.compression(side)];
    let ([c1, m1, z1], [c2, m2, z2]) = (direction(Side::Client), direction(Side::Server));
    let names = [found.kex(), found.host_key(), c1, c2, m1, m2, z1, z2];
    assert_eq!(found.unmatched().is_none(), names.iter().all(Option::is_some));
    for (index, (name, pair)) in
        names.iter().zip(lists_of(&client).into_iter().zip(lists_of(&server))).enumerate()
    {
        let is_mac = (4..6).contains(&index);
        if !(is_mac && *name == Some(IMPLICIT_MAC)) {
            check(*name, pair, index == 0);
        }
    }
    let same = Negotiation::new(&client, &client);
    let first = client.compression_client_to_server().iter().find(|name| !name.is_empty());
    assert_eq!(same.compression(Side::Client), first);
});

/// The name is the first of the client that the server has, too. Key exchange methods may be passed over: some names announce
/// extensions.
fn check(name: Option<&[u8]>, (client, server): (NameList<'_>, NameList<'_>), is_kex: bool) {
    let mut common =
        client.iter().filter(|name| !name.is_empty() && server.iter().any(|other| other == *name));
    match name {
        _ if !is_kex => assert_eq!(common.next(), name),
        Some(name) => assert!(common.any(|other| other == name)),
        None => assert!(common.all(|name| name.starts_with(b"ext-info-") || name.starts_with(b"kex"))),
    }
}

fn lists_of<'a>(kex_init: &'a KexInit<'_>) -> [NameList<'a>; LISTS] {
    [
        kex_init.kex_algorithms(),
        kex_init.server_host_key_algorithms(),
        kex_init.encryption_client_to_server(),
        kex_init.encryption_server_to_client(),
        kex_init.mac_client_to_server(),
        kex_init.mac_server_to_client(),
        kex_init.compression_client_to_server(),
        kex_init.compression_server_to_client(),
    ]
}

/// The message with these lists.
fn message(lists: &[&[u8]], follows: u8) -> Vec<u8> {
    let mut message = vec![20];
    message.extend([0; 16]);
    for list in lists.iter().chain([&&b""[..]; 2]) {
        message.extend((list.len() as u32).to_be_bytes());
        message.extend(*list);
    }
    message.extend([follows, 0, 0, 0, 0]);
    message
}
