use super::*;

/// Decodes a block in fragments of this length. Returns the fields, one per line, and the size of the dynamic table
/// afterwards, in bytes.
fn decoded_in(step: usize, decoder: &mut Decoder, block: &[u8]) -> Result<(String, usize), HpackError> {
    let mut list = Vec::new();
    let mut each = |name: &[u8], value: &[u8]| {
        list.push(format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
    };
    for fragment in block.chunks(step) {
        decoder.decode(fragment, false, &mut each)?;
    }
    decoder.decode(&[], true, &mut each)?;
    assert_eq!(decoder.buffered_bytes(), decoder.table.buffered_bytes());
    Ok((list.join("\n"), decoder.table.size))
}

/// Decodes a block at once.
fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<(String, usize), HpackError> {
    let mut list = Vec::new();
    decoder.decode(block, true, &mut |name, value| {
        list.push(format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
    })?;
    Ok((list.join("\n"), decoder.table.size))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Decodes the blocks of one connection, at once and in fragments. Each row has the block, its fields and the table size
/// after the block.
fn check(blocks: &[(&str, &str, usize)]) {
    for step in [None, Some(1), Some(2), Some(7), Some(30)] {
        let mut decoder = Decoder::new();
        for (block, list, size) in blocks {
            let block = bytes(block);
            let found = match step {
                None => decoded(&mut decoder, &block),
                Some(step) => decoded_in(step, &mut decoder, &block),
            };
            assert_eq!(found, Ok(((*list).to_owned(), *size)), "{block:02x?} in steps of {step:?}");
        }
    }
}

const FIRST_REQUEST: &str = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com";
const SECOND_REQUEST: &str =
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache";
const THIRD_REQUEST: &str =
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value";
const FIRST_RESPONSE: &str = ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
    location: https://www.example.com";
const SECOND_RESPONSE: &str = ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n\
    location: https://www.example.com";
const THIRD_RESPONSE: &str = ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n\
    location: https://www.example.com\ncontent-encoding: gzip\n\
    set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

/// RFC 7541, appendix C.2.
#[test]
fn decodes_rfc7541_fields() {
    check(&[(
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        "custom-key: custom-header",
        55,
    )]);
    check(&[("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path", 0)]);
    check(&[("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret", 0)]);
    check(&[("82", ":method: GET", 0)]);
}

/// RFC 7541, appendices C.3 and C.4.
#[test]
fn decodes_rfc7541_requests() {
    check(&[
        ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", FIRST_REQUEST, 57),
        ("8286 84be 5808 6e6f 2d63 6163 6865", SECOND_REQUEST, 110),
        ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", THIRD_REQUEST, 164),
    ]);
    check(&[
        ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", FIRST_REQUEST, 57),
        ("8286 84be 5886 a8eb 1064 9cbf", SECOND_REQUEST, 110),
        ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", THIRD_REQUEST, 164),
    ]);
}

/// RFC 7541, appendices C.5 and C.6. The first bytes, `3fe1 01`, set the table size of 256 bytes.
#[test]
fn decodes_rfc7541_responses() {
    check(&[
        (
            "3fe1 01 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133
             3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            FIRST_RESPONSE,
            222,
        ),
        ("4803 3330 37c1 c0bf", SECOND_RESPONSE, 222),
        (
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738
             666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33
             3630 303b 2076 6572 7369 6f6e 3d31",
            THIRD_RESPONSE,
            215,
        ),
    ]);
    check(&[
        (
            "3fe1 01 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d
             29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            FIRST_RESPONSE,
            222,
        ),
        ("4883 640e ffc1 c0bf", SECOND_RESPONSE, 222),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7
             b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            THIRD_RESPONSE,
            215,
        ),
    ]);
}

#[test]
fn rejects_invalid_blocks() {
    let error = |block: &[u8]| decoded(&mut Decoder::new(), block).unwrap_err();
    assert_eq!(error(&[0x80]), HpackError::Index(0));
    assert_eq!(error(&[0xbe]), HpackError::Index(62));
    assert_eq!(error(&[0x7f, 0x00, 0x01, b'a']), HpackError::Index(63));
    assert_eq!(error(&[0x3f, 0xe2, 0xff, 0x03]), HpackError::TableSize(65_537));
    assert_eq!(error(&[0x00, 0x81, 0x18, 0x00]), HpackError::Huffman);
    assert!(matches!(error(&[0x40, 0x03, b'a', b'b']), HpackError::Truncated(_)));
    assert!(matches!(error(&[0x40, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x07]), HpackError::Truncated(_)));
    let truncated = [&[0x82, 0x04][..], &string(b'x', 100_000)].concat();
    for len in [truncated.len() - 1, 60_000, 5, 2] {
        assert!(matches!(error(&truncated[..len]), HpackError::Truncated(_)), "{len}");
    }
    assert!(decoded(&mut Decoder::new(), &truncated).is_ok());
}

/// A string of 127 bytes or more, without Huffman code.
fn string(byte: u8, len: usize) -> Vec<u8> {
    let mut string = vec![0x7f];
    let mut rest = len.checked_sub(127).unwrap();
    while rest >= 0x80 {
        string.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    string.push(rest.to_le_bytes()[0]);
    string.extend(vec![byte; len]);
    string
}

/// Fields larger than any list and table are skipped: names and values, added to the table or not.
#[test]
fn leaves_out_fields_of_any_length() {
    let kept = [0x40, 1, b'k', 1, b'v'];
    let long = string(b'x', 1 << 20);
    let mut huffman = string(0x1f, 300_000);
    huffman[0] |= 0x80;
    for (field, empties) in [
        ([&[0x40, 1, b'a'][..], &long].concat(), true),
        ([&[0x40][..], &long, &[1, b'b']].concat(), true),
        ([&[0x40][..], &long, &long].concat(), true),
        ([&[0x7e][..], &long].concat(), true),
        ([&[0x00, 1, b'a'][..], &long].concat(), false),
        ([&[0x10][..], &long, &[0]].concat(), false),
        ([&[0x44][..], &huffman].concat(), true),
    ] {
        let block = [&[0x82][..], &kept, &field, &[0x84]].concat();
        for step in [1000, 16_384, block.len()] {
            let mut decoder = Decoder::new();
            let mut peak_bytes = 0;
            let mut names = Vec::new();
            for fragment in block.chunks(step) {
                decoder.decode(fragment, false, &mut |name, _| names.push(name.to_vec())).unwrap();
                peak_bytes = peak_bytes.max(decoder.buffered_bytes());
            }
            assert_eq!(decoder.decode(&[], true, &mut |_, _| {}), Ok(true));
            assert_eq!(names, [&b":method"[..], b"k", b":path"]);
            assert!(peak_bytes < 4096, "{peak_bytes}");
            assert_eq!(decoder.table.field(62).is_none(), empties, "in steps of {step}");
            assert_eq!(decoder.decode(&[0x82], true, &mut |_, _| {}), Ok(false));
        }
    }
}

/// A long name is not decoded again for each byte of the value that follows it.
#[test]
fn partial_field_waits_for_its_end() {
    let mut decoder = Decoder::new();
    let field = [&[0x00][..], &string(b'n', 60_000), &string(b'v', 1000)].concat();
    let mut names = 0;
    for (n, byte) in field.iter().enumerate() {
        decoder.decode(&[*byte], n + 1 == field.len(), &mut |name, _| names += name.len()).unwrap();
        assert!(n < 60_020 || decoder.wanted == field.len(), "{n}");
    }
    assert_eq!(names, 60_000);
}

/// The block refers 60,000 times to a field of 4,000 bytes, then adds another.
#[test]
fn leaves_out_fields_above_list_size() {
    let mut decoder = Decoder::new();
    let mut block = vec![0x3f, 0xe1, 0xff, 0x03, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    block.extend([b'x'; 4000]);
    block.extend([0xbe; 60_000]);
    block.extend([0x82, 0x40, 1, b'b', 1, b'c']);
    let mut names = Vec::new();
    let outcome =
        decoder.decode(&block, true, &mut |name, _| names.push(String::from_utf8(name.to_vec()).unwrap()));
    assert_eq!((outcome, names.len()), (Ok(true), 16 + 2));
    assert_eq!(names[15..], ["a", ":method", "b"]);
    let next = decoded(&mut decoder, &[0xbe, 0x82]).map(|(list, _)| list);
    assert_eq!(next, Ok("b: c\n:method: GET".to_owned()), "the table is in step");
}

/// Each block is within the limit, but the connection sends 10,000 of them.
#[test]
fn leaves_out_fields_of_many_small_bombs() {
    let mut decoder = Decoder::new();
    let first =
        [&[0x3f, 0xe1, 0xff, 0x03, 0x40, 1, b'a', 0x7f, 0xc1, 0xb6, 0x01][..], &[b'x'; 23_488]].concat();
    decoder.decode(&first, true, &mut |_, _| {}).unwrap();
    let (mut size, mut small, mut cut) = (0, 0, 0);
    for _ in 0..10_000 {
        let is_cut = decoder.decode(&[0x82, 0xbe], true, &mut |name, value| {
            size += name.len() + value.len() + 32;
            small += usize::from(name == b":method");
        });
        cut += usize::from(is_cut.unwrap());
    }
    assert_eq!(small, 10_000);
    assert!((9000..10_000).contains(&cut), "{cut}");
    let budget = MAX_FIELD_LIST_SIZE + 2 * first.len() + 10_000 * 2 * MAX_HPACK_RATIO;
    assert!(size < budget, "{size}");
}

/// Each of 20,000 fields takes 3 bytes, has a name of 30,000 bytes, and enters the table.
#[test]
fn fields_share_long_names() {
    let mut decoder = Decoder::new();
    let mut block = vec![0x3f, 0xe1, 0xff, 0x03, 0x40, 0x7f, 0xb1, 0xe9, 0x01];
    block.extend([b'n'; 30_000]);
    block.push(0);
    block.extend([0x7e, 1, b'v'].repeat(20_000));
    let mut count = 0;
    assert_eq!(decoder.decode(&block, true, &mut |_, _| count += 1), Ok(true));
    assert_eq!(count, 2, "both fit in 64 KiB");
    let (first, second) = (decoder.table.field(62).unwrap(), decoder.table.field(63).unwrap());
    assert_eq!((first.0.len(), first.1), (30_000, &b"v"[..]));
    assert!(std::ptr::eq(first.0, second.0));
    assert!(decoder.buffered_bytes() <= 65_536 + 2 * 32, "{}", decoder.buffered_bytes());
}

/// Every request refers to a field that fills a table of the default size.
#[test]
fn accepts_repeated_large_fields() {
    let mut decoder = Decoder::new();
    let mut block = vec![0x40, 6, b'c', b'o', b'o', b'k', b'i', b'e', 0x7f, 0xbb, 0x1e];
    block.extend([b'x'; 4026]);
    decoder.decode(&block, true, &mut |_, _| {}).unwrap();
    assert_eq!(decoder.table.size, 4064);
    let request = [0x82, 0x86, 0x84, 0xbe, 0x04, 2, b'/', b'a', 0x10, 0, 0];
    for _ in 0..100_000 {
        decoder.decode(&request, true, &mut |_, _| {}).unwrap();
    }
}

/// Large fields evict each other from the table.
#[test]
fn table_stays_within_size() {
    let mut decoder = Decoder::new();
    let mut block = vec![0x3f, 0xe1, 0xff, 0x03]; // 65,536 bytes
    for _ in 0..50 {
        block.extend([0x40, 1, b'a', 0x7f, 0x81, 0x07]);
        block.extend([b'x'; 1024]);
    }
    for _ in 0..10 {
        decoder.decode(&block, true, &mut |_, _| {}).unwrap();
        assert!((50_000..=65_536).contains(&decoder.table.size), "{}", decoder.table.size);
    }
}
